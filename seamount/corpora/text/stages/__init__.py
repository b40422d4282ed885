"""The stages of a build, each a call that leaves its result in the work folder."""
