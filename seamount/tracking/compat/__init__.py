"""Other trackers' interfaces on this store: a script runs with its import line changed.

from seamount.tracking.compat.neptune_scale import Run
import seamount.tracking.compat.neptune_query as nq
"""
