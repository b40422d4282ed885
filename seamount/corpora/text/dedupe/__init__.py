"""Exact and near-duplicate detection: MinHash signatures, LSH candidates, verified clusters."""
