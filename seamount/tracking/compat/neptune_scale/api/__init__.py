"""`run` has Run and SourceTrackingConfig, at the place where scripts import them from."""
