"""A training recipe: YAML in, frozen dataclasses out, every mistake named by its key.

A recipe may `include:` another (a path beside it, or a short name in recipes/); its own values lie
on top. Command-line overrides (`optimizer.lr=0.01`, `include=text/layouts/8-gpus.yaml`) lie on top
of both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from seamount.core import settings
from seamount.core.errors import UserError
from seamount.core.registry import model_family
from seamount.training.batch_sizes import BatchSizes
from seamount.training.recipe_check import check
from seamount.training.typed import build, check_keys


@dataclass(frozen=True)
class ModelRecipe:
    """Which model: a family, one of its presets, and fields of its configuration to replace."""

    family: str = "language"
    preset: str = "1m"
    overrides: Mapping[str, Any] = field(default_factory=dict)

    @property
    def config(self) -> Any:
        """The family's configuration object; raises UserError where it makes no model."""
        return model_family(self.family).presets.configure(self.preset, **self.overrides)


@dataclass(frozen=True)
class DataRecipe:
    """Where tokens come from and how they are cut.

    `tokens` and `tokenizer` are folders; left empty, training builds a small corpus of this
    machine's own text (`corpus`: "local", or the URL of a Pile-format corpus), of at most
    `corpus_bytes`. `batch_size` sequences make an update, over all ranks; from step s on (of
    updates, from 0) as many as a pair [s, size] of `batch_schedule` says; each data rank takes
    its share in micro-batches of `micro_batch_size` sequences (0: all at once; auto: as many as
    `recompute.budget_bytes` allows).
    """

    tokens: str | None = None
    tokenizer: str | None = None
    corpus: str = "local"
    corpus_bytes: int | None = None
    sequence_length: int = 256
    batch_size: int = 4
    batch_schedule: tuple[tuple[int, int], ...] = ()
    micro_batch_size: int | Literal["auto"] = 0


@dataclass(frozen=True)
class OptimizerRecipe:
    """AdamW, or Muon for the matrices inside the layers and AdamW for all else.

    `lr` drives Muon's matrices (with name "adamw": everything); `embedding_lr` and `head_lr` the
    two tables (norms go with the embedding), None meaning `lr`. `clip_norm` 0 clips nothing.
    """

    name: Literal["muon", "adamw"] = "muon"
    lr: float = 0.02
    embedding_lr: float | None = None
    head_lr: float | None = None
    weight_decay: float = 0.0
    momentum: float = 0.95
    beta1: float = 0.9
    beta2: float = 0.95
    eps: float = 1e-10
    newton_schulz_steps: int = 5
    clip_norm: float = 0.0


@dataclass(frozen=True)
class ScheduleRecipe:
    """Learning-rate factor over steps: linear warm-up, then down to `final_fraction`.

    `decay_fraction` is the share of all steps over which the rate falls.
    """

    name: Literal["linear", "cosine", "constant"] = "linear"
    warmup_steps: int = 0
    decay_fraction: float = 1.0
    final_fraction: float = 0.0


@dataclass(frozen=True)
class ParallelRecipe:
    """Degrees of the three axes, whose product is the number of ranks, and how each is used.

    `pipeline` ranks hold `stages_per_rank` stages of the layers each and work by `schedule`;
    `data` ranks share the sequences of a batch, and with `shard_optimizer` the optimiser's state
    too; `tensor` ranks share each matrix, and with `sequence` the positions between them.
    """

    pipeline: int = 1
    data: int = 1
    tensor: int = 1
    sequence: bool = False
    schedule: Literal["gpipe", "1f1b", "interleaved-1f1b", "zero-bubble"] = "1f1b"
    stages_per_rank: int = 1
    shard_optimizer: bool = False

    @property
    def ranks(self) -> int:
        """Number of processes."""
        return self.pipeline * self.data * self.tensor

    @property
    def stages(self) -> int:
        """Number of pieces into which the layers are cut."""
        return self.pipeline * self.stages_per_rank


@dataclass(frozen=True)
class RecomputeRecipe:
    """What layers keep of the forward pass for the backward one, which computes the rest again.

    "full" keeps a layer's input, "selective" what matrix products, attention and collectives gave
    too; of the layers every `every`-th does so. "auto" takes for each layer the mode that keeps
    all that a rank holds within `budget_bytes`.
    """

    mode: Literal["none", "full", "selective", "auto"] = "none"
    every: int = 1
    budget_bytes: int | None = None


@dataclass(frozen=True)
class CheckpointRecipe:
    """A checkpoint every `every_steps` steps (0: only at the end); the last `keep` stay."""

    every_steps: int = 500
    keep: int = 2


@dataclass(frozen=True)
class ValidationRecipe:
    """Loss on `sequences` sequences of the val split every `every_steps` steps (0: never)."""

    every_steps: int = 0
    sequences: int = 64


@dataclass(frozen=True)
class TrackingRecipe:
    """Metrics go to the tracked run every `every_steps` steps."""

    every_steps: int = 10


