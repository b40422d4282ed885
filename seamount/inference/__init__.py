"""Open any model, score with it, generate from it."""
