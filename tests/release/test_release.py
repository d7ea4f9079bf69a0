"""`private_histogram`: the choice of protocol, notes, and refusals."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from shuffledp import Domain, Edges, Histogram, Periods, SparseHistogram, private_histogram, simulate
from shuffledp.errors import DataError, ParameterError, TooFewUsersError
from shuffledp.protocols import CATALOGUE
from shuffledp.release.notes import Caution
from tests.oracles.html_pages import read_page

GUARANTEE = {"epsilon": 1.0, "delta": 1e-6}
VALUES = ["a"] * 600 + ["b"] * 300 + [None] * 200 + ["rare"]


def test_every_value_of_the_universe_that_stands_out_is_reported():
    release = private_histogram(VALUES, **GUARANTEE, evaluate=True)
    assert set(release.estimate) == {"a", "b", None}
    assert release.estimate.people == 1101
    assert release.evaluation.occupied == 4
    assert release.evaluation.found == 3
    assert release.evaluation.false_positives == 0
    assert release.evaluation.true_counts.tolist() == [{"a": 600, "b": 300, None: 200}[x] for x in release.estimate]
    assert release.evaluation.largest_error < 200
    assert release.messages is None


def test_numbers_are_labels_too_also_negative_ones():
    release = private_histogram(np.repeat([-5, 7], 500), **GUARANTEE)
    assert set(release.estimate) == {-5, 7}


@pytest.mark.slow
@pytest.mark.parametrize("messages", [False, True])
@pytest.mark.parametrize(("protocol", "estimator"), [
    (None, None), ("hist", None), ("hist", "unbiased"), ("sparse", None), ("sparse-best", None), ("dummy", None),
    (None, "unbiased"), (None, "truncated"),
])  # fmt: skip
def test_every_protocol_on_a_listed_domain(protocol, estimator, messages):
    release = private_histogram(
        VALUES,
        **GUARANTEE,
        domain=["a", "b", "c"],
        other=True,
        protocol=protocol,
        estimator=estimator,
        messages=messages,
    )
    assert release.estimate.bins == 5
    assert abs(release.estimate["a"] - 600) < 100
    assert release.estimate["c"] < 60
    assert (release.messages is not None) == messages
    said = release.explain()
    assert ("created, shuffled and counted" in said) == messages
    assert ("exact distribution" in said) != messages
    if messages:
        assert release.messages >= 1101
    if estimator == "unbiased" or protocol == "dummy":
        assert len(release.estimate) == 5


@pytest.mark.slow
def test_the_planner_chooses_by_default():
    few = private_histogram(VALUES, **GUARANTEE, domain=["a", "b", "rare"])
    assert few.title == "DummyHistogram"
    assert private_histogram(VALUES, epsilon=0.2, delta=1e-6).title == "SparseHistogram (ours), best error"
    assert isinstance(private_histogram(VALUES, **GUARANTEE, protocol="hist").protocol, Histogram)
    assert isinstance(private_histogram(VALUES, **GUARANTEE, protocol="sparse").protocol, SparseHistogram)


def test_the_calibrated_guarantee_is_the_asked_one():
    release = private_histogram(VALUES, **GUARANTEE)
    assert (release.estimate.guarantee.epsilon, release.estimate.guarantee.delta) == (1.0, 1e-6)
    assert release.protocol.privacy.delta(1.0) <= 1e-6
    assert release.protocol.users == 1101


@pytest.mark.slow
def test_notes_on_people_and_missing_values():
    table = pd.DataFrame({"page": VALUES, "who": np.arange(1101) // 2})
    plain = private_histogram(table, column="page", **GUARANTEE)
    assert "Each row counts as one person. The guarantee is per row" in plain.explain()
    assert "missing value counts as a value" in plain.explain()
    chosen = private_histogram(table, column="page", user="who", drop_missing=True, **GUARANTEE)
    assert "One row of each person counts, chosen at random" in chosen.explain()
    assert "without a value are left out" in chosen.explain()
    assert chosen.estimate.people == 451
    assert None not in chosen.estimate


@pytest.mark.slow
def test_warnings():
    assert private_histogram(VALUES, **GUARANTEE).warnings == ()
    release = private_histogram(VALUES, epsilon=1, delta=0.01)
    assert release.warnings == (Caution.LARGE_DELTA,)
    assert "larger than 1 / people" in json.loads(release.to_json())["warnings"][0]
    few = private_histogram(VALUES[:100], **GUARANTEE)
    assert few.warnings[-1] is Caution.LARGE_ERROR
    assert "so small differences between them say nothing" in str(few)


MONTHS = {"start": "2026-01", "stop": "2026-04"}


@pytest.mark.slow
def test_dates_in_another_format_give_a_hint_and_with_the_format_none():
    """By the private counts: nothing else about the data decides."""
    dates = [f"{1 + at % 3}/15/26" for at in range(1500)]
    release = private_histogram(dates, **GUARANTEE, domain=Periods("month", **MONTHS))
    assert release.warnings == (Caution.MOSTLY_NO_DATE,)
    assert "give the format of the dates, such as %m/%d/%Y" in str(release)
    told = private_histogram(dates, **GUARANTEE, domain=Periods("month", **MONTHS, date_format="%m/%d/%y"))
    assert told.warnings == ()
    assert told.asked["domain"] == {"by": "month", "from": "2026-01-01", "to": "2026-04-01", "date_format": "%m/%d/%y"}
    assert told.estimate["2026-02"] == pytest.approx(500, abs=told.error)
    assert "Periods('month', start='2026-01-01', stop='2026-04-01', date_format='%m/%d/%y')" in told.to_html().replace(
        "&#39;", "'"
    )


def test_numbers_in_another_format_give_a_hint():
    release = private_histogram(["1.234,5"] * 1500, **GUARANTEE, domain=Edges("0:2000:1000"))
    assert release.warnings == (Caution.MOSTLY_NO_NUMBER,)


@pytest.mark.slow
@pytest.mark.parametrize("missing", [400, 600])
def test_the_hint_is_about_those_who_pass_a_condition(missing):
    table = {"d": ["x"] * missing + ["2026-02-01"] * (1000 - missing) + ["x"] * 3000, "c": [1] * 1000 + [0] * 3000}
    asked = {"column": "d", "where": "c = 1", "domain": Periods("month", **MONTHS)}
    release = private_histogram(table, **GUARANTEE, **asked)
    assert (Caution.MOSTLY_NO_DATE in release.warnings) is (missing > 500)


@pytest.mark.slow
def test_json_has_everything_and_no_truth_unless_asked():
    plain = json.loads(private_histogram(VALUES, **GUARANTEE).to_json())
    assert plain["column"] == "value"
    assert plain["not_private_evaluation"] is None
    assert {row["label"] for row in plain["histogram"]} == {"a", "b", None}
    evaluated = json.loads(private_histogram(VALUES, **GUARANTEE, evaluate=True).to_json())
    assert evaluated["not_private_evaluation"]["occupied"] == 4


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"epsilon": 0}, "epsilon must be above 0"),
        ({"epsilon": "much"}, "epsilon must be a number"),
        ({"delta": 1}, "delta must lie strictly"),
        ({"delta": 0.5}, "delta must be at most 0.01, got 0.5: .* below 1 / people"),
        ({"where": np.array([True])}, "where must be text, .* that names columns of the data, got ndarray"),
        ({"where": pd.Series([True])}, "where must be text, .* that names columns of the data, got Series"),
        ({"beta": 2}, "beta must lie strictly"),
        ({"estimator": "unbiased"}, "give the domain"),
        ({"protocol": "dummy"}, "give the domain"),
        ({"protocol": "laplace"}, "of the central model"),
        ({"protocol": "sparse", "estimator": "unbiased"}, "estimator must be truncated for sparse"),
        ({"messages": True}, "needs a domain"),
        ({"other": True}, "needs a domain"),
        ({"domain": "a"}, "list of labels"),
        ({"domain": ["a", "a"]}, "more than once"),
        ({"domain": []}, "at least one label"),
        ({"engine": "cloud"}, "local or spark"),
    ],
)
def test_wrong_parameters(changes, reason):
    options = {**GUARANTEE, "drop_missing": "domain" in changes, **changes}
    with pytest.raises(ParameterError, match=reason):
        private_histogram(VALUES, **options)


@pytest.mark.slow
def test_wrong_data(tmp_path):
    with pytest.raises(ParameterError, match="column must be"):
        private_histogram(pd.DataFrame({"a": [1], "b": [2]}), **GUARANTEE)
    with pytest.raises(DataError, match="at least one row"):
        private_histogram(np.array([], dtype=np.int64), **GUARANTEE)
    with pytest.raises(DataError, match="at least one row with a value"):
        private_histogram([None, None], **GUARANTEE, drop_missing=True)
    with pytest.raises(DataError, match="not in the domain"):
        private_histogram(VALUES, **GUARANTEE, domain=["a"])
    with pytest.raises(DataError, match="longer than 8,192 bytes"):
        private_histogram(["x" * 8193] * 1000, **GUARANTEE)
    with pytest.raises(DataError, match="there is no file"):
        private_histogram(tmp_path / "none.csv", column="a", **GUARANTEE)


@pytest.mark.slow
def test_too_few_people():
    with pytest.raises(TooFewUsersError, match="needs at least 148"):
        private_histogram(VALUES[:100], **GUARANTEE, protocol="hist")
    with pytest.raises(TooFewUsersError, match="148"):
        private_histogram(["a"] * 100, **GUARANTEE, domain=["a", "b"], estimator="unbiased")
    assert len(private_histogram(["a"], **GUARANTEE).estimate) == 0


@pytest.mark.slow
def test_a_domain_of_numbers_and_a_given_universe():
    ages = np.repeat([30, 40], 400)
    release = private_histogram(ages, **GUARANTEE, domain=Domain.range(18, 100), drop_missing=True)
    assert release.estimate.bins == 82
    assert abs(release.estimate[30] - 400) < 100
    universe = private_histogram(ages, **GUARANTEE, domain=Domain.implicit(2**31))
    assert universe.estimate.bins == 2**31


def test_many_different_values_are_drawn_in_batches(monkeypatch):
    """More different values than one batch holds, nearly all of them rare: only those that stand out are named."""
    monkeypatch.setattr("shuffledp.data.duckdb._ROWS_AT_ONCE", 4096)
    values = np.concatenate([np.arange(100_000), np.repeat(np.arange(50), 2000)])
    release = private_histogram(values, **GUARANTEE, evaluate=True)
    assert set(release.estimate) == set(range(50))
    assert release.evaluation.occupied == 100_000
    assert release.evaluation.largest_error < 120


def test_a_list_of_file_names(tmp_path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("v\n" + "x\n" * 500)
    names = [str(tmp_path / name) for name in ("a.csv", "b.csv")]
    assert private_histogram(names, column="v", **GUARANTEE).estimate.people == 1000


@pytest.mark.parametrize("protocol", ["hist", "sparse"])
def test_nothing_but_a_missing_value(protocol):
    release = private_histogram([None] * 1000, protocol=protocol, **GUARANTEE)
    assert list(release.estimate) == [None]
    assert release.estimate.to_arrow().num_rows == 1


@pytest.mark.slow
def test_exports_keep_missing_labels_and_truth_values_apart_from_text():
    table = private_histogram(["None"] * 500 + [None] * 500, **GUARANTEE).estimate.to_arrow()
    assert set(table.column("label").to_pylist()) == {"None", None}
    truth = private_histogram([True] * 500 + [None] * 500, **GUARANTEE).estimate.to_arrow()
    assert set(truth.column("label").to_pylist()) == {True, None}
    number = private_histogram([7] * 500 + [None] * 500, **GUARANTEE).estimate
    assert set(number.to_polars()["label"].to_list()) == {7, None}
    assert number.to_csv().splitlines()[0].startswith("label,")


@pytest.mark.slow
def test_only_a_release_with_messages_speaks_of_the_shuffler():
    drawn, sent = (private_histogram(["a"] * 500, **GUARANTEE, domain=["a"], messages=m) for m in (False, True))
    assert "a shuffler mixes" not in drawn.explain()
    assert "sees only the published result" in drawn.explain()
    assert "a shuffler mixes" in sent.explain()


def test_detection_limit_and_hidden_counts_agree():
    release = private_histogram(VALUES, **GUARANTEE)
    assert release.detection_limit == release.estimate.simultaneous.unreported_high + 1


@pytest.mark.slow
def test_simulation_with_several_rows_is_repeatable_too():
    rng = np.random.default_rng(1)
    table = {"v": rng.integers(0, 100, 20_000), "who": rng.integers(0, 5000, 20_000)}
    runs = [simulate(table, column="v", user="who", **GUARANTEE, trials=5, seed=1) for _ in range(3)]
    assert len({tuple(trial.largest_error for trial in run.trials) for run in runs}) == 1


@pytest.mark.slow
def test_simulation_is_repeatable_and_gives_its_guarantee():
    wish = {**GUARANTEE, "trials": 200}
    first, again, other = (simulate(VALUES, **wish, seed=seed) for seed in (1, 1, 2))
    assert first.quantiles([0.5, 1]) == again.quantiles([0.5, 1]) != other.quantiles([0.5, 1])
    assert first.covered >= 0.9
    assert first.quantiles([0.95])[0] <= first.predicted_error
    assert first.people == 1101
    with pytest.raises(ParameterError, match="trials"):
        simulate(VALUES, **GUARANTEE, trials=0, seed=1)
    with pytest.raises(ParameterError, match="seed"):
        simulate(VALUES, **GUARANTEE, trials=1, seed=-1)


def test_a_simulation_prints_its_errors_and_that_it_is_not_private():
    result = simulate(VALUES, **GUARANTEE, trials=5, seed=1)
    text = str(result)
    assert f"median {result.quantiles([0.5])[0]:,.1f}" in text
    assert f"contained the truth in {round(5 * result.covered)} of 5 releases" in text
    assert "NOT PRIVATE" in text
    assert len(repr(result)) < 300


def test_unbiased_simulation_on_a_domain():
    result = simulate(VALUES, **GUARANTEE, trials=50, seed=3, domain=["a", "b", "rare"], estimator="unbiased")
    assert result.bins == 4
    assert result.trials[0].found <= 4


@pytest.mark.slow
def test_the_same_seed_gives_the_same_trials_also_with_public_coins():
    asked = {**GUARANTEE, "trials": 3, "domain": ["a", "b", "rare"], "protocol": "public-coin"}
    first, second = (simulate(VALUES, **asked, seed=5) for _ in range(2))
    assert [t.largest_error for t in first.trials] == [t.largest_error for t in second.trials]


def test_private_histogram_takes_no_generator_or_seed():
    for name in ("rng", "seed"):
        with pytest.raises(TypeError):
            private_histogram(VALUES, **GUARANTEE, **{name: 1})


OFFERED = [name for name, entry in CATALOGUE.items() if entry.model == "shuffled" and not entry.published]


@pytest.mark.slow
@pytest.mark.parametrize("messages", [False, True])
@pytest.mark.parametrize("name", OFFERED)
def test_every_shuffled_protocol_can_be_asked_for(name, messages):
    asked = {**GUARANTEE, "protocol": name, "domain": ["a", "b", "rare"], "messages": messages}
    if not messages and name in ("shuffled-response", "shuffled-hadamard", "shuffled-hashing", "amplified"):
        with pytest.raises(ParameterError, match="messages must be True"):
            private_histogram(VALUES, **asked)
        return
    release = private_histogram(VALUES, **asked)
    assert release.title == CATALOGUE[name].title
    assert (release.messages is None) != messages
    assert math.isfinite(release.error)


@pytest.mark.parametrize("protocol", [None, "hist", "sparse", "sparse-best"])
def test_any_value_is_possible_without_a_domain(protocol):
    """The domain has so many values that the expected number of messages is infinite."""
    release = private_histogram(VALUES, **GUARANTEE, protocol=protocol)
    assert abs(release.estimate["a"] - 600) < 100
    assert math.isinf(release.protocol.messages_per_user.expected)


def test_a_release_shows_itself():
    release = private_histogram({"page": VALUES}, column="page", **GUARANTEE)
    title, _, head, first, *_ = str(release).splitlines()
    assert title == "page: 3 values of 1,101 people, (1, 1e-6) private"
    assert head.split() == ["page", "people", "interval"]
    assert first.split()[0] == "a"
    assert "NOT PRIVATE" not in str(release)
    shown = read_page(release._repr_html_())
    assert {"page", "a", "b", "(missing)"} <= set(shown.texts)
    assert "script" not in {tag for tag, _ in shown.seen}


def test_a_release_that_holds_the_truth_says_so_wherever_it_is_shown():
    release = private_histogram(VALUES, **GUARANTEE, evaluate=True)
    for text in (str(release), repr(release), release._repr_html_()):
        assert "NOT PRIVATE" in text
    assert "Not private" in release.to_html()


def test_the_privacy_of_a_release():
    release = private_histogram(VALUES, **GUARANTEE)
    promised = release.privacy
    assert (promised.guarantee.epsilon, promised.guarantee.delta) == (1.0, 1e-6)
    assert promised.delta(1.0) == release.protocol.privacy.delta(1.0) <= 1e-6
    assert promised.epsilon(1e-6) <= 1.0
    assert promised.exact == release.protocol.privacy.exact
    assert "what one person holds is replaced" in str(promised)
    assert promised.neighbours in str(promised)


@pytest.mark.slow
def test_a_release_is_plotted_with_its_title():
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    assert private_histogram({"$": VALUES}, column="$", **GUARANTEE).plot(ax=axes, limit=2) is axes
    assert axes.get_title() == "$"
    assert len(axes.get_yticklabels()) == 2


def test_a_release_makes_its_own_figure_where_none_is_given():
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    axes = private_histogram(VALUES, **GUARANTEE).plot()
    assert [text.get_text() for text in axes.get_yticklabels()] == ["a", "b", "(missing)"]
    pyplot.close(axes.figure)


def test_saving_refuses_to_write_over_a_file(tmp_path):
    release = private_histogram(VALUES, **GUARANTEE)
    path = tmp_path / "r.csv"
    assert release.save(str(path)) == path
    before = path.read_text()
    assert before == release.estimate.to_csv()
    path.write_text("mine")
    with pytest.raises(DataError, match=r"exists already: choose another name, or set overwrite=True"):
        release.save(path)
    assert path.read_text() == "mine"
    release.save(path, overwrite=True)
    assert path.read_text() == before
    with pytest.raises(ParameterError, match=r"must end in \.html"):
        release.save(tmp_path / "r.txt")


@pytest.mark.slow
def test_periods_say_that_moments_with_a_zone_are_counted_in_utc():
    year, said = Periods("month", start="2026", stop="2027"), "those with a time zone are counted in UTC"
    rows = {"when": ["2026-02-01T00:30+01:00"] * 900, "sex": ["f"] * 900}
    release = private_histogram(rows, column="when", domain=year, epsilon=1, delta=1e-6)
    assert said in release.explain()
    assert said in release.to_html()
    assert release.estimate["2026-01"] > 500
    both = private_histogram(rows, column=["sex", "when"], domain=[["f"], year], epsilon=1, delta=1e-6)
    assert said in both.explain()
    assert said not in private_histogram(rows, column="sex", epsilon=1, delta=1e-6).explain()
