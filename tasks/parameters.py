"""Parameters of the flows: what a person may set, with bounds that are checked before a run starts.

The descriptions and bounds become the form in Prefect's pages and the refusal of its API.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Baseline = Literal["zstd", "xz", "zstd_whole", "xz_whole", "unigram"]
Overrides = list[Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*=.*$")]]
Place = Annotated[str, Field(min_length=1)]


class _Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CorpusOptions(_Options):
    """How a corpus is built from its sources."""

    catalog: str | None = Field(
        None, description="Short name or path of a catalog; empty keeps the natural proportions."
    )
    seed: int = Field(0, ge=0, description="Seed of the shuffle, the mixture and the split.")
    workers: int = Field(2, ge=0, le=1024, description="Dask workers; 0 or 1 works in the flow.")
    scheduler: str | None = Field(
        None, description="Address of a running Dask scheduler, instead of own workers."
    )
    val_share: float = Field(0.01, ge=0, lt=0.5, description="Share of bytes held out to validate.")
    test_share: float = Field(0.02, ge=0, lt=0.5, description="Share of bytes held out to test.")
    shard_bytes: int = Field(
        32 << 20, ge=1 << 12, le=4 << 30, description="Text bytes of a training shard."
    )
    max_bytes: int | None = Field(None, ge=1 << 12, description="Bound on the corpus' text bytes.")
    dedupe: Literal["near", "exact", "none"] | None = Field(
        None, description="Remove near copies (MinHash; the default), exact copies, or none."
    )
    keep_dropped: bool = Field(False, description="Keep dropped documents for inspection.")
    allow_broken: bool = Field(
        False, description="Take the good records of a damaged file instead of stopping."
    )


class TokenOptions(_Options):
    """Which splits are encoded, and how the work is spread."""

    split: Literal["train", "val", "test", "all"] = Field(
        "all", description="One split, or all that hold a document."
    )
    prefix_token: str | None = Field(
        None, description="Opens each document; empty: BOS, else EOS, else <|endoftext|>."
    )
    workers: int = Field(0, ge=0, le=1024, description="Dask workers; 0 or 1 works in the flow.")
    scheduler: str | None = Field(
        None, description="Address of a running Dask scheduler, instead of own workers."
    )


class ScoringOptions(_Options):
    """How bits per byte are measured."""

    protocol: Literal["paper", "sliding"] = Field(
        "paper", description="Windows side by side as in the Pile paper, or sliding ones."
    )
    context_length: int | None = Field(
        None, ge=2, le=1 << 20, description="Input tokens of a window; empty takes the model's own."
    )
    baselines: tuple[Baseline, ...] = Field(
        ("zstd", "xz", "zstd_whole", "xz_whole", "unigram"),
        description="What is measured beside the model on the same bytes.",
    )


class ExportOptions(_Options):
    """How the trained model is exported and when the export is refused."""

    format: Literal["onnx"] = Field("onnx", description="File format.")
    quantize: Literal["none", "int8"] = Field("int8", description="How weights are stored.")
    max_bpb_delta: float | None = Field(
        0.02,
        gt=0,
        le=10,
        description="Refuse an export that loses more bits per byte than this; empty: no gate.",
    )
    max_component_bpb_delta: float | None = Field(
        None, gt=0, le=10, description="The same bound for each component; empty takes the first."
    )