@dataclass(frozen=True)
class Recipe:
    """All that one training run is made from, except where its files are."""

    model: ModelRecipe = ModelRecipe()
    data: DataRecipe = DataRecipe()
    optimizer: OptimizerRecipe = OptimizerRecipe()
    schedule: ScheduleRecipe = ScheduleRecipe()
    steps: int = 1000
    precision: Literal["fp64", "fp32", "bf16-mixed", "bf16-true", "fp8"] = "fp32"
    embedding_std: float = 0.02
    parallel: ParallelRecipe = ParallelRecipe()
    recompute: RecomputeRecipe = RecomputeRecipe()
    threads: int = 0
    checkpoint: CheckpointRecipe = CheckpointRecipe()
    validation: ValidationRecipe = ValidationRecipe()
    tracking: TrackingRecipe = TrackingRecipe()
    seed: int = 0

    @property
    def micro_batch_size(self) -> int:
        """Sequences that one data rank takes through the model at once (1 until auto is chosen)."""
        size = self.data.micro_batch_size
        return 1 if size == "auto" else size or max(self.batch_sizes.all) // self.parallel.data

    @property
    def micro_batches(self) -> int:
        """How often it does so for the largest update."""
        return max(self.batch_sizes.all) // self.parallel.data // self.micro_batch_size

    @property
    def batch_sizes(self) -> BatchSizes:
        """Sequences of each update."""
        return BatchSizes(self.data.batch_size, self.data.batch_schedule)


def load_recipe(
    path: str, overrides: Iterable[str] = (), other_sections: Iterable[str] = ()
) -> Recipe:
    """The recipe at `path` (or its short name in recipes/) with "a.b=c" overrides on top.

    Top-level `other_sections` belong to other stations and are passed over. Raises UserError
    naming the key and its value for anything unknown, of a wrong type, or impossible together.
    """
    content = read_recipe(path, overrides)
    skipped = set(other_sections)
    return recipe_from_dict({k: v for k, v in content.items() if k not in skipped})


def read_recipe(path: str, overrides: Iterable[str] = ()) -> dict[str, Any]:
    """The merged but unchecked content of a recipe file, its includes and `overrides`."""
    content = _read_file(settings.find_declaration("recipes", path), ())
    for override in overrides:
        key, equals, name = override.partition("=")
        if key == "include" and equals:
            content = _merge(content, _read_file(settings.find_declaration("recipes", name), ()))
        else:
            _apply(content, override)
    return content


def recipe_from_dict(content: Mapping[str, Any]) -> Recipe:
    """The checked recipe behind plain data such as `recipe_to_dict` gives."""
    content = dict(content)
    model = content.get("model", {})
    if isinstance(model, Mapping) and "overrides" not in model:
        own = {k: v for k, v in model.items() if k in ("family", "preset")}
        content["model"] = own | {"overrides": _model_overrides(model)}
    recipe = build(Recipe, content)
    check(recipe)
    return recipe


def recipe_to_dict(recipe: Recipe) -> dict[str, Any]:
    """Plain data that `recipe_from_dict` turns back, in the layout of the YAML."""
    content = asdict(recipe)
    content["model"] = content["model"] | content["model"].pop("overrides")
    content["model"].pop("overrides", None)
    return content


def _read_file(path: Path, above: tuple[Path, ...]) -> dict[str, Any]:
    from seamount.core import yaml_file

    if path in above:
        raise UserError(f"recipe {path} includes itself: remove one include")
    content = yaml_file.read(str(path), f"recipe {path}")
    if not isinstance(content, dict):
        raise UserError(f"recipe {path} holds {type(content).__name__}, not keys with values")
    includes = content.pop("include", [])
    merged: dict[str, Any] = {}
    names = [includes] if isinstance(includes, str) else includes
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise UserError(f"include of recipe {path} is {includes!r}: give a path or a list of them")
    for name in names:
        beside = path.parent / name
        found = beside if beside.is_file() else settings.find_declaration("recipes", name)
        merged = _merge(merged, _read_file(found, (*above, path)))
    return _merge(merged, content)


def _merge(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merge(merged[key], value) if both else value
    return merged


def _apply(content: dict[str, Any], override: str) -> None:
    from seamount.core import yaml_file

    key, equals, text = override.partition("=")
    if not equals or not key:
        raise UserError(f"override {override!r} is not of the form key=value, like steps=100")
    value = yaml_file.parse(text, f"the value of override {override!r}")
    *folders, last = key.split(".")
    for folder in folders:
        content = content.setdefault(folder, {})
        if not isinstance(content, dict):
            raise UserError(f"override {override!r}: {folder!r} holds a value, not keys")
    content[last] = value


def _model_overrides(model: Mapping[str, Any]) -> dict[str, Any]:
    family = str(model.get("family", ModelRecipe.family))
    config_type = type(next(iter(model_family(family).presets.PRESETS.values())))
    given = {k: v for k, v in model.items() if k not in ("family", "preset")}
    return check_keys(config_type, given, "model", also=("family", "preset"))
