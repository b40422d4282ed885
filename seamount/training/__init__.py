"""From recipe and batches to a trained checkpoint."""
