"""What MLflow promises of searches, charts, datasets and models, each behaviour a function.

A scenario gets a `Said` and does on its client what a user would; everything that it says is
compared between MLflow's own SQLite store and ours. What a call refuses is said by its error code
and words.
"""

from __future__ import annotations

import math


def histories_come_in_pages_and_for_charts(s):
    from mlflow.entities import Metric

    c, runs = s.client, [s.run(), s.run()]
    for place, run in enumerate(runs):
        for start in range(0, 250, 50):
            c.log_batch(
                run, metrics=[Metric("m", n + place, n, n) for n in range(start, start + 50)]
            )
    store = c._tracking_client.store
    token, pages = None, []
    while True:
        page = store.get_metric_history(runs[0], "m", max_results=100, page_token=token)
        pages.append([m.step for m in page])
        if not (token := page.token):
            break
    s(pages)
    s.refused(store.get_metric_history, runs[0], "m", max_results=10, page_token="nonsense")
    found = store.get_metric_history_bulk(runs, "m", 300)
    s(sorted((len([m for m in found if m.run_id == r]) for r in runs), reverse=True), len(found))
    s(store.get_max_step_for_metric(runs[1], "m"))
    steps = store.get_metric_history_bulk_interval_from_steps(runs[1], "m", [3, 5, 999], 10)
    s([(m.run_id, m.key, m.step, m.value) for m in steps])
    some = store.get_metric_history_bulk_interval(runs, "m", 1000, 10, 12)
    s(sorted((m.run_id == runs[0], m.step, m.value) for m in some))


def runs_are_searched(s):
    from mlflow.entities import Metric, Param, RunTag, ViewType

    c, here, there = s.client, s.experiment("here"), s.experiment("there")
    for n in range(7):
        run = s.run(here if n < 5 else there, run_name=f"run {n}", start_time=100 + n)
        metrics = [Metric("loss", math.nan if n == 2 else 5.0 - n, 1, n)] if n != 3 else []
        params = [Param("lr", f"0.{n}"), Param("opt", "Adam" if n % 2 else "sgd")]
        c.log_batch(run, metrics, params, [RunTag("even", str(n % 2 == 0)), RunTag("a b", "x")])
        if n % 3 == 0:
            c.set_terminated(run, end_time=1000 + n)
    c.delete_run(run)
    filters = [
        "", "metrics.loss < 4", "metrics.loss >= 3 and params.opt = 'Adam'", "metrics.loss != 4",
        "params.lr = '0.1'", "params.opt LIKE 'a%'", "params.opt ILIKE 'a%'", "params.lr != '0.1'",
        "tags.even = 'True'", "tags.`a b` = 'x'", "tags.\"a b\" LIKE 'x'", "status = 'FINISHED'",
        "attributes.status != 'FINISHED'", "run_name = 'run 1'", "run_name LIKE 'run%'",
        "attribute.start_time > 102", "end_time <= 1003", "tags.mlflow.runName = 'run 2'",
        "params.none IS NULL", "params.lr IS NOT NULL", "metrics.loss = 5", "artifact_uri LIKE '%'",
    ]  # fmt: skip
    orders = [
        None, ["metrics.loss"], ["metrics.loss DESC"], ["params.lr DESC"],
        ["tags.even", "start_time"], ["attributes.end_time", "run_name DESC"],
        ["attribute.status", "params.opt", "start_time"],
    ]  # fmt: skip
    for view in (ViewType.ACTIVE_ONLY, ViewType.DELETED_ONLY, ViewType.ALL):
        for filter_string in filters:
            found = c.search_runs([here, there], filter_string, view)
            s(filter_string, [r.info.run_name for r in found])
    for order in orders:
        token, pages = None, []
        while True:
            page = c.search_runs([here, there], "", ViewType.ALL, 3, order, token)
            pages.append([r.info.run_name for r in page])
            if not (token := page.token):
                break
        s(order, pages)
    for wrong in (
        "nonsense",
        "metrics.loss = 'a'",
        "params.lr > 1",
        "x.y = 1",
        "metrics.loss <",
        "a",
    ):
        s.refused(c.search_runs, [here], wrong)
    s.refused(c.search_runs, [here], "", order_by=["nonsense"])
    s.refused(c.search_runs, [here], "", max_results=50_001)
    s.refused(c.search_runs, [here], "", page_token="nonsense")
    s([r.info.run_name for r in c.search_runs([])])


