"""Continues a prompt, token by token, with any model that `loading` opens.

Shape suffixes: B batch, T tokens, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seamount.core.errors import UserError
from seamount.inference.loading import Loaded

if TYPE_CHECKING:
    import numpy as np

_HALF_A_CHARACTER = "�"


@dataclass(frozen=True)
class Generation:
    """A prompt and what the model wrote after it.

    `prompt_ids` begin with the token that opens a document, if the tokenizer uses one; `ids` are
    the new tokens; `finish_reason` is "length" or "stop" (the model ended the document; that
    token is not among `ids`).
    """

    prompt: str
    prompt_ids: list[int]
    ids: list[int]
    text: str
    finish_reason: str
    temperature: float
    seed: int


def generate(
    loaded: Loaded,
    prompt: str,
    max_new_tokens: int = 128,
    temperature: float = 0.0,
    seed: int = 0,
    on_text: Callable[[str], None] | None = None,
    stop_at_end: bool = True,
) -> Generation:
    """Continue `prompt` by up to `max_new_tokens` tokens.

    Temperature 0 is greedy: the likeliest token, the lowest id among equals. `on_text` gets the
    new text piece by piece, whole characters only. `stop_at_end` ends where the model ends the
    document. Raises UserError for a prompt that does not fit the context.
    """
    prompt_ids = check(loaded, prompt, max_new_tokens, temperature, seed)
    before = len(loaded.tokenizer.decode(prompt_ids))
    ids: list[int] = []
    shown = 0
    finish_reason = "length"
    for token in _tokens(loaded, prompt_ids, temperature, seed, max_new_tokens):
        if stop_at_end and token in _end_ids(loaded):
            finish_reason = "stop"
            break
        ids.append(token)
        if on_text is not None:
            new = loaded.tokenizer.decode(prompt_ids + ids)[before:]
            shown = _show(new, shown, on_text)
    # Decoded together: some tokenizers drop the space before a first token.
    text = loaded.tokenizer.decode(prompt_ids + ids)[before:]
    if on_text is not None and text[shown:]:
        on_text(text[shown:])
    return Generation(prompt, prompt_ids, ids, text, finish_reason, temperature, seed)


def check(
    loaded: Loaded, prompt: str, max_new_tokens: int, temperature: float, seed: int
) -> list[int]:
    """The ids of `prompt`; raises UserError for any value `generate` cannot work with."""
    _check_values(max_new_tokens, temperature, seed)
    prompt_ids = loaded.tokenizer.encode_prompt(prompt)
    if not 0 < len(prompt_ids) <= loaded.context_length:
        raise UserError(
            f"the prompt has {len(prompt_ids)} tokens, but the model takes 1 to "
            f"{loaded.context_length}: change the prompt"
        )
    return prompt_ids


def _check_values(max_new_tokens: int, temperature: float, seed: int) -> None:
    if max_new_tokens < 1:
        raise UserError(f"--max-new-tokens is {max_new_tokens}: ask for at least 1")
    if not 0 <= temperature < float("inf"):
        raise UserError(f"--temperature is {temperature}: use 0 (greedy) or a positive number")
    if seed < 0:
        raise UserError(f"--seed is {seed}: use 0 or a positive whole number")


def _tokens(
    loaded: Loaded, prompt_ids: list[int], temperature: float, seed: int, count: int
) -> Iterator[int]:
    """New ids without end of document rules; past the context the oldest tokens leave it."""
    import numpy as np

    rng = np.random.Generator(np.random.Philox(seed))
    history = list(prompt_ids)
    for _ in range(count):
        ids_BT = np.array([history[-loaded.context_length :]], dtype=np.int64)
        token = _choose(loaded.forward(ids_BT)[0, -1], temperature, rng)
        history.append(token)
        yield token


def _choose(logits_V: np.ndarray, temperature: float, rng: np.random.Generator) -> int:
    import numpy as np

    if not np.isfinite(logits_V.max()):
        raise UserError("the model gives no finite logits: its weights are damaged or not trained")
    if temperature == 0:
        return int(logits_V.argmax())
    scaled_V = logits_V.astype(np.float64) / temperature
    weight_V = np.exp(scaled_V - scaled_V.max())
    cumulative_V = weight_V.cumsum()
    drawn = np.searchsorted(cumulative_V, rng.random() * cumulative_V[-1], side="right")
    return min(int(drawn), len(logits_V) - 1)


def _end_ids(loaded: Loaded) -> set[int]:
    end = loaded.config.get("eos_token_id")
    if end is None:
        return set()
    return set(end) if isinstance(end, list) else {int(end)}


def _show(text: str, shown: int, on_text: Callable[[str], None]) -> int:
    """Hand out what is new, holding back a character whose bytes are not all there."""
    whole = text.rstrip(_HALF_A_CHARACTER)
    if len(whole) > shown:
        on_text(whole[shown:])
        return len(whole)
    return shown
