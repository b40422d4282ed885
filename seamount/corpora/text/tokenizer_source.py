"""Where a tokenizer may come from: a folder, a tokenizer.json anywhere, or a Hugging Face name.

One made here is used where it stands. Any other is copied beside what is made with it, with a
lineage of its own, so that the ids stay readable when the original is gone.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from seamount.core import lineage, storage
from seamount.core.errors import UserError
from seamount.corpora.text.tokenizer import FILES, Tokenizer, load_tokenizer, parse

_HUB_NAME = re.compile(r"[\w-][\w.-]*(/[\w.-]+)?")
_WHAT = "give a folder with tokenizer.json, such a file, or a Hugging Face name"


def is_own(name: str) -> bool:
    """Whether `name` is a local folder of a tokenizer made or copied by Seamount."""
    if not storage.is_local(name):
        return False
    there = (storage.exists(storage.join(name, file)) for file in (FILES[0], lineage.FILE_NAME))
    return all(there)


def find(name: str) -> dict[str, bytes]:
    """Contents of tokenizer.json and of what names its special tokens, by file name.

    Raises UserError where nothing is found under `name`, on this machine, at its URL or in the hub,
    and CorruptData where tokenizer.json is none.
    """
    files = _local_files(name) if "://" in name or storage.exists(name) else _hub_files(name)
    parse(files[FILES[0]], name)
    return files


def copy(files: dict[str, bytes], name: str, folder: str) -> Tokenizer:
    """Write what `find` found under `name` into `folder`, with its lineage."""
    for file in FILES:
        target = storage.join(folder, file)
        if file in files:
            storage.write_bytes(target, files[file])
        elif storage.exists(target):
            storage.local_path(target).unlink()  # of another tokenizer that was here before
    found = load_tokenizer(folder)
    lineage.write(folder, lineage.Lineage("tokenizer", found.digest, {}, {"source": name}))
    return found


def described(tokenizer: Tokenizer) -> dict[str, Any]:
    """{tokenizer, digest, vocab_size, prefix_id, prefix_token, encoded_by, why} for people."""
    prefix = tokenizer.prefix_id
    return {
        "tokenizer": tokenizer.folder,
        "digest": tokenizer.digest,
        "vocab_size": tokenizer.vocab_size,
        "prefix_id": prefix,
        "prefix_token": None if prefix is None else tokenizer.backend.id_to_token(prefix),
        **encoded_by(tokenizer),
    }


def encoded_by(tokenizer: Tokenizer) -> dict[str, str]:
    """{encoded_by: "compiled pass" | "tokenizers library", why: its word rule, or what is not}."""
    if isinstance(tokenizer.rule, str):
        return {"encoded_by": "tokenizers library", "why": tokenizer.rule}
    return {"encoded_by": "compiled pass", "why": f"word rule: {tokenizer.rule.name}"}


def _local_files(name: str) -> dict[str, bytes]:
    """Contents of tokenizer.json (`name` itself where it is a file) and what stands beside it."""
    if not storage.exists(name):
        raise UserError(f"nothing stands at {name!r}: {_WHAT}")
    main, folder = storage.join(name, FILES[0]), name
    if not storage.is_folder(name):
        main, folder = name, name.rpartition("/")[0] or ("/" if name.startswith("/") else ".")
    if not storage.exists(main):
        raise UserError(f"{name} has no {FILES[0]}: {_WHAT}")
    beside = {file: storage.join(folder, file) for file in FILES[1:]}
    urls = {FILES[0]: main} | {f: url for f, url in beside.items() if storage.exists(url)}
    return {file: storage.read_bytes(url) for file, url in urls.items()}


def _hub_files(name: str) -> dict[str, bytes]:
    if not _HUB_NAME.fullmatch(name):
        raise UserError(f"nothing stands at {name!r}: {_WHAT}")
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    files = {}
    offline = not _resolves()
    for file in FILES:
        try:
            files[file] = _fetched(name, file, offline)
        except LocalEntryNotFoundError as error:  # before its parent, which means "not in the repo"
            if file == FILES[0] or not _known_absent(name, file):
                raise _unreachable(name) from error
        except EntryNotFoundError as error:
            if file == FILES[0]:
                text = f"the Hugging Face model {name!r} has no {file}: choose one that has"
                raise UserError(text) from error
    return files


def _resolves() -> bool:
    """Whether the hub's name does, asked once: its client would ask for half a minute."""
    import socket
    from urllib.parse import urlsplit
    from urllib.request import getproxies

    from huggingface_hub import constants

    try:
        return bool(getproxies() or socket.getaddrinfo(urlsplit(constants.ENDPOINT).hostname, None))
    except OSError:
        return False


def _known_absent(name: str, file: str) -> bool:
    """Whether an earlier download learnt that the model has no such file."""
    from huggingface_hub import _CACHED_NO_EXIST, try_to_load_from_cache

    return try_to_load_from_cache(name, file) is _CACHED_NO_EXIST


def _fetched(name: str, file: str, offline: bool) -> bytes:
    import httpx
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import (
        EntryNotFoundError,
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        RepositoryNotFoundError,
    )

    try:
        return Path(hf_hub_download(name, file, local_files_only=offline)).read_bytes()
    except EntryNotFoundError:
        raise
    except GatedRepoError as error:
        raise UserError(
            f"the Hugging Face model {name!r} is gated: accept its terms there and log in with `hf "
            "auth login`"
        ) from error
    except (RepositoryNotFoundError, HFValidationError) as error:
        raise UserError(
            f"nothing stands at {name!r}, and Hugging Face has no model of that name: {_WHAT}"
        ) from error
    except (HfHubHTTPError, httpx.HTTPError, OSError) as error:
        raise _unreachable(name) from error


def _unreachable(name: str) -> UserError:
    return UserError(
        f"nothing stands at {name!r}, and as a Hugging Face name it cannot be fetched without a "
        "network: give a folder with tokenizer.json, or such a file"
    )
