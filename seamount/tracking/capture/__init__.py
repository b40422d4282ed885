"""What a run takes in by itself: console, uncaught exceptions, and the watcher beside it."""
