"""What rules of quality load: a classifier of one's own, an index of n-grams."""
