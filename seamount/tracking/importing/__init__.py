"""From another tracker's records into a store: `load.load` is the way in."""
