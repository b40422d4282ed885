"""Any value as a file of an open format: one function a type, never pickle.

    str, Path, bytes, File            as they are
    dict, list, tuple                 JSON (a dict of tensors: safetensors)
    torch tensor                      safetensors
    numpy array                       .npy without objects
    pandas, polars, pyarrow tables    Parquet
    matplotlib figure, PIL, Image     PNG;  Video: animated PNG;  Audio: WAV

`register(type, function)` adds one. Libraries are known by the names of their types, so none is
imported before a value of it is logged.
"""

from __future__ import annotations

import io
import json
import mimetypes
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seamount.core.errors import UserError
from seamount.tracking.configs import plain
from seamount.tracking.media import Audio, Image, Video, as_array, pixels


@dataclass(frozen=True)
class File:
    """A path, or the bytes themselves, with the suffix and type that they should have."""

    source: str | Path | bytes
    suffix: str = ""
    mime_type: str = ""


Encoder = Callable[[Any], File]
_registered: dict[type, Encoder] = {}


def register(kind: type, encoder: Encoder) -> None:
    """Let values of `kind` (and of its subclasses) be logged as the File that `encoder` makes."""
    _registered[kind] = encoder


def encode(value: Any) -> File:
    """`value` as a File with suffix and type; raises UserError where no function is known."""
    if isinstance(value, str | os.PathLike):
        return _complete(File(Path(value)))
    if isinstance(value, bytes | bytearray | memoryview):
        return _complete(File(bytes(value)))
    if isinstance(value, File):
        return _complete(value)
    for kind in type(value).__mro__:
        encoder = _registered.get(kind) or _KNOWN.get(_name(kind))
        if encoder is not None:
            return _complete(encoder(value))
    raise UserError(
        f"a {type(value).__name__} has no serialiser: log a path, bytes or a plain value, or "
        "register one with seamount.tracking.serialisers.register"
    )


def _name(kind: type) -> str:
    """The library and the type's own name: where in the library it lies changes."""
    return f"{kind.__module__.partition('.')[0]}.{kind.__name__}"


def _complete(file: File) -> File:
    suffix = file.suffix
    if not suffix and isinstance(file.source, str | os.PathLike):
        suffix = Path(file.source).suffix
    guessed = mimetypes.guess_type(f"x{suffix}")[0] or "application/octet-stream"
    return File(file.source, suffix, file.mime_type or guessed)


def _json(value: Any) -> File:
    if isinstance(value, dict) and value and all(_is_tensor(v) for v in value.values()):
        return _safetensors({str(name): tensor for name, tensor in value.items()})
    text = json.dumps(_strict(plain(value)), indent=1, ensure_ascii=False, allow_nan=False)
    return File(text.encode("utf-8", "backslashreplace"), ".json")  # \ud800 is JSON's own escape


def _strict(value: Any) -> Any:
    """JSON has no NaN and no infinities: they stand as texts."""
    if isinstance(value, dict):
        return {key: _strict(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_strict(inner) for inner in value]
    if isinstance(value, float) and value - value != 0:
        return "NaN" if value != value else ("Infinity" if value > 0 else "-Infinity")
    return value


def _is_tensor(value: Any) -> bool:
    return any(_name(kind) == "torch.Tensor" for kind in type(value).__mro__)


def _safetensors(tensors: dict[str, Any]) -> File:
    from safetensors.torch import save

    return File(
        save({name: t.detach().contiguous().clone() for name, t in tensors.items()}), ".safetensors"
    )


def _npy(value: Any) -> File:
    import numpy as np

    if value.dtype.hasobject:
        raise UserError("an array of Python objects has no plain form: log a list or a table")
    buffer = io.BytesIO()
    np.save(buffer, value, allow_pickle=False)
    return File(buffer.getvalue(), ".npy")


def _parquet(write: str) -> Encoder:
    def encode_table(value: Any) -> File:
        buffer = io.BytesIO()
        getattr(value, write)(buffer)
        return File(buffer.getvalue(), ".parquet", "application/vnd.apache.parquet")

    return encode_table


def _arrow(value: Any) -> File:
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(value, buffer)
    return File(buffer.getvalue(), ".parquet", "application/vnd.apache.parquet")


def _png(save: Callable[[Any, io.BytesIO], Any]) -> Encoder:
    def encode_picture(value: Any) -> File:
        buffer = io.BytesIO()
        save(value, buffer)
        return File(buffer.getvalue(), ".png")

    return encode_picture


def _save_image(value: Image, buffer: io.BytesIO) -> None:
    from PIL import Image as pillow

    pillow.fromarray(pixels(value.array)).save(buffer, "png")


def _video(value: Video) -> File:
    from PIL import Image as pillow

    frames = [pillow.fromarray(pixels(frame)) for frame in as_array(value.array)]
    if not frames or value.fps <= 0:
        raise UserError("a Video needs at least one picture, and fps above 0")
    buffer = io.BytesIO()
    frames[0].save(
        buffer, "png", save_all=True, append_images=frames[1:], duration=1000 / value.fps, loop=0
    )
    return File(buffer.getvalue(), ".apng", "image/apng")


def _audio(value: Audio) -> File:
    import numpy as np
    from scipy.io import wavfile

    samples = as_array(value.array)
    if samples.ndim not in (1, 2) or samples.size == 0 or value.rate <= 0:
        raise UserError(f"an Audio is [T] or [T, channels], not {list(samples.shape)}")
    if samples.dtype.kind == "f":
        samples = samples.astype(np.float32)
    elif samples.dtype not in (np.int16, np.int32, np.uint8):
        raise UserError(f"an Audio holds floats, int16, int32 or uint8, not {samples.dtype}")
    buffer = io.BytesIO()
    wavfile.write(buffer, int(value.rate), samples)
    return File(buffer.getvalue(), ".wav", "audio/wav")


_KNOWN: dict[str, Encoder] = {
    "builtins.dict": _json,
    "builtins.list": _json,
    "builtins.tuple": _json,
    "torch.Tensor": lambda tensor: _safetensors({"value": tensor}),
    "numpy.ndarray": _npy,
    "pandas.DataFrame": _parquet("to_parquet"),
    "pandas.Series": lambda series: _parquet("to_parquet")(series.to_frame(series.name or "value")),
    "polars.DataFrame": _parquet("write_parquet"),
    "pyarrow.Table": _arrow,
    "matplotlib.Figure": _png(lambda figure, buffer: figure.savefig(buffer, format="png")),
    "PIL.Image": _png(lambda image, buffer: image.save(buffer, "png")),
    "seamount.Image": _png(_save_image),
    "seamount.Video": _video,
    "seamount.Audio": _audio,
}
