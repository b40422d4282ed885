"""Config importance against scipy, and on planted effects."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from seamount.core.errors import UserError
from seamount.tracking import Run, query
from seamount.tracking.query.effects import interval, of_columns
from seamount.tracking.query.permutation import _coded
from seamount.tracking.query.ranks import correlation, epsilon, ranks

NUMBERS = st.lists(st.tuples(st.integers(-5, 5), st.floats(-1e6, 1e6)), min_size=4, max_size=30)


@given(NUMBERS)
@settings(max_examples=100, deadline=None)
def test_spearman_equals_scipys(pairs):
    left, right = [a for a, _ in pairs], [b for _, b in pairs]
    assert ranks(right) == stats.rankdata(right).tolist()
    found = correlation(ranks(left), ranks(right))
    if len(set(left)) < 2 or len(set(right)) < 2:
        assert found is None
    else:
        assert found == pytest.approx(stats.spearmanr(left, right).statistic, abs=1e-12)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9)), min_size=6, max_size=30))
@settings(max_examples=100, deadline=None)
def test_epsilon_equals_scipys_kruskal_wallis(pairs):
    groups = sorted({g for g, _ in pairs})
    values = [v for _, v in pairs]
    found = epsilon([g for g, _ in pairs], values)
    if len(set(values)) < 2:
        assert found is None
    elif len(groups) > 1:
        h = stats.kruskal(*([v for g, v in pairs if g == group] for group in groups)).statistic
        assert found**2 * (len(pairs) - 1) == pytest.approx(h, abs=1e-9)


def test_the_interval_covers_as_often_as_it_says():
    """300 samples of 40 with Spearman's rho of 0.48 (Pearson 0.5): 95 % must cover, 91-98 % may."""
    chance = random.Random(7)
    true = 6 / math.pi * math.asin(0.25)
    covered = 0
    for _ in range(300):
        x = [chance.gauss(0, 1) for _ in range(40)]
        y = [0.5 * a + math.sqrt(0.75) * chance.gauss(0, 1) for a in x]
        low, high = interval(correlation(ranks(x), ranks(y)), 40)
        covered += low <= true <= high
    assert 0.91 <= covered / 300 <= 0.98


def planted(n: int, seed: int = 3):
    """loss falls with lr, depends on the optimizer, and on nothing else."""
    chance = random.Random(seed)
    configs: dict[str, list] = {"lr": [], "optimizer": [], "noise": [], "const": [], "twin": []}
    values = []
    for _ in range(n):
        lr, optimizer = chance.random(), chance.choice(["adam", "lion", "sgd"])
        values.append(-3 * lr + (1.0 if optimizer == "sgd" else 0.0) + 0.2 * chance.gauss(0, 1))
        configs["lr"].append(lr)
        configs["twin"].append(-2 * lr)
        configs["optimizer"].append(optimizer)
        configs["noise"].append(chance.random())
        configs["const"].append(1)
    return configs, values


def test_a_planted_effect_is_found_with_its_sign():
    configs, values = planted(80)
    found = of_columns(configs, values, seed=0)
    by_name = {effect.config: effect for effect in found.effects}
    assert [e.config for e in found.effects][:3] in (["lr", "twin", "optimizer"],
                                                     ["twin", "lr", "optimizer"])  # fmt: skip
    assert by_name["lr"].effect < -0.7 and by_name["lr"].high < 0
    assert by_name["twin"].note == "changes only with lr"
    assert by_name["optimizer"].kind == "groups" and by_name["optimizer"].low > 0.1
    assert by_name["noise"].low < 0 < by_name["noise"].high
    measured = {e.config: e.permutation[0] for e in found.effects}
    assert measured["noise"] < 0.05 < measured["optimizer"] < measured["lr"] + measured["twin"]
    assert "1 configs are the same in all runs and left out" in found.notes
    assert of_columns(configs, values, seed=0).frame.rows() == found.frame.rows()


def test_configs_beyond_all_floats_are_only_a_place_in_the_order():
    """Infinities, NaN, integers beyond doubles: the order alone counts, as with plain numbers."""
    values = [float(n * n) for n in range(40)]
    plain = [float(n) for n in range(40)]
    odd = [-math.inf, *plain[1:38], 10**400, math.inf]
    found = [of_columns({"c": column}, values).effects[0] for column in (plain, odd)]
    assert found[0] == found[1] and found[1].kind == "rank"
    assert found[1].effect == 1 and found[1].permutation[0] > 0.5
    absent = [None, math.nan, 3, 1, True]
    assert _coded(absent) == [-1.0, -1.0, 1.0, 0.0, 0.0]
    assert _coded(["b", 2, None, "a"]) == [2.0, 0.0, -1.0, 1.0]


def test_small_samples_and_pure_noise_say_so():
    configs, values = planted(6)
    found = of_columns(configs, values)
    assert any("only 6 runs" in note for note in found.notes)
    assert any("at least 20 needed" in note for note in found.notes)
    assert all(effect.permutation is None for effect in found.effects)
    chance = random.Random(1)
    noise = {f"c{n}": [chance.random() for _ in range(40)] for n in range(20)}
    found = of_columns(noise, [chance.random() for _ in range(40)])
    assert any("by chance alone" in note for note in found.notes)
    assert any("foretells nothing" in note for note in found.notes)


def test_importance_over_a_store(store):
    chance = random.Random(0)
    for number in range(8):
        with Run(run_id=f"r{number}", store=store.uri) as run:
            run.log_configs({"lr": number, "flag": bool(number % 2), "note": chance.random()})
            for step in range(2):
                run.log_metrics({"loss": number - 10.0 * step}, step=step)
    with Run(run_id="nan", store=store.uri) as run:
        run.log_configs({"lr": 99})
        run.log_metrics({"loss": math.nan}, step=0)
    found = query.importance("loss", store=store.uri, aggregate="min")
    assert (found.metric, found.runs) == ("min(loss)", 8)
    assert (found.effects[0].config, found.effects[0].effect) == ("lr", 1.0)
    assert found.notes[0] == "1 of 9 runs have no finite min(loss)"
    with pytest.raises(UserError, match="at least 4 are needed"):
        query.importance("loss", "config.lr < 3", store=store.uri)
    with pytest.raises(UserError, match="must be last, min, max or mean"):
        query.importance("loss", aggregate="median", store=store.uri)
