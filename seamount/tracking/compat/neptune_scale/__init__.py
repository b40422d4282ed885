"""`neptune_scale` on a Seamount store.

from seamount.tracking.compat.neptune_scale import Run
with Run(project="team/project", experiment_name="first") as run:
    run.log_metrics({"loss": 2.5}, step=0)
"""

from seamount.tracking.compat.neptune_scale.api.run import Run
from seamount.tracking.compat.neptune_scale.logging_handler import NeptuneLoggingHandler

__all__ = ["NeptuneLoggingHandler", "Run"]
