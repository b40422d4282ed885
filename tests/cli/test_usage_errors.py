"""What Typer itself refuses comes out like every other mistake: one sentence, exit 2, no box."""

from __future__ import annotations

import pytest

from seamount.cli.main import NOUNS, main


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    out, err = capsys.readouterr()
    assert (stopped.value.code, out) == (2, "")
    assert err.startswith("seamount: ") and len(err.splitlines()) == 1
    return err


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("corpus build --source a --out b --workers -1", ("'--workers'", "given '-1'")),
        ("corpus build --source a --out b --workers x", ("valid integer", "given 'x'")),
        ("corpus build --sourc a", ("--sourc", "--source")),
        ("corpus build", ("missing option '--source'",)),
        ("corpus audi x", ("'audi'", "'audit'")),
        ("eval bpb", ("missing argument",)),
        ("generate --model a b c", ("unexpected extra argument", "(c)")),
        ("train --nope", ("no such option: --nope",)),
        ("track ui --port 0", ("'--port'", "given '0'")),
        ("lineage", ("missing argument",)),
        ("corpus audit --js\x1b[31m", ("\\x1b",)),
    ],
)
def test_a_usage_error_is_one_sentence(
    capsys: pytest.CaptureFixture[str], line: str, words: tuple[str, ...]
) -> None:
    err = told(capsys, *line.split(" "))
    assert all(word in err for word in words), err
    assert f"see seamount {line.split()[0]}" in err and err.rstrip().endswith("--help")


def test_a_noun_alone_shows_its_help_once(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["corpus"])
    assert stopped.value.code == 2
    assert "".join(capsys.readouterr()).count("Usage: seamount corpus") == 1


@pytest.mark.parametrize("noun", NOUNS)
def test_help_offers_no_shell_completion(capsys: pytest.CaptureFixture[str], noun: str) -> None:
    main([noun, "--help"])
    shown = capsys.readouterr().out
    assert f"seamount {noun}" in shown and "completion" not in shown
