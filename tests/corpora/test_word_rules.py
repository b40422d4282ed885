"""Every word rule the compiled pass serves, against the tokenizers library on the same text."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenized import CL100K
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    trainers,
)

from seamount.corpora.text.encoding import rules
from seamount.corpora.text.encoding.encoder import BpeEncoder

TRAINED_ON = [
    "The cat's mat — it'S 1234567 and THAT'LL do; we've 12 of 3½.\n\n\tnaïve café, 東京タワー!\r\n",
    "def f(x):\r\n    return {'a': [1, 22, 333]}   # ...  \n\n\n  end ΑΒΓ αβγ \u0928\u093f e\u0301",
] * 30
NAMES = [
    "gpt2",
    "gpt2-space",
    "digits",
    "llama3",
    "qwen2",
    "any-digits",
    "neox",
]


def level(**options: Any) -> Any:
    return pre_tokenizers.ByteLevel(**{"add_prefix_space": False, "use_regex": True} | options)


def split(pattern: str) -> Any:
    by = pre_tokenizers.Split(Regex(pattern), "isolated", invert=False)
    return pre_tokenizers.Sequence([by, level(use_regex=False)])


def pre_tokenizer(name: str) -> Any:
    digits = pre_tokenizers.Digits(individual_digits=True)
    return {
        "gpt2": lambda: level(),
        "neox": lambda: level(),
        "gpt2-space": lambda: level(add_prefix_space=True),
        "digits": lambda: pre_tokenizers.Sequence([digits, level()]),
        "llama3": lambda: split(CL100K),
        "qwen2": lambda: split(CL100K.replace("{1,3}", "")),
        "any-digits": lambda: split(CL100K.replace("{1,3}", "+")),
    }[name]()


def trained(name: str) -> Tokenizer:
    """A tokenizer of each family, learnt here by the library's own trainer."""
    backend = Tokenizer(models.BPE(ignore_merges=name == "llama3"))
    backend.pre_tokenizer = pre_tokenizer(name)
    backend.decoder = decoders.ByteLevel()
    if name in ("qwen2", "neox"):
        backend.normalizer = normalizers.NFC()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    special = ["<|endoftext|>", "<|im_start|>"]
    backend.train_from_iterator(
        TRAINED_ON,
        trainers.BpeTrainer(
            vocab_size=700, initial_alphabet=alphabet, special_tokens=special, show_progress=False
        ),
    )
    if name == "llama3":
        backend = with_unmergeable_words(backend)
    if name == "neox":  # as GPT-NeoX: runs of spaces are added tokens, not special ones
        backend.add_tokens([AddedToken(" " * n, normalized=False) for n in (4, 3, 2)])
        backend.add_tokens([AddedToken("\u212bngström", normalized=True)])  # NFC: U+00C5
    backend.encode_special_tokens = True
    return backend


def with_unmergeable_words(backend: Tokenizer) -> Tokenizer:
    """Words in the vocabulary that no merge makes: only `ignore_merges` finds them."""
    spec = json.loads(backend.to_str())
    words = ["Ġquixotic", "zyzzyva", "ĊĊĊĊ", "Ġ" * 7, "æĿ±äº¬", "'ll"]
    size = backend.get_vocab_size()
    spec["model"]["vocab"] |= {
        w: size + n for n, w in enumerate(w for w in words if w not in spec["model"]["vocab"])
    }
    return Tokenizer.from_str(json.dumps(spec))


class Family:
    """The compiled encoder of a family beside the library's tokenizer."""

    def __init__(self, name: str) -> None:
        self.backend = trained(name)
        self.encoder = BpeEncoder(self.backend)

    def reference(self, text: str) -> list[int]:
        return list(self.backend.encode(text, add_special_tokens=False).ids)

    def compiled(self, text: str) -> list[int] | None:
        ids = self.encoder.encode(text)
        return None if ids is None else ids.tolist()

    def agrees(self, text: str) -> bool:
        found = self.compiled(text)
        if found is None:
            return bool(self.encoder.rule.added)
        return found == self.reference(text)


@pytest.fixture(scope="module", params=NAMES)
def family(request: pytest.FixtureRequest) -> Family:
    return Family(request.param)


def test_each_family_is_recognised(family: Family) -> None:
    assert BpeEncoder.fits(family.backend)


