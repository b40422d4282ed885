"""The `seamount` command: a table of nouns, each imported only when it is used."""

from __future__ import annotations

import importlib
import logging
import sys
import traceback
from typing import Any, NoReturn

from seamount import __version__
from seamount.core.errors import SeamountError, UserError
from seamount.core.registry import unknown
from seamount.core.wording import one_line

# noun -> (module, help). The help stands here so that `seamount --help` imports no noun.
NOUNS = {
    "run": ("run", "The main job: real text to a trained, scored, exported model."),
    "corpus": ("corpus", "Build, check and describe text corpora."),
    "train": ("train", "Train a model by a recipe; prove layouts equal."),
    "eval": ("eval", "Score models in bits per byte."),
    "generate": ("generate", "Continue a prompt with a model."),
    "export": ("export", "Quantise and export a model behind a gate."),
    "track": ("track", "List, verify and open tracked runs."),
    "lineage": ("lineage", "What an artefact was made from."),
    "services": ("services", "Prefect server, worker and tracking UI on this machine."),
}

USAGE = """\
Usage: seamount [--verbose] NOUN [VERB] [ARGUMENTS]

  Raw text to trained, measured, exported models, each step provable.

  Example: seamount run --out runs/first
           seamount generate --model runs/first/model "def main"

Nouns (each with --help):
{nouns}

Options:
  -v, --verbose  Show the whole traceback of an error.
  --version      Show the version.
  -h, --help     Show this page.

Exit codes: 0 done, 1 failed, 2 a mistake in the command or its input, 75 stopped and resumable."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; errors are one sentence and an exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    verbose = bool(arguments) and arguments[0] in ("-v", "--verbose")
    arguments = arguments[verbose:]
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    logging.getLogger("seamount").setLevel(logging.INFO)
    try:
        _dispatch(arguments)
    except SeamountError as error:
        if verbose:
            traceback.print_exc()
        print(f"seamount: {one_line(error)}", file=sys.stderr)
        for note in getattr(error, "__notes__", ()):  # such as a caret below a query's mistake
            print(note, file=sys.stderr)
        raise SystemExit(error.exit_code) from error
    except BrokenPipeError:  # the reader of our output went away: nothing to tell it
        sys.stderr.close()
        raise SystemExit(1) from None
    except Exception as error:
        _unexpected(error, verbose)


def _unexpected(error: Exception, verbose: bool) -> NoReturn:
    if verbose:
        traceback.print_exc()
    text = one_line(" ".join(str(error).split())) or "no message"
    print(
        f"seamount: unexpected {type(error).__name__}: {text[:400]} (this is a fault of Seamount: "
        "please report it with what `seamount --verbose ...` shows)",
        file=sys.stderr,
    )
    raise SystemExit(1) from error


def _dispatch(arguments: list[str]) -> None:
    if not arguments or arguments[0] in ("-h", "--help"):
        nouns = "\n".join(f"  {name:<10}{text}" for name, (_, text) in NOUNS.items())
        print(USAGE.format(nouns=nouns))
        return
    noun, *rest = arguments
    if noun == "--version":
        print(f"seamount {__version__}")
        return
    if noun.startswith("-"):
        raise UserError(f"no option {noun!r} before the noun: see seamount --help")
    if noun not in NOUNS:
        raise unknown("noun", noun, list(NOUNS))
    _run(noun, rest)


def _run(noun: str, arguments: list[str]) -> None:
    """Hand over to the noun's own command line; its mistakes come out as ours do."""
    import typer

    app = importlib.import_module(f"seamount.cli.{NOUNS[noun][0]}").app
    usage_error: Any = typer.BadParameter.__base__
    try:
        code = app(arguments, prog_name=f"seamount {noun}", standalone_mode=False)
    except usage_error as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # its making has shown the help already
            raise SystemExit(2) from None
        raise UserError(_usage_sentence(error)) from error
    if isinstance(code, int) and code:
        raise SystemExit(code)


def _usage_sentence(error: Any) -> str:
    """Typer's message (made for a box of its own) with the value given and where to look."""
    message = " ".join(error.format_message().split()).rstrip(".")
    problems: list[Any] = getattr(error.__cause__, "errors", list)()
    given = f", given {str(problems[0]['input'])[:80]!r}" if problems else ""
    where = error.ctx.command_path if error.ctx else "seamount"
    return f"{message[:1].lower()}{message[1:]}{given}: see {where} --help"


if __name__ == "__main__":
    main()
