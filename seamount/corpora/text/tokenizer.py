"""A byte-level BPE tokenizer: training, loading, encoding, and the exact bytes of every token.

Byte-level BPE (Radford et al. 2019, GPT-2) splits a text into words, spells each as UTF-8 bytes
and merges bytes: every text round-trips. `<|endoftext|>` has id 0 and is never made from a text
that merely contains these letters.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from seamount.core import lineage, storage
from seamount.core.errors import CorruptData, UserError

if TYPE_CHECKING:
    import numpy as np

    from seamount.corpora.text.encoding.encoder import BpeEncoder
    from seamount.corpora.text.encoding.rules import Rule

END_OF_TEXT = "<|endoftext|>"
SMALLEST_VOCABULARY = 257  # 256 bytes and <|endoftext|>
TRAINING_BYTES = 8 << 20
_FILE_NAME = "tokenizer.json"
_CONFIG_NAME = "tokenizer_config.json"
_MAP_NAME = "special_tokens_map.json"
FILES = (_FILE_NAME, _CONFIG_NAME, _MAP_NAME)


@dataclass(frozen=True)
class Tokenizer:
    """Texts to token ids and back; wraps a Hugging Face `tokenizers.Tokenizer`.

    `digest` is the SHA-256 of tokenizer.json, `prefix_id` the token that opens a document
    (the tokenizer's BOS, else its EOS, else `<|endoftext|>`).
    """

    backend: Any
    folder: str
    digest: str
    prefix_id: int | None

    @cached_property
    def vocab_size(self) -> int:
        """Number of ids, special tokens included: one more than the largest, where some lack."""
        return 1 + max(self.backend.get_vocab(with_added_tokens=True).values(), default=-1)

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of each text, without any special token."""
        return [ids.tolist() for ids in self.encode_arrays(texts)]

    def encode_arrays(self, texts: Sequence[str]) -> list[np.ndarray]:
        """As `encode_batch`, each as int32[tokens]."""
        return self.encode_counted(texts)[0]

    def encode_counted(self, texts: Sequence[str]) -> tuple[list[np.ndarray], int]:
        """As `encode_arrays`, and how many of the texts the library encoded."""
        import numpy as np

        fast = self._fast
        found = [None if fast is None else fast.encode(text) for text in texts]
        left = [n for n, ids in enumerate(found) if ids is None]
        batch = [texts[n] for n in left]
        encoded = self.backend.encode_batch_fast(batch, add_special_tokens=False) if batch else []
        for n, encoding in zip(left, encoded, strict=True):
            found[n] = np.array(encoding.ids, np.int32)
        return [ids for ids in found if ids is not None], len(left)

    def encode(self, text: str) -> list[int]:
        """Token ids of one text, without any special token."""
        return self.encode_batch([text])[0]

    def encode_prompt(self, text: str) -> list[int]:
        """Token ids of a prompt, opened as the tokenizer's own rule opens one (BOS or nothing).

        Raises UserError for a text that UTF-8 cannot spell (argument bytes that were not UTF-8).
        """
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise UserError(f"the prompt {text!r} is not UTF-8 text: give it in UTF-8")
        ids = list(self.backend.encode(text, add_special_tokens=True).ids)
        return ids or ([] if self.prefix_id is None else [self.prefix_id])

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`; special tokens give nothing, bytes cut mid-character give U+FFFD."""
        return str(self.backend.decode(list(ids), skip_special_tokens=True))

    def token_id(self, token: str) -> int:
        """Id of a token given by its spelling; raises UserError where there is none."""
        found = self.backend.token_to_id(token)
        if found is None:
            raise UserError(
                f"the tokenizer in {self.folder} has no token {token!r}: choose another"
            )
        return int(found)

    @cached_property
    def rule(self) -> Rule | str:
        """The word rule by which the compiled pass serves this tokenizer, or why it does not."""
        from seamount.corpora.text.encoding.rules import recognise

        return recognise(json.loads(self.backend.to_str()))

    @cached_property
    def _fast(self) -> BpeEncoder | None:
        if isinstance(self.rule, str):
            return None
        from seamount.corpora.text.encoding.encoder import BpeEncoder

        return BpeEncoder(self.backend, self.rule)

    @cached_property
    def bytes_per_token(self) -> np.ndarray:
        """int64[vocab]: how many bytes of a source text each id stands for, 0 for special ones.

        Counted on the byte-level alphabet (one letter = one byte), never on decoded text, where
        half a character would count as the three bytes of U+FFFD. Raises UserError for other
        kinds of tokenizer.
        """
        return _bytes_per_token(self)


def train_tokenizer(
    texts: Iterable[str],
    vocab_size: int,
    out_folder: str,
    max_bytes: int = TRAINING_BYTES,
    inputs: dict[str, dict[str, str]] | None = None,
) -> Tokenizer:
    """Learn a byte-level BPE of `vocab_size` ids from the first `max_bytes` of `texts`.

    The same texts give the same file. `inputs` goes into lineage.json (the corpus).
    """
    if vocab_size < SMALLEST_VOCABULARY:
        raise UserError(
            f"a vocabulary of {vocab_size} cannot hold the 256 bytes and {END_OF_TEXT}: "
            f"use at least {SMALLEST_VOCABULARY}"
        )
    backend = _untrained()
    read = _Counter()
    backend.train_from_iterator(_first_bytes(texts, max_bytes, read), _trainer(vocab_size))
    backend.post_processor = _opened_by_prefix()
    if not read.size_bytes:
        raise UserError("no text to train a tokenizer on: the train split is empty")
    storage.write_bytes(storage.join(out_folder, _FILE_NAME), backend.to_str(pretty=True).encode())
    storage.write_json(storage.join(out_folder, _CONFIG_NAME), _hugging_face_config())
    tokenizer = load_tokenizer(out_folder)
    parameters = {"vocab_size": vocab_size, "max_bytes": max_bytes, "read_bytes": read.size_bytes}
    record = lineage.Lineage("tokenizer", tokenizer.digest, inputs or {}, parameters)
    lineage.write(out_folder, record)
    return tokenizer


def load_tokenizer(folder: str) -> Tokenizer:
    """The tokenizer of a folder that holds tokenizer.json (ours or any Hugging Face one)."""
    url = storage.join(folder, _FILE_NAME)
    if not storage.exists(url):
        raise UserError(f"{folder} has no {_FILE_NAME}: give a folder with a tokenizer")
    backend = parse(storage.read_bytes(url), url)
    backend.encode_special_tokens = True  # "<|endoftext|>" inside a text is just letters
    backend.no_truncation()
    backend.no_padding()
    return Tokenizer(backend, folder, storage.sha256(url), _prefix_id(backend, folder))


def parse(content: bytes, url: str) -> Any:
    """The library's tokenizer of a tokenizer.json; raises CorruptData naming `url`."""
    from tokenizers import Tokenizer as Backend

    try:
        return Backend.from_str(content.decode())
    except Exception as error:  # the library raises bare Exception for every malformed file
        text = " ".join(str(error).split())
        raise CorruptData(f"{url} is not a tokenizer file: {text}") from error


def copy_tokenizer(folder: str, out_folder: str) -> None:
    """Copy the tokenizer files of `folder` into a model or export folder."""
    for name in FILES:
        if storage.exists(storage.join(folder, name)):
            content = storage.read_bytes(storage.join(folder, name))
            storage.write_bytes(storage.join(out_folder, name), content)


@dataclass
class _Counter:
    size_bytes: int = 0


def _first_bytes(texts: Iterable[str], limit: int, counter: _Counter) -> Iterator[str]:
    for text in texts:
        if counter.size_bytes >= limit:
            return
        raw = text.encode()[: limit - counter.size_bytes]
        counter.size_bytes += len(raw)
        yield raw.decode(errors="ignore")  # the cap may cut the last character


def _untrained() -> Any:
    from tokenizers import Tokenizer as Backend
    from tokenizers import decoders, models, pre_tokenizers

    backend = Backend(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    backend.decoder = decoders.ByteLevel()
    return backend


def _trainer(vocab_size: int) -> Any:
    from tokenizers import pre_tokenizers, trainers

    return trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[END_OF_TEXT],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )


def _opened_by_prefix() -> Any:
    """Hugging Face's own call then opens a prompt as every document of the token file is."""
    from tokenizers import processors

    return processors.TemplateProcessing(
        single=f"{END_OF_TEXT} $A",
        pair=f"{END_OF_TEXT} $A {END_OF_TEXT} $B",
        special_tokens=[(END_OF_TEXT, 0)],
    )


def _hugging_face_config() -> dict[str, Any]:
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": END_OF_TEXT,
        "eos_token": END_OF_TEXT,
        "clean_up_tokenization_spaces": False,
        "split_special_tokens": True,
    }


def _prefix_id(backend: Any, folder: str) -> int | None:
    config: dict[str, Any] = {}
    for name in (_MAP_NAME, _CONFIG_NAME):
        url = storage.join(folder, name)
        found = storage.read_json(url) if storage.exists(url) else {}
        if not isinstance(found, dict):
            raise CorruptData(f"{url} is not a JSON object: repair it, or remove it")
        config |= {key: token for key, token in found.items() if token}
    for key in ("bos_token", "eos_token"):
        token = config.get(key)
        token = token.get("content") if isinstance(token, dict) else token
        if token and backend.token_to_id(token) is not None:
            return int(backend.token_to_id(token))
    found_id = backend.token_to_id(END_OF_TEXT)
    return None if found_id is None else int(found_id)


def _bytes_per_token(tokenizer: Tokenizer) -> np.ndarray:
    import numpy as np
    from tokenizers import pre_tokenizers

    alphabet = set(pre_tokenizers.ByteLevel.alphabet())
    added = tokenizer.backend.get_added_tokens_decoder()
    lengths = np.zeros(tokenizer.vocab_size, dtype=np.int64)
    for token, index in tokenizer.backend.get_vocab(with_added_tokens=True).items():
        if index in added:
            lengths[index] = 0 if added[index].special else len(added[index].content.encode())
        elif alphabet.issuperset(token):
            lengths[index] = len(token)
        else:
            raise UserError(
                f"the tokenizer in {tokenizer.folder} is not byte-level (token {token!r}): "
                "bits per byte during training needs a byte-level one"
            )
    return lengths
