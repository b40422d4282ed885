"""The dashboard's JSON API under /api/v1/: one file a noun."""
