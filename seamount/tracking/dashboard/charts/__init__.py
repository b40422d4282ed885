"""What a chart shows, computed from all points: lines, smoothing, groups, ranks, envelopes."""
