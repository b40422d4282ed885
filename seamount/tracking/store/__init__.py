"""The store: one folder, an index made from its segments, and the proof that nothing is missing."""