def datasets_are_inputs_of_runs(s):
    from mlflow.entities import Dataset, DatasetInput, InputTag, LoggedModelInput

    c, experiment = s.client, s.experiment("inputs")
    first, second = s.run(experiment, run_name="first"), s.run(experiment, run_name="second")
    train = Dataset("train", "d1", "local", "a", "schema", "profile")
    test = Dataset("test", "d2", "local", "b")
    context = [InputTag("mlflow.data.context", "training")]
    c.log_inputs(first, [DatasetInput(train, context), DatasetInput(test, [])])
    c.log_inputs(first, [DatasetInput(train, context)])
    c.log_inputs(second, [DatasetInput(train, [InputTag("mlflow.data.context", "eval")])])
    model = c.create_logged_model(experiment, name="m", source_run_id=first)
    s.name(model.model_id)
    c.log_inputs(second, models=[LoggedModelInput(model.model_id)])
    for run in (first, second):
        inputs = c.get_run(run).inputs
        s(sorted(
            [i.dataset.name, i.dataset.digest, i.dataset.source, i.dataset.schema,
             [(t.key, t.value) for t in i.tags]] for i in inputs.dataset_inputs
        ), [m.model_id for m in inputs.model_inputs])  # fmt: skip
    for asked in ("dataset.name = 'train'", "dataset.digest = 'd2'", "dataset.context = 'eval'"):
        found = c.search_runs([experiment], asked)
        s(asked, sorted(r.info.run_name for r in found))
    s.refused(c.log_inputs, first, [DatasetInput(Dataset("x" * 501, "d", "local", "a"), [])])
    store = c._tracking_client.store
    s(sorted((d.name, d.digest, d.context or "") for d in store._search_datasets([experiment])))
    c.delete_run(first)
    s.refused(c.log_inputs, first, [DatasetInput(test, [])])


def logged_models_live_in_experiments(s):
    from mlflow.entities import LoggedModelOutput, LoggedModelParameter, LoggedModelStatus, Metric

    c, experiment = s.client, s.experiment("models")
    run = s.run(experiment)
    ready = c.create_logged_model(
        experiment, name="ready", source_run_id=run, tags={"k": "v"}, params={"p": "1"},
        model_type="agent",
    )  # fmt: skip
    s.name(ready.model_id)
    failed = c.create_logged_model(experiment, name="failed", source_run_id=run)
    s.name(failed.model_id)
    s(ready.status.name, ready.model_type, ready.tags, ready.params, ready.source_run_id)
    c.finalize_logged_model(ready.model_id, LoggedModelStatus.READY)
    c.finalize_logged_model(failed.model_id, LoggedModelStatus.FAILED)
    c.log_metric(run, "accuracy", 0.9, timestamp=1, step=1, model_id=ready.model_id)
    c.log_batch(run, [Metric("accuracy", 0.5, 2, 1, model_id=failed.model_id)])
    c.log_outputs(run, [LoggedModelOutput(ready.model_id, step=3)])
    c.log_model_params(failed.model_id, {"late": "2"})
    c.set_logged_model_tags(ready.model_id, {"k": "w", "l": "1"})
    c.delete_logged_model_tag(ready.model_id, "l")
    s.refused(c.delete_logged_model_tag, ready.model_id, "l")
    for model_id in (ready.model_id, failed.model_id):
        model = c.get_logged_model(model_id)
        s(model.name, model.status.name, model.tags, model.params,
          [(m.key, m.value, m.step) for m in model.metrics or []])  # fmt: skip
    s([(m.model_id, m.step) for m in c.get_run(run).outputs.model_outputs])
    for asked in (
        "name = 'ready'",
        "metrics.accuracy > 0.6",
        "params.p = '1'",
        "tags.k = 'w'",
        None,
    ):
        found = c.search_logged_models([experiment], filter_string=asked)
        s(asked, sorted(m.name for m in found))
    order = [{"field_name": "metrics.accuracy", "ascending": True}]
    s([m.name for m in c.search_logged_models([experiment], order_by=order)])
    c.delete_logged_model(failed.model_id)
    s.refused(c.get_logged_model, failed.model_id)
    s([m.name for m in c.search_logged_models([experiment])])
    s.refused(c.create_logged_model, "987654", name="x")
    s(sorted(c.get_run(run).data.metrics.items()), LoggedModelParameter("a", "b").key)


