"""Find a document, trace where it went, and take it out of a corpus."""
