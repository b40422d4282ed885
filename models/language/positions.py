"""Where a token stands: tables of rotary positions with their scalings, and learned ones.

Shape suffixes as in model.py.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from models.language.config import LanguageConfig, RopeScaling


def rotary_tables(config: LanguageConfig) -> tuple[Tensor, Tensor]:
    """Cosines and sines [context, E] of rotary positions, halves side by side.

    Source: Su et al. 2021, RoFormer, in the half-split layout of Hugging Face's Llama.
    """
    frequency, amplitude = _frequencies(config)
    position = torch.arange(config.context_length, dtype=torch.float32)
    angle = torch.outer(position, frequency).repeat(1, 2)
    return angle.cos() * amplitude, angle.sin() * amplitude


def _frequencies(config: LanguageConfig) -> tuple[Tensor, float]:
    """Angle a position of each pair, and what cosines and sines are multiplied by."""
    exponent = torch.arange(0, config.head_dim, 2, dtype=torch.float32) / config.head_dim
    wavelength = config.rope_theta**exponent
    frequency = 1.0 / wavelength
    scaling = config.rope_scaling
    if scaling is None or scaling.rope_type == "dynamic":
        # dynamic stretches inputs longer than the context alone, and there are none here
        return frequency, 1.0
    if scaling.rope_type == "linear":
        return frequency / scaling.factor, 1.0
    if scaling.rope_type == "llama3":
        return _llama3(frequency, scaling), 1.0
    return _yarn(wavelength, scaling, config), _yarn_amplitude(scaling)


def rotate(x_BHTE: Tensor, cos_TE: Tensor, sin_TE: Tensor) -> Tensor:
    """Turn each pair (i, i + E/2) of `x_BHTE` by its position's angle."""
    first, second = x_BHTE.chunk(2, dim=-1)
    return x_BHTE * cos_TE + torch.cat((-second, first), dim=-1) * sin_TE


def _llama3(frequency: Tensor, scaling: RopeScaling) -> Tensor:
    """Slow turns are stretched, fast ones kept, those between blended.

    Source: Meta's llama-models, apply_scaling, of Llama 3.1.
    """
    low, high = scaling.low_freq_factor, scaling.high_freq_factor
    trained = scaling.original_max_position_embeddings
    assert low is not None and high is not None and trained is not None  # RopeScaling saw to it
    turns = trained / (2 * math.pi / frequency)  # in this order for transformers' last bits
    kept = ((turns - low) / (high - low)).clamp(0, 1)
    return (1 - kept) * frequency / scaling.factor + kept * frequency


def _yarn(wavelength: Tensor, scaling: RopeScaling, config: LanguageConfig) -> Tensor:
    """Pairs that turn fewer than `beta_slow` times in the original context are stretched whole.

    Source: Peng et al. 2023, YaRN, section 3.2; 32 and 1 are its `beta_fast` and `beta_slow`.
    """
    trained = scaling.original_max_position_embeddings
    assert trained is not None  # RopeScaling saw to it

    def pair_of(turns: float) -> float:
        ratio = trained / (turns * 2 * math.pi)
        return config.head_dim * math.log(ratio) / (2 * math.log(config.rope_theta))

    first, last = pair_of(scaling.beta_fast or 32), pair_of(scaling.beta_slow or 1)
    if scaling.truncate is not False:
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, config.head_dim - 1)
    pair = torch.arange(len(wavelength), dtype=torch.float32)
    # the small number keeps two equal ends apart, as in transformers
    kept = 1 - ((pair - first) / (last - first or 0.001)).clamp(0, 1)
    return 1 / (scaling.factor * wavelength) * (1 - kept) + 1 / wavelength * kept


def _yarn_amplitude(scaling: RopeScaling) -> float:
    """What cosines and sines are multiplied by (YaRN, equation 22)."""
    if scaling.attention_factor is not None:
        return scaling.attention_factor
    return 0.1 * math.log(scaling.factor) + 1.0 if scaling.factor > 1 else 1.0


def count_in_document(document_ids_BT: Tensor) -> Tensor:
    """Each token's place [B, T] in its own document: a change of id begins a new one at 0."""
    place_T = torch.arange(document_ids_BT.shape[1], device=document_ids_BT.device)
    begins_BT = document_ids_BT.diff(dim=1, prepend=document_ids_BT[:, :1] - 1) != 0
    return place_T - (begins_BT * place_T).cummax(dim=1).values
