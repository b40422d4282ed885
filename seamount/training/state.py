"""What of a training process a checkpoint holds, as one flat dict of tensors.

Names: "model.<parameter>", "optimizer.<parameter>.<state>", "rng.<rank>.<generator>".
"""

from __future__ import annotations

from torch import Tensor

from seamount.core import settings
from seamount.training import checkpoint, random_state
from seamount.training.language_module import LanguageModule


def training_state(module: LanguageModule) -> dict[str, Tensor]:
    """The parameters (tied ones once) and the optimiser's state, sharing their memory.

    Of the optimiser's state a rank has that of the parameters it updates. Names are those of the
    whole model, so that any layout reads what another wrote.
    """
    updater = module.configure_optimizers()
    state: dict[str, Tensor] = {}
    for name, parameter in module.parts.parameters.items():
        state[f"model.{name}"] = parameter.detach()
        for key, value in updater.state.get(parameter, {}).items():
            state[f"optimizer.{name}.{key}"] = value
    return state


def full_state(module: LanguageModule) -> dict[str, Tensor]:
    """`training_state` and this rank's random generators."""
    generators = {f"rng.{settings.rank()}.{k}": v for k, v in random_state.capture().items()}
    return training_state(module) | generators


def restore(module: LanguageModule, found: checkpoint.Checkpoint) -> None:
    """Bring `module` and the random generators to where `found` was saved.

    With another number of ranks the generators stay as the seed made them.
    """
    state = full_state(module)
    saved = checkpoint.saved_keys(found)
    if not saved.issuperset(k for k in state if k.startswith("rng.")):
        state = training_state(module)
    checkpoint.load(found, state)
    prefix = f"rng.{settings.rank()}."
    generators = {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}
    if generators:
        random_state.restore(generators)
    module.steps_done = found.step
    module.configure_optimizers().step_count = found.step
