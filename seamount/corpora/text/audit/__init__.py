"""What a corpus is composed of, and what its rules took away."""
