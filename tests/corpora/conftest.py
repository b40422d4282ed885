"""Property tests are not timed: the first call compiles a kernel, and machines are busy."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
