"""The dashboard: what a page shows, as data; computed here, drawn by page and picture alike."""
