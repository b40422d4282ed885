"""Single-device models, one folder a family."""
