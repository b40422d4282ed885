"""What a training will cost, told before it starts (`seamount train RECIPE --dry-run`).

`predict` puts together what the modules beside it compute: what a rank holds (held.py), what it
keeps of a forward pass (activations.py), its peak memory (memory.py), what it sends (traffic.py),
and operations and time (compute.py).
"""

from __future__ import annotations

from seamount.training.prediction.predict import predict

__all__ = ["predict"]
