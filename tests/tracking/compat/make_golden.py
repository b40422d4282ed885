"""Writes golden/*.json from the real packages; CI does not have them.

python -m venv env && env/bin/pip install neptune-scale==0.30.0 neptune-query==1.14.1
env/bin/python tests/tracking/compat/make_golden.py
"""

from __future__ import annotations

import importlib
import json
import os
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

os.environ["NEPTUNE_LOG_FAILURE_ACTION"] = "raise"  # read when the package is imported

import cases

GOLDEN = Path(__file__).parent / "golden"


def signatures() -> dict[str, Any]:
    found = {}
    for name in cases.MODULES:
        module = importlib.import_module(name)
        found[name] = cases.surface(module, name.split(".")[0])
    return found


def calls() -> dict[str, str]:
    """Call -> the exception it raises, or "": of an offline run of the real package."""
    from neptune_scale import Run, types

    def make(**arguments: Any) -> Run:
        given = {"project": "team/p", "mode": "offline", "log_directory": tempfile.mkdtemp()}
        return Run(**(given | {"source_tracking_config": None} | arguments))

    run = make(enable_console_log_capture=False)
    names = {"run": run, "make": make, "types": types}
    found = {}
    for call in cases.CALLS:
        try:
            eval(call, names)
            found[call] = ""
        except Exception as error:
            found[call] = type(error).__name__
    return found


def _definition(label: str, name: str, kind: str) -> Any:
    from neptune_query.internal import identifiers

    run = identifiers.RunIdentifier(identifiers.ProjectIdentifier("team/p"), label)
    return identifiers.RunAttributeDefinition(run, identifiers.AttributeDefinition(name, kind))


def frames() -> dict[str, Any]:
    """Frames that the real package makes of the values in cases.py."""
    from neptune_query.internal import output_format
    from neptune_query.internal.retrieval.search import ContainerType

    labels = {label: label for label in ("exp-a", "exp-b", "exp-c")}
    found = {}
    for time in (None, "absolute_time"):
        for previews in (False, True):
            points = {
                _definition(*key, "float_series"): [
                    (ms, step, value, preview, completion)
                    for step, value, ms, preview, completion in rows
                    if previews or not preview
                ]
                for key, rows in cases.METRICS.items()
            }
            frame = output_format.create_metrics_dataframe(
                points, labels, type_suffix_in_column_names=previews,
                include_point_previews=previews, index_column_name="experiment",
                timestamp_column_name=time,
            )  # fmt: skip
            found[f"metrics time={time} previews={previews}"] = cases.described(frame)
    frame = output_format.create_metrics_dataframe(
        {}, {}, type_suffix_in_column_names=False, include_point_previews=False,
        index_column_name="experiment",
    )  # fmt: skip
    found["metrics none"] = cases.described(frame)
    found |= _series(labels) | _tables(ContainerType.EXPERIMENT) | _buckets(labels)
    return found


def _series(labels: dict[str, str]) -> dict[str, Any]:
    from neptune_query.internal import output_format
    from neptune_query.internal.retrieval.series import SeriesValue

    data = {
        _definition(*key, "string_series"): [SeriesValue(*row) for row in rows]
        for key, rows in cases.TEXTS.items()
    }
    return {
        f"series time={time}": cases.described(
            output_format.create_series_dataframe(data, "team/p", labels, "experiment", time)
        )
        for time in (None, "absolute_time")
    }


def _tables(container: Any) -> dict[str, Any]:
    from neptune_query.internal import output_format
    from neptune_query.internal.retrieval.attribute_values import AttributeValue

    kinds = {float: "float", int: "int", str: "string", set: "string_set", bool: "bool"}
    rows = []
    for label, values in cases.TABLE.items():
        cells = []
        for name, value in values.items():
            definition = _definition(label, name, kinds[type(value)])
            cells.append(
                AttributeValue(definition.attribute_definition, value, definition.run_identifier)
            )
        rows.append(output_format.TableRow(cells, label, "team/p"))
    made = {
        f"table suffixes={suffixes}": output_format.create_runs_table(
            rows, type_suffix_in_column_names=suffixes, container_type=container
        )
        for suffixes in (False, True)
    }
    made["table global"] = output_format.create_runs_table_multiproject(
        rows, type_suffix_in_column_names=False, container_type=container
    )
    made["table none"] = output_format.create_runs_table(
        [], type_suffix_in_column_names=False, container_type=container
    )
    return {name: cases.described(frame) for name, frame in made.items()}


def _buckets(labels: dict[str, str]) -> dict[str, Any]:
    """The server's answer made by hand: (-inf, first step], then equal widths to the last step."""
    from neptune_query.internal import output_format
    from neptune_query.internal.retrieval.metric_buckets import TimeseriesBucket

    low, high = 0.0, 10.0
    found = {}
    for limit in cases.BUCKET_LIMITS:
        edges = [float("-inf"), *(low + (high - low) * i / limit for i in range(limit + 1))]
        data = {}
        for key, points in cases.BUCKETS.items():
            buckets = []
            for number, (start, end) in enumerate(pairwise(edges)):
                inside = [p for p in points if start < p[0] <= end]
                if inside:
                    first, last = inside[0], inside[-1]
                    buckets.append(TimeseriesBucket(number, start, end, *first, *last))
            data[_definition(*key, "float_series")] = buckets
        frame = output_format.create_metric_buckets_dataframe(
            data, labels, container_column_name="experiment"
        )
        found[f"buckets {limit}"] = cases.described(frame)
    return found


def main() -> None:
    GOLDEN.mkdir(exist_ok=True)
    for name, content in (("signatures", signatures()), ("calls", calls()), ("frames", frames())):
        text = json.dumps(content, indent=1, sort_keys=True)
        (GOLDEN / f"{name}.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
