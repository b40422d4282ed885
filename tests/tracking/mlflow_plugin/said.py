"""What a scenario saw through an MLflow client, in words that two stores can be compared by."""

from __future__ import annotations

import math
import re


class Said:
    """A client and what was observed; ids and times are said as the order of their appearance."""

    def __init__(self, client):
        self.client = client
        self.lines = []
        self._ids = {}

    def __call__(self, *what):
        self.lines.append(self.plain(what))

    def refused(self, call, *arguments, **options):
        """Say the error of a call, or that there was none."""
        from mlflow.exceptions import MlflowException

        try:
            call(*arguments, **options)
        except MlflowException as error:
            # Of SQL that failed, and of advice that the client adds, only what comes before.
            words = re.split(r" Error: \(|\n\nThe cause of this", str(error.message))[0]
            self("refused", error.error_code, words)
        else:
            self("taken")

    def name(self, id_):
        """Give an id a name that is the same in both stores."""
        self._ids.setdefault(str(id_), f"<{len(self._ids)}>")
        return id_

    def plain(self, value):
        if isinstance(value, dict):
            return {self.plain(k): self.plain(v) for k, v in sorted(value.items(), key=str)}
        if isinstance(value, list | tuple):
            return [self.plain(v) for v in value]
        if isinstance(value, float) and math.isnan(value):
            return "NaN"
        if isinstance(value, str):
            for id_ in sorted(self._ids, key=len, reverse=True):
                if len(id_) > 8 or value == id_:
                    value = value.replace(id_, self._ids[id_])
        return value

    def experiment(self, name, **options):
        return self.name(self.client.create_experiment(name, **options))

    def run(self, experiment="0", **options):
        if "tags" not in options:
            options = {"run_name": "a run"} | options
        return self.name(self.client.create_run(experiment, **options).info.run_id)

    def run_state(self, run_id):
        """Say a run as its readers see it."""
        run = self.client.get_run(run_id)
        info = run.info
        self(info.run_name, info.status, info.lifecycle_stage, info.end_time is None)
        tags = {k: v for k, v in run.data.tags.items() if not k.startswith("seamount.")}
        self(run.data.params, run.data.metrics, tags)  # ours adds tags under its own name
