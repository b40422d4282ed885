"""torch to ONNX by the dynamo exporter, and int8 weights inside the file.

Batch and sequence are free. int8 weights are stored as int8 with a scale a channel, and turned to
fp32 by Cast and Mul in front of their use; a tied embedding and head are stored once. This is the
arithmetic of DequantizeLinear, spelled out on purpose: onnxruntime folds it once when it loads the
file and then runs at fp32 speed, while DequantizeLinear before MatMul is fused (by default, since
its n-bit kernels) into a product with activations rounded to int8, which moved the logits of a
1 M-parameter model by 0.03 to 0.07.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from seamount.core.errors import SeamountError
from seamount.export.quantize.int8 import Int8Weight

if TYPE_CHECKING:
    import numpy as np

OPSET = 21
_LARGEST_FILE = 2**31 - 1  # one protobuf message


def to_onnx(module: Any, adapter: Any) -> Any:
    """The ModelProto of `module`, through its family's export adapter.

    `adapter` is the family's export.py: adapter(), example_inputs(), dynamic_shapes() and names.
    The file holds neither doc strings nor stack traces, so it does not depend on where it was made.
    """
    import torch

    with _quiet():
        program = torch.onnx.export(
            adapter.adapter(module),
            adapter.example_inputs(module),
            dynamo=True,
            dynamic_shapes=adapter.dynamic_shapes(module),
            input_names=list(adapter.INPUT_NAMES),
            output_names=list(adapter.OUTPUT_NAMES),
            opset_version=OPSET,
            verbose=False,
        )
    if program is None:
        raise SeamountError("the ONNX exporter gave no program: the model uses what it cannot map")
    proto = program.model_proto
    _strip(proto)
    return proto


def pack_int8(proto: Any, weights: Mapping[str, Int8Weight]) -> None:
    """Store `weights` as int8 in `proto`, which was exported with their dequantised values.

    Weights are found by value, as they stand or transposed (the exporter renames and transposes
    them). Raises SeamountError naming one that is not found.
    """
    wanted = _by_value(weights)
    found: set[str] = set()
    nodes = []
    kept = []
    for tensor in proto.graph.initializer:
        match = wanted.get(_value_key(tensor))
        if match is None:
            kept.append(tensor)
            continue
        name, values, scale, axis = match
        found.add(name)
        kept += _stored(tensor.name, values, scale, axis)
        nodes += _dequantise(tensor.name)
    missing = sorted(n for n in weights if n not in found and not _same_value(n, found, weights))
    if missing:
        raise SeamountError(
            f"weight {missing[0]!r} is not in the exported graph: cannot store int8"
        )
    _replace_contents(proto, kept, nodes)


def serialise(proto: Any) -> bytes:
    """The checked bytes of the file."""
    import onnx

    if proto.ByteSize() > _LARGEST_FILE:
        raise SeamountError("the model is larger than 2 GB, which one ONNX file cannot hold")
    onnx.checker.check_model(proto, full_check=False)
    content: bytes = proto.SerializeToString(deterministic=True)
    return content


def _by_value(weights: Mapping[str, Int8Weight]) -> dict[Any, tuple[str, Any, Any, int]]:
    import numpy as np

    table: dict[Any, tuple[str, Any, Any, int]] = {}
    for name, weight in weights.items():
        full_OI = weight.dequantised()
        turned_IO = np.ascontiguousarray(full_OI.T)
        turned_values_IO = np.ascontiguousarray(weight.values_OI.T)
        table.setdefault(_key(turned_IO), (name, turned_values_IO, weight.scale_O, 1))
        table[_key(full_OI)] = (name, weight.values_OI, weight.scale_O, 0)
    return table


def _key(array: np.ndarray) -> tuple[tuple[int, ...], bytes]:
    from hashlib import sha256

    return array.shape, sha256(array.tobytes()).digest()


def _value_key(tensor: Any) -> Any:
    from onnx import TensorProto, numpy_helper

    if tensor.data_type != TensorProto.FLOAT or len(tensor.dims) != 2:
        return None
    return _key(numpy_helper.to_array(tensor))


def _same_value(name: str, found: set[str], weights: Mapping[str, Int8Weight]) -> bool:
    """Whether an equal weight (two all-zero layers, say) was stored for `name` too."""
    import numpy as np

    mine = weights[name].dequantised()
    others = (weights[n].dequantised() for n in found)
    return any(np.array_equal(mine, o) or np.array_equal(mine, o.T) for o in others)


def _stored(name: str, values: np.ndarray, scale: np.ndarray, axis: int) -> list[Any]:
    from onnx import numpy_helper

    shaped = scale[:, None] if axis == 0 else scale[None, :]
    return [
        numpy_helper.from_array(values, f"{name}.int8"),
        numpy_helper.from_array(shaped, f"{name}.scale"),
    ]


def _dequantise(name: str) -> list[Any]:
    from onnx import TensorProto, helper

    whole = f"{name}.whole"
    return [
        helper.make_node("Cast", [f"{name}.int8"], [whole], to=TensorProto.FLOAT),
        helper.make_node("Mul", [whole, f"{name}.scale"], [name]),
    ]


def _replace_contents(proto: Any, initializers: list[Any], first_nodes: list[Any]) -> None:
    nodes = [*first_nodes, *proto.graph.node]
    del proto.graph.initializer[:]
    del proto.graph.node[:]
    proto.graph.initializer.extend(initializers)
    proto.graph.node.extend(nodes)


def _strip(proto: Any) -> None:
    """Drop what names this machine's files: doc strings, metadata, shapes of inner values."""
    del proto.metadata_props[:]
    del proto.graph.metadata_props[:]
    del proto.graph.value_info[:]
    proto.doc_string = proto.graph.doc_string = ""
    for item in (*proto.graph.node, *proto.graph.initializer, *proto.graph.input):
        item.doc_string = ""
        del item.metadata_props[:]


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence what the exporter says about packages that are not here and its own deprecations."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
