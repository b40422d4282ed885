"""Which licence a LICENSE file holds, by the phrases that only its text has."""

from __future__ import annotations

import re

ENOUGH_BYTES = 20_000
_NAMES = re.compile(r"^(?:un)?(?:licen[cs]e|copying)(?:[-._].*)?$", re.IGNORECASE)
_SPDX = re.compile(r"SPDX-License-Identifier:\s*([\w.+-]+)")
# (identifier, phrases that all stand in it), the more special before the more general.
_PHRASES = (
    ("MPL-2.0", ("mozilla public license version 2.0",)),
    ("AGPL-3.0", ("gnu affero general public license", "version 3")),
    ("LGPL-3.0", ("gnu lesser general public license", "version 3")),
    ("LGPL-2.1", ("gnu lesser general public license", "version 2.1")),
    ("GPL-3.0", ("gnu general public license", "version 3")),
    ("GPL-2.0", ("gnu general public license", "version 2")),
    ("Apache-2.0", ("apache license", "version 2.0")),
    ("CC0-1.0", ("cc0 1.0 universal",)),
    ("CC-BY-SA-4.0", ("attribution-sharealike 4.0 international",)),
    ("CC-BY-4.0", ("attribution 4.0 international",)),
    ("Unlicense", ("this is free and unencumbered software released into the public domain",)),
    ("ISC", ("permission to use, copy, modify, and/or distribute this software for any purpose",)),
    ("MIT", ("permission is hereby granted, free of charge, to any person obtaining a copy",)),
    (
        "BSD-3-Clause",
        ("redistribution and use in source and binary forms", "neither the name"),
    ),
    ("BSD-2-Clause", ("redistribution and use in source and binary forms",)),
    ("PSF-2.0", ("python software foundation license version 2",)),
)


def is_licence(name: str) -> bool:
    """Whether a file of this name holds a licence."""
    return bool(_NAMES.match(name))


def spdx(data: bytes) -> str:
    """The licence's SPDX identifier; `other` for a text that is not known."""
    text = data.decode("utf-8", "replace")
    if named := _SPDX.search(text):
        return named[1]
    plain = " ".join(text.lower().split())
    return next((name for name, phrases in _PHRASES if all(p in plain for p in phrases)), "other")
