"""Values a person mistypes: one sentence, exit 2, and nothing shown before it."""

from __future__ import annotations

import pytest

from seamount.cli.main import main


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("generate", "--model", "MODEL", "hello", "--seed", "-1"), "--seed is -1"),
        (("generate", "--model", "MODEL", "hello\udcff"), "not UTF-8"),
        (("generate", "--model", "MODEL", "hello", "--temperature", "nan"), "--temperature is nan"),
        (("eval", "bpb", "MODEL", "--data", "TEXT", "--context", "0"), "--context is 0"),
        (("eval", "bpb", "MODEL", "--data", "TEXT", "--stride", "4"), "--protocol sliding"),
        (("eval", "bpb", "bzip2", "--data", "TEXT"), "zstd, xz,"),
        (("eval", "bpb", "zstd", "--data", "TEXT", "--context", "512"), "--context would change"),
        (("eval", "bpb", "xz", "--data", "TEXT", "--protocol", "paper"), "--protocol would"),
        (
            ("eval", "bpb", "unigram", "--data", "TEXT", "--stride", "1", "--prefix-token", "a"),
            "--stride, --prefix-token would change nothing, since unigram",
        ),
        (("eval", "compare", "CONFIG", "CONFIG"), "config.json"),
        (("export", "MODEL", "--out", "FILE"), "is a file"),
        (
            ("export", "MODEL", "--out", "OUT", "--data", "TEXT", "--max-bpb-delta", "nan"),
            "--max-bpb-delta is nan",
        ),
    ],
)
def test_a_mistyped_value_is_named(capsys, shared_data, tmp_path, arguments, message):
    (tmp_path / "notes.txt").write_text("mine")
    model = shared_data / "llama_aidreams260k"
    places = {
        "MODEL": model,
        "FILE": tmp_path / "notes.txt",
        "OUT": tmp_path / "out",
        "CONFIG": model / "config.json",
        "TEXT": shared_data / "messy" / "text" / "multi_frame.jsonl.zst",
    }
    with pytest.raises(SystemExit) as stopped:
        main([str(places.get(a, a)) for a in arguments])
    out, err = capsys.readouterr()
    assert (stopped.value.code, out) == (2, "")
    assert message in err
    assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]
    assert len(err.strip().splitlines()) == 1