APOSTROPHES = ["'s", "'S", "'\u017f", "'lL", "'Ve", "'x", "''", "it's"]
WHITE = [" a", "!a", "\ta", "\u00a0b", "\r\n", "\n", " \n ", "  ", "   \u2028", "\x85", "\u3000"]
NUMBERS = ["1", "12", "12345", "½", "Ⅷ", "٣", "²"]
WORDS = ["quixotic", " quixotic", "zyzzyva", "東京", "a" * 300, "<|endoftext|>", "<|im_start|>"]
MARKS = [
    "\u0301",
    "e\u0301",
    "\u1112\u1161",
    "\u212b",
    "\u00c5ngström",
    "\ufeff",
    "\U0001f600\u200d",
]
FOLDED = ["ﬁ", "\ufb06", "İ", "ǅ", "\u0149", "\u1e9e", "\u0378", "\ue000", "\uffff", "...\r\n\n"]
PIECES = st.sampled_from([*APOSTROPHES, *WHITE, *NUMBERS, *WORDS, *MARKS, *FOLDED])
ANY = st.characters(exclude_categories=["Cs"])
TEXTS = st.lists(PIECES | st.text(ANY, max_size=4), max_size=14).map("".join)


@settings(max_examples=150)
@given(text=TEXTS)
def test_ids_are_the_librarys(family: Family, text: str) -> None:
    assert family.agrees(text)


@settings(max_examples=150)
@given(
    text=st.text(
        st.sampled_from("a'sSlL1٣! \t\r\n\x0b\x85\u00a0\u2028\u3000é\u0301東_"), max_size=24
    )
)
def test_every_edge_between_classes(family: Family, text: str) -> None:
    assert family.agrees(text)


def test_real_text(family: Family, shared_data: Path) -> None:
    with open(shared_data / "pile_sample" / "02.jsonl.zst", "rb") as file:
        lines = zstandard.ZstdDecompressor().stream_reader(file).read().decode().split("\n")
    texts = [json.loads(line)["text"][:1000] for line in lines if line]
    theirs = family.backend.encode_batch_fast(texts, add_special_tokens=False)
    mine = [family.compiled(text) for text in texts]
    served = [(m, t.ids) for m, t in zip(mine, theirs, strict=True) if m is not None]
    assert all(m == t for m, t in served)
    left = len(texts) - len(served)
    assert left == (sum("  " in t for t in texts) if family.encoder.rule.added else 0)


def test_texts_with_added_tokens_are_left_to_the_library() -> None:
    family = Family("neox")
    assert family.compiled("two words") is not None
    assert family.compiled("two  words") is None
    assert family.compiled("\u212bngström") is None  # as it was added
    assert family.compiled("A\u030angström") is None  # what NFC makes of both
    assert family.compiled("<|endoftext|>") == family.reference("<|endoftext|>")


def test_a_word_of_the_vocabulary_is_taken_before_any_merge() -> None:
    family = Family("llama3")
    index = family.backend.token_to_id("Ġquixotic")
    assert family.compiled("so quixotic")[-1:] == [index] == family.reference(" quixotic")
    without = BpeEncoder(family.backend, replace(family.encoder.rule, ignore_merges=False))
    assert index not in without.encode("so quixotic").tolist()


def test_special_tokens_in_a_text_are_letters(family: Family) -> None:
    special = {family.backend.token_to_id(t) for t in ("<|endoftext|>", "<|im_start|>")}
    ids = family.compiled("a<|endoftext|><|im_start|>b")
    assert ids == family.reference("a<|endoftext|><|im_start|>b")
    assert not special & set(ids)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["gpt2", "digits", "llama3", "qwen2"])
def test_every_code_point(name: str) -> None:
    family = Family(name)
    around = "'{0} {0}\n~\na{0}1{0}a\n~\n!{0}\n{0}{0}x"
    everything = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    for start in range(0, len(everything), 20_000):
        text = "\n~\n".join(around.format(c) for c in everything[start : start + 20_000])
        assert family.agrees(text), hex(start)


@pytest.mark.parametrize(
    ("pattern", "digits"),
    [
        (CL100K, 3),
        (CL100K.replace("{1,3}", ""), 1),
        (CL100K.replace("{1,3}", "{1,2}"), 2),
        (CL100K.replace("{1,3}", "{2,3}"), None),
        (CL100K.replace("(?i:", "(?:"), None),
        (CL100K.replace(r"\s*[\r\n]+", r"\s*[\r\n]"), None),
        (CL100K + "|x", None),
    ],
)
def test_only_the_very_pattern_is_served(pattern: str, digits: int | None) -> None:
    backend = trained("gpt2")
    backend.pre_tokenizer = split(pattern)
    found = rules.recognise(json.loads(backend.to_str()))
    assert (found.digits if isinstance(found, rules.Rule) else None) == digits


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"normalizer": {"type": "NFKC"}}, "its normalizer is NFKC"),
        ({"model": {"type": "WordPiece", "vocab": {}, "merges": []}}, "its model is WordPiece"),
        ({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}, "not all 256 bytes"),
        ({"pre_tokenizer": {"type": "Metaspace"}}, "pre-tokenizer"),
    ],
)
def test_the_reason_for_the_library_is_named(change: dict[str, Any], why: str) -> None:
    found = rules.recognise(json.loads(trained("gpt2").to_str()) | change)
    assert isinstance(found, str) and why in found
