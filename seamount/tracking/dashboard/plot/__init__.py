"""Charts as pictures, PNG and SVG, that carry within them what they show."""