def models_are_registered_in_versions(s):
    c, run = s.client, s.run()
    source = c.get_run(run).info.artifact_uri + "/model"
    s.refused(c.create_registered_model, "")
    c.create_registered_model("net", tags={"a": "1"}, description="first")
    s.refused(c.create_registered_model, "net")
    versions = [c.create_model_version("net", source, run, tags={"n": str(n)}) for n in range(3)]
    s([(v.version, v.run_id, v.status, v.current_stage, v.tags) for v in versions])
    c.set_registered_model_alias("net", "champion", "1")
    c.set_registered_model_alias("net", "champion", "2")
    c.set_registered_model_alias("net", "old", "1")
    s(c.get_model_version_by_alias("net", "champion").version)
    s(c.get_registered_model("net").aliases)
    c.delete_registered_model_alias("net", "old")
    s.refused(c.get_model_version_by_alias, "net", "old")
    s.refused(c.set_registered_model_alias, "net", "v1", "1")
    s.refused(c.set_registered_model_alias, "net", "latest", "1")
    c.update_model_version("net", "2", "words")
    c.set_model_version_tag("net", "2", "k", "v")
    c.delete_model_version_tag("net", "2", "n")
    s(c.get_model_version("net", "2").description, c.get_model_version("net", "2").tags)
    c.delete_model_version("net", "3")
    s.refused(c.get_model_version, "net", "3")
    for asked in ("name = 'net'", f"run_id = '{run}'", "tags.n = '0'", "name LIKE 'n%'"):
        s(asked.replace(run, "RUN"), sorted(v.version for v in c.search_model_versions(asked)))
    copied = c.copy_model_version("models:/net/2", "copy")
    s(copied.name, copied.version, copied.run_id)
    c.rename_registered_model("copy", "twin")
    c.set_registered_model_tag("twin", "k", "v")
    s([(m.name, m.tags) for m in c.search_registered_models(order_by=["name DESC"])])
    s([m.name for m in c.search_registered_models("name ILIKE 'T%'", max_results=1)])
    c.delete_registered_model("net")
    s.refused(c.get_registered_model, "net")
    s(c.get_model_version("twin", "1").version)


def runs_nest_by_a_tag(s):
    c, experiment = s.client, s.experiment("nested")
    parent = s.run(experiment, run_name="parent")
    child = s.run(experiment, run_name="child", tags={"mlflow.parentRunId": parent})
    s(c.get_parent_run(child).info.run_id, c.get_parent_run(parent))
    found = c.search_runs([experiment], f"tags.mlflow.parentRunId = '{parent}'")
    s([r.info.run_name for r in found])


def artifacts_lie_under_the_run(s):
    c, run = s.client, s.run()
    c.log_text(run, "hello", "notes/a.txt")
    c.log_dict(run, {"a": 1}, "b.json")
    s(sorted((f.path, f.is_dir, f.file_size) for f in c.list_artifacts(run)))
    s([(f.path, f.file_size) for f in c.list_artifacts(run, "notes")])
    with open(c.download_artifacts(run, "notes/a.txt")) as stream:
        s(stream.read())


ALL = [
    value
    for name, value in list(globals().items())
    if callable(value) and getattr(value, "__module__", "") == __name__
]
