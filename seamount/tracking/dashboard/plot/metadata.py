"""The description of a picture within its file: put in, and read by whoever is given the file.

PNG: tEXt or iTXt chunks Title, Software, Source, Creation Time (the keywords of the W3C's PNG
specification, 11.3.3.2) and iTXt `seamount`, after IHDR. SVG: the same in <metadata>. Reading
bounds everything, checks each chunk's CRC, and looks at no pixel.
"""

from __future__ import annotations

from seamount.core.errors import CorruptData, UserError
from seamount.tracking.dashboard.plot import png_chunks, svg_metadata
from seamount.tracking.dashboard.plot.embedded import MAX_BYTES, Embedded, from_text, to_text

KEYWORD = "seamount"
MAX_FILE_BYTES = 200 << 20


def put(picture: bytes, embedded: Embedded) -> bytes:
    """`picture` (PNG or SVG) with its description inside."""
    text = to_text(embedded)
    if len(text.encode()) > MAX_BYTES:
        raise UserError("the view is too large to be kept within a picture: draw fewer charts")
    if not picture.startswith(png_chunks.SIGNATURE):
        return svg_metadata.put(picture, embedded, text)
    chunks = [
        png_chunks.text("Title", embedded.title),
        png_chunks.text("Software", embedded.software),
        png_chunks.text("Source", embedded.source),
        png_chunks.text("Creation Time", embedded.created),
        png_chunks.international(KEYWORD, text, compressed=True),
    ]
    return png_chunks.insert(picture, chunks)


def read(content: bytes) -> Embedded:
    """What a PNG or SVG file says of itself.

    Raises UserError where it is no picture of ours, CorruptData where it is damaged.
    """
    if len(content) > MAX_FILE_BYTES:
        raise UserError(f"a picture may have {MAX_FILE_BYTES:,} bytes, not {len(content):,}")
    if content.startswith(png_chunks.SIGNATURE):
        text = png_chunks.find_international(content, KEYWORD, MAX_BYTES)
    elif b"<svg" in content[:4096] or content.lstrip()[:5] == b"<?xml":
        text = svg_metadata.find(content, MAX_BYTES)
    else:
        raise UserError("this file is neither PNG nor SVG: give a picture that seamount made")
    if text is None:
        raise UserError(
            "this picture does not say what it shows: it was not made by seamount, or a program "
            "that saved it again left the description out"
        )
    try:
        return from_text(text)
    except UserError as error:  # a filter or regex that this version cannot read
        raise CorruptData(f"the picture's view cannot be read: {error}") from error
