"""What MLflow promises of experiments, runs and what they log, each behaviour a function.

A scenario gets a `Said` and does on its client what a user would; everything that it says is
compared between MLflow's own SQLite store and ours. What a call refuses is said by its error code
and words.
"""

from __future__ import annotations

import math


def experiments_are_made_renamed_deleted_and_restored(s):
    c = s.client
    first = s.experiment("first", tags={"team": "blue"})
    s.refused(c.create_experiment, "first")
    s.refused(c.create_experiment, "")
    s.refused(c.create_experiment, "x" * 501)
    c.rename_experiment(first, "renamed")
    s(c.get_experiment(first).name, c.get_experiment_by_name("first"))
    run = s.run(first)
    c.delete_experiment(first)
    s(c.get_experiment(first).lifecycle_stage, c.get_run(run).info.lifecycle_stage)
    s.refused(c.delete_experiment, first)
    s.refused(c.rename_experiment, first, "again")
    s.refused(c.create_run, first)
    s.refused(c.create_experiment, "renamed")
    s.refused(c.set_experiment_tag, first, "k", "v")
    s.refused(c.log_metric, run, "m", 1.0)
    c.restore_experiment(first)
    s.refused(c.restore_experiment, first)
    s(c.get_experiment(first).lifecycle_stage, c.get_run(run).info.lifecycle_stage)
    s.refused(c.get_experiment, "987654")
    c.set_experiment_tag(first, "team", "red")
    c.set_experiment_tag(first, "other", "1")
    c.delete_experiment_tag(first, "other")
    s.refused(c.delete_experiment_tag, first, "other")
    s(c.get_experiment(first).tags)


def experiments_are_searched_in_pages(s):
    from mlflow.entities import ViewType

    c = s.client
    for n in range(5):
        s.experiment(f"page {n}", tags={"even": str(n % 2 == 0)})
    c.delete_experiment(c.get_experiment_by_name("page 3").experiment_id)
    asked = [
        {"order_by": ["name"]},
        {"order_by": ["name DESC"], "view_type": ViewType.ALL},
        {"filter_string": "name LIKE 'page%' AND tags.even = 'True'"},
        {"filter_string": "name ILIKE 'PAGE %'", "view_type": ViewType.DELETED_ONLY},
    ]
    for options in asked:
        token, found = None, []
        while True:
            page = c.search_experiments(max_results=2, page_token=token, **options)
            found += [e.name for e in page if e.name.startswith("page")]
            if not (token := page.token):
                break
        s(found if "order_by" in options else sorted(found))
    s.refused(c.search_experiments, filter_string="nonsense = 1")
    s.refused(c.search_experiments, order_by=["nonsense"])
    s.refused(c.search_experiments, max_results=0)


def runs_go_through_their_states(s):
    c = s.client
    run = s.run(run_name="one", tags={"k": "v"}, start_time=5)
    s.run_state(run)
    for status in ("FINISHED", "FAILED", "KILLED", "RUNNING"):
        c.set_terminated(run, status, end_time=1000)
        s(c.get_run(run).info.status)
    c.update_run(run, status="SCHEDULED")
    c.update_run(run, name="two")
    s.run_state(run)
    s.refused(c.create_run, "0", run_name="a", tags={"mlflow.runName": "b"})
    s(c.get_run(s.run(tags={"mlflow.runName": "by tag"})).info.run_name)
    c.delete_run(run)
    s.run_state(run)
    s.refused(c.update_run, run, name="three")
    c.delete_run(run)
    c.restore_run(run)
    c.restore_run(run)
    s.run_state(run)
    s.refused(c.get_run, "0" * 32)
    s.refused(c.delete_run, "0" * 32)
    s.refused(c.restore_run, "0" * 32)
    s.refused(c.log_metric, "0" * 32, "m", 1.0)
    s.refused(c.log_batch, "no/run", metrics=[], params=[], tags=[])


def params_are_written_once(s):
    from mlflow.entities import Param

    c, run = s.client, s.run()
    c.log_param(run, "a", 1)
    c.log_param(run, "a", "1")
    s.refused(c.log_param, run, "a", 2)
    c.log_batch(run, params=[Param("a", "1"), Param("b", "2")])
    s.refused(c.log_batch, run, params=[Param("c", "3"), Param("a", "9"), Param("b", "8")])
    s.refused(c.log_batch, run, params=[Param("d", "1"), Param("d", "1")])
    s.refused(c.log_batch, run, params=[Param("e", "1"), Param("e", "2")])
    c.log_batch(run, params=[Param(f"many{n}", str(n)) for n in range(230)])
    c.log_param(run, "empty", "")
    c.log_param(run, "none", None)
    c.log_param(run, "long", "x" * 6001)
    c.log_param(run, "unicode", "ä\n\t𝄞")
    s(c.get_run(run).data.params)


