"""Text corpora: read, clean, deduplicate, mix, split, tokenise."""
