"""The watcher: one small process per host and run that flushes, measures and outlives trainers."""