def names_are_checked(s):
    from mlflow.entities import Metric, Param, RunTag

    c, run = s.client, s.run()
    for name in (
        "ok", "with space", "a/b/c", "a.b:c-d_e", "/a", "a//b", "a/../b", ".", "..", "a/", "a/.",
        "", "x" * 250, "x" * 251, "new\nline", "tab\t", "ä", "a=b", "a,b", "a\\b", ".hidden",
        "a/.b", None,
    ):  # fmt: skip
        s(str(name)[:20])
        s.refused(c.log_metric, run, name, 1.0, timestamp=1)
        s.refused(c.log_param, run, name, "v")
        s.refused(c.set_tag, run, name, "v")
        s.refused(c.log_batch, run, metrics=[Metric("fine", 1.0, 1, 0), Metric(name, 1.0, 1, 0)])
        s.refused(c.log_batch, run, params=[Param(name, "v")])
        s.refused(c.log_batch, run, tags=[RunTag(name, "v")])
    s.run_state(run)


def a_name_that_ends_in_a_line_break(s):
    c, run = s.client, s.run()
    s.refused(c.log_metric, run, "name\n", 1.0, timestamp=1)
    s.refused(c.log_param, run, "name\n", "v")


def a_bad_batch_logs_nothing(s):
    from mlflow.entities import Metric, Param, RunTag

    c, run = s.client, s.run()
    good, param, tag = Metric("m", 1.0, 1, 0), Param("p", "v"), RunTag("t", "v")
    for value in (None, "text", True):
        s.refused(c.log_batch, run, metrics=[good, Metric("bad", value, 1, 0)], params=[param])
    for time, step in ((-1, 0), ("1", 0), (1, "0"), (None, 0)):
        s.refused(c.log_batch, run, metrics=[good, Metric("bad", 1.0, time, step)], tags=[tag])
    s.refused(c.log_batch, run, params=[param], tags=[RunTag("/", "v")])
    s.run_state(run)
    c.log_batch(run)
    store = c._tracking_client.store
    s.refused(store.log_batch, run, [good] * 1001, [], [])
    s.refused(store.log_batch, run, [], [Param(f"p{n}", "v") for n in range(101)], [])
    s.refused(store.log_batch, run, [], [], [RunTag(f"t{n}", "v") for n in range(101)])
    s.refused(store.log_batch, run, [good] * 950, [], [RunTag(f"t{n}", "v") for n in range(60)])
    s.run_state(run)


def tags_are_set_changed_and_deleted(s):
    from mlflow.entities import RunTag

    c, run = s.client, s.run(run_name="named")
    c.set_tag(run, "a", 1)
    c.set_tag(run, "a", 2)
    c.log_batch(run, tags=[RunTag("b", "1"), RunTag("b", "2"), RunTag("a", "3")])
    c.set_tag(run, "empty", "")
    c.set_tag(run, "long", "x" * 8001)
    c.set_tag(run, "unicode", "ä\n𝄞")
    s.run_state(run)
    c.delete_tag(run, "b")
    s.refused(c.delete_tag, run, "b")
    s.refused(c.delete_tag, run, "never")
    c.set_tag(run, "b", "again")
    c.set_tag(run, "mlflow.runName", "new name")
    c.set_tag(run, "mlflow.runName", "")
    c.set_tag(run, "mlflow.note.content", "note")
    s.run_state(run)
    c.delete_run(run)
    s.refused(c.set_tag, run, "a", 1)
    s.refused(c.delete_tag, run, "a")


def metrics_keep_their_history(s):
    from mlflow.entities import Metric

    c, run = s.client, s.run()
    points = [(3, 30, 3.0), (1, 10, 1.0), (2, 20, 2.0), (2, 20, 2.0), (-1, 5, 0.5), (2, 21, 9.0)]
    for step, time, value in points:
        c.log_metric(run, "m", value, timestamp=time, step=step)
    c.log_batch(run, metrics=[Metric("m", v, t, n) for n, t, v in points])
    c.log_metric(run, "int", 7, timestamp=1)
    c.log_metric(run, "nan", math.nan, timestamp=1)
    c.log_metric(run, "nan", 1.0, timestamp=1, step=-5)
    c.log_metric(run, "big", 2**62, timestamp=1, step=2**60)
    for key in ("m", "int", "nan", "big", "never"):
        s(key, [(m.step, m.timestamp, m.value) for m in c.get_metric_history(run, key)])
    s.run_state(run)


def infinities_stand_in_histories_and_in_the_run(s):
    c, run = s.client, s.run()
    c.log_metric(run, "inf", math.inf, timestamp=1)
    c.log_metric(run, "minus", -math.inf, timestamp=1)
    for key in ("inf", "minus"):
        s(key, [m.value for m in c.get_metric_history(run, key)])
    s(c.get_run(run).data.metrics)


def the_last_value_of_one_step_and_time(s):
    from mlflow.entities import Metric

    c, run = s.client, s.run()
    c.log_batch(run, metrics=[Metric("m", 5.0, 1, 0), Metric("m", 4.0, 1, 0)])
    s(c.get_run(run).data.metrics)


def an_end_without_a_time(s):
    c, run = s.client, s.run()
    c.update_run(run, status="FINISHED")
    s(c.get_run(run).info.end_time is None)


def a_run_that_runs_again(s):
    c, run = s.client, s.run()
    c.set_terminated(run, "FINISHED", end_time=1000)
    c.update_run(run, status="RUNNING")
    s(c.get_run(run).info.end_time is None)


ALL = [
    value
    for name, value in list(globals().items())
    if callable(value) and getattr(value, "__module__", "") == __name__
]
