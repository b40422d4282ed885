"""The dashboard: what a page shows as data (spec), computed here, drawn by page and picture alike."""
