"""What keeps a store small: deleted runs, their removal for good, and how much room all take."""
