"""From sources to documents, shards, tokens and batches."""
