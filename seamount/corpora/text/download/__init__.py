"""Fetch large files whole: resumed, retried, from mirrors, checked, published atomically."""
