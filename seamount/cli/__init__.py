"""The command line: one file a noun, no logic."""
