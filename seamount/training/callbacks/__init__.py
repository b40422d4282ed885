"""What happens around the training step, one callback a file."""
