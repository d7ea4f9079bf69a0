"""The result object: look-ups, explanations, exports."""

import csv
import io
import json
import math
import sys
from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from shuffledp import (
    BinarySum,
    DataError,
    Domain,
    DummyHistogram,
    Edges,
    Histogram,
    MissingExtraError,
    ParameterError,
    run,
)
from shuffledp.formatting import confidence_level
from shuffledp.histogram.export import csv_cell, harmless
from tests.oracles.html_pages import read_page


@pytest.fixture
def estimate():
    protocol = Histogram.calibrate(users=5000, bins=2**64, epsilon=1, delta=1e-6)
    counts = {"often": 4000, "seldom": 990, "hidden": 10}
    return protocol.estimate(protocol.sample_tally(counts, rng=np.random.default_rng(0)), domain=Domain.implicit(2**64))


def test_look_ups(estimate):
    assert len(estimate) == 2
    assert estimate["often"] == pytest.approx(4000, abs=40)
    assert estimate.frequency("often") == pytest.approx(0.8, abs=0.01)
    assert estimate["hidden"] == estimate["never there"] == 0
    low, high = estimate.interval("often")
    assert low <= 4000 <= high
    assert estimate.interval("hidden") == (0, estimate.simultaneous.unreported_high)
    per_bin = estimate.interval("often", simultaneous=False)
    assert low <= per_bin[0] <= per_bin[1] <= high
    assert [row.label for row in estimate.top()] == ["often", "seldom"]
    assert [row.label for row in estimate.top(1)] == ["often"]


def test_frequencies_are_the_papers_normalised_counts(estimate):
    assert estimate.frequencies == pytest.approx(estimate.counts / 5000)


def test_explanation_says_what_a_reader_needs(estimate):
    text = estimate.explain()
    for needed in (
        "(1, 1e-6)-differential privacy",
        "computed exactly",
        "Replacing one person's value",
        "Not protected",
        "all 5,000 people follow the protocol",
        "shuffler",
        "never shown",
        "95% confidence",
    ):
        assert needed in text


def test_explanation_of_other_protocols():
    few = Histogram.calibrate(users=5000, bins=4, epsilon=1, delta=1e-6, honest_users=4000)
    assert "at least 4,000 of the 5,000" in few.describe()
    bare = Histogram(users=5000, bins=4, missing_probability=0.25)
    assert "from the exact curve" in bare.describe()
    theorem = Histogram.published(users=5000, bins=4, epsilon=2, delta=2e-6)
    assert "(2, 2e-6)-differential privacy (Theorem 3.2)" in theorem.describe()


def test_json_and_csv(estimate):
    result = json.loads(estimate.to_json())
    assert result["guarantee"] == {"epsilon": 1.0, "delta": 1e-6, "basis": "computed exactly"}
    assert result["people"] == 5000
    assert result["histogram"][0]["label"] == "often"
    rows = list(csv.DictReader(io.StringIO(estimate.to_csv())))
    assert [row["label"] for row in rows] == ["often", "seldom"]
    assert float(rows[0]["count"]) == estimate["often"]
    assert int(rows[0]["low"]) <= 4000 <= int(rows[0]["high"])


def test_tables_agree(estimate):
    columns = estimate.to_columns()
    assert estimate.to_arrow().to_pydict() == columns
    assert estimate.to_pandas().to_dict("list") == columns
    assert estimate.to_polars().to_dict(as_series=False) == columns


def test_low_and_high_mean_the_same_everywhere(estimate):
    """The simultaneous interval, in rows, look-ups, columns, every table and every file; `_alone` is narrower."""
    (low, high), (low_alone, high_alone) = (estimate.interval("often", simultaneous=s) for s in (True, False))
    assert low < low_alone < high_alone < high
    expected = {"low": low, "high": high, "low_alone": low_alone, "high_alone": high_alone}
    (row,) = estimate.top(1)
    assert (row.low, row.high) == (low, high)
    tables = {
        "columns": {name: values[0] for name, values in estimate.to_columns().items()},
        "csv": next(csv.DictReader(io.StringIO(estimate.to_csv()))),
        "json": json.loads(estimate.to_json())["histogram"][0],
        "pandas": estimate.to_pandas().iloc[0].to_dict(),
        "polars": estimate.to_polars().row(0, named=True),
        "arrow": estimate.to_arrow().to_pylist()[0],
    }
    for name, table in tables.items():
        assert {end: int(table[end]) for end in expected} == expected, name
    unreported = json.loads(estimate.to_json())
    assert unreported["unreported_high"] == estimate.simultaneous.unreported_high
    assert unreported["unreported_high_alone"] == estimate.per_bin.unreported_high < unreported["unreported_high"]


FACTS = {"people": 5000, "epsilon": 1.0, "delta": 1e-6, "beta": 0.05, "estimator": "truncated"}


def test_every_table_has_the_guarantee(estimate):
    for row in csv.DictReader(io.StringIO(estimate.to_csv())):
        assert {name: type(fact)(row[name]) for name, fact in FACTS.items()} == FACTS
        assert int(row["unreported_high"]) == estimate.simultaneous.unreported_high
        assert row["shuffledp_version"]
    assert FACTS.items() <= estimate.to_pandas().attrs.items()
    stored = json.loads(estimate.to_arrow().schema.metadata[b"shuffledp"])
    assert FACTS.items() <= stored.items()
    assert stored["guarantee"]["basis"] == "computed exactly"


FORMULAS = ['=HYPERLINK("http://x","y")', "+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\t=1", "\r=1", "'=1", "\uff1d1"]
HARMLESS = ["plain", "a=b", "-5", "+3.25", "-1e-5", "'quoted'", "5-3"]


def test_no_label_is_a_formula_in_a_spreadsheet():
    labels = [*FORMULAS, *HARMLESS, -1.5]
    protocol = Histogram.calibrate(users=500 * len(labels), bins=2**64, epsilon=1, delta=1e-6)
    tally = protocol.sample_tally(dict.fromkeys(labels, 500))
    estimate = protocol.estimate(tally, domain=Domain.implicit(2**64))
    written = {row["label"] for row in csv.DictReader(io.StringIO(estimate.to_csv(), newline=""))}
    assert written == {f"'{label}" for label in FORMULAS} | set(HARMLESS) | {"-1.5"}
    raw = {row["label"] for row in csv.DictReader(io.StringIO(estimate.to_csv(raw=True), newline=""))}
    assert raw == set(FORMULAS) | set(HARMLESS) | {"-1.5"}
    assert {row["label"] for row in json.loads(estimate.to_json())["histogram"]} == set(labels)
    assert set(FORMULAS) <= set(estimate.to_arrow()["label"].to_pylist())


def test_a_label_stays_in_one_cell_whatever_separates_them():
    """In many countries a spreadsheet takes semicolons for separators: a formula could begin after one."""
    for sign in ",;\t\n\r":
        assert csv_cell(f"x{sign}=1+1") == f'"x{sign}=1+1"'


def test_an_apostrophe_in_front_can_be_taken_away_again():
    """Two labels never become one: leaving out one apostrophe gives the label back."""
    labels = ["=1", "'=1", "''=1", "'1", "1"]
    assert [harmless(label) for label in labels] == ["'=1", "''=1", "'''=1", "'1", "1"]


@pytest.mark.parametrize(
    ("beta", "shown"), [(0.05, "0.95"), (0.0496, "0.9504"), (1e-6, "0.999999"), (1e-12, "0." + "9" * 12)]
)
def test_a_probability_is_never_rounded_up(beta, shown):
    assert confidence_level(beta) == shown


def test_an_estimate_shows_itself(estimate):
    text = str(estimate)
    assert text.splitlines()[0].split() == ["value", "people", "interval"]
    assert text.splitlines()[1].startswith("often ")
    assert text.endswith("95% confidence, all intervals at once.")
    page = read_page(estimate._repr_html_())
    assert {"often", "seldom"} <= set(page.texts)
    assert not {"script", "link", "img", "iframe"} & {tag for tag, _ in page.seen}
    assert "and 1 more value" in estimate.to_text(1).splitlines()


def test_a_guarantee_in_few_digits_is_rounded_up(estimate):
    promise = replace(estimate.guarantee, epsilon=1.23441, delta=1.23441e-7)
    assert "(1.235, 1.235e-7) private" in repr(replace(estimate, guarantee=promise))


def test_an_estimate_is_plotted(estimate):
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    assert estimate.plot(ax=axes) is axes
    assert [text.get_text() for text in axes.get_yticklabels()] == ["often", "seldom"]
    widths = [patch.get_width() for patch in axes.patches]
    assert widths == pytest.approx([estimate["often"], estimate["seldom"]])


def test_odd_labels_export_as_text():
    protocol = Histogram.calibrate(users=2000, bins=2 * math.factorial(1000), epsilon=1, delta=1e-6)
    estimate = protocol.estimate(protocol.sample_tally({(1, 2): 1500, 2**100: 500}))
    assert set(estimate.to_arrow()["label"].to_pylist()) == {"(1, 2)", str(2**100)}
    assert set(estimate.to_polars()["label"].to_list()) == {"(1, 2)", str(2**100)}
    assert json.loads(estimate.to_json())["bins"] is None
    assert json.loads(estimate.to_json())["log2_bins"] == pytest.approx(8530.4, abs=0.1)
    assert estimate[(1, 2)] > 0


def test_an_empty_histogram_exports_too():
    protocol = Histogram.calibrate(users=200, bins=200, epsilon=1, delta=1e-6)
    estimate = run(protocol, np.arange(200))
    assert len(estimate) == 0
    assert estimate.top() == []
    assert json.loads(estimate.to_json())["histogram"] == []
    assert estimate.to_arrow().num_rows == 0
    assert "No value is frequent enough" in str(estimate)
    assert "No value is frequent enough" in estimate._repr_html_()
    assert estimate.to_csv().startswith("label,count,frequency,low,high,low_alone,high_alone,people,epsilon,")


@pytest.mark.parametrize(
    ("library", "method", "extra"),
    [("pyarrow", "to_arrow", "arrow"), ("pandas", "to_pandas", "pandas"), ("polars", "to_polars", "polars")],
)
def test_a_missing_library_names_its_install_command(estimate, monkeypatch, library, method, extra):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=rf"pip install 'shuffledp\[{extra}\]'"):
        getattr(estimate, method)()


def test_a_missing_accountant_names_its_install_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'shuffledp\[pld\]'"):
        Histogram(users=9, bins=2, missing_probability=0.5).privacy.pld()


def test_the_order_of_an_estimate_says_nothing_about_the_order_of_the_data():
    """Which of two people's values came first is not private information that the noise hides: it must not matter."""
    protocol = Histogram.calibrate(users=1000, bins=2**64, epsilon=1, delta=1e-6)
    rng = np.random.default_rng
    one = protocol.estimate(protocol.sample_tally({"flu": 500, "cold": 500}, rng=rng(1)))
    other = protocol.estimate(protocol.sample_tally({"cold": 500, "flu": 500}, rng=rng(2)))
    assert one.labels.tolist() == other.labels.tolist() == ["cold", "flu"]
    mixed = protocol.estimate(protocol.sample_tally({"b": 250, 7: 250, (1, 2): 250, "a": 250}))
    assert mixed.labels.tolist() == [7, "a", "b", (1, 2)]


def test_an_estimate_can_be_iterated_and_searched(estimate):
    assert sorted(estimate) == ["often", "seldom"]
    assert "often" in estimate
    assert "hidden" not in estimate


def test_labels_without_a_domain_must_be_bins():
    protocol = Histogram.calibrate(users=1000, bins=5, epsilon=1, delta=1e-6)
    estimate = protocol.estimate(protocol.sample_tally({0: 1000}))
    assert estimate[4] == 0
    for label in ("dark", 5, -1, None):
        with pytest.raises(DataError, match="must be a bin between 0 and 4"):
            estimate[label]
    ones = BinarySum.calibrate(users=1000, epsilon=1, delta=1e-6)
    with pytest.raises(DataError, match="must be in the domain"):
        ones.estimate(ones.sample_tally(500))[0]


def test_fewer_reports_than_the_guarantee_needs_are_reported():
    protocol = Histogram.calibrate(users=2000, bins=3, epsilon=1, delta=1e-6)
    values = np.repeat([0, 1], [1000, 500])
    for estimate in (
        run(protocol, values),
        protocol.estimate(protocol.tally(protocol.randomize(values)), reports=1500),
    ):
        assert estimate.guarantee.epsilon == pytest.approx(replace(protocol, honest_users=1500).privacy.epsilon(1e-6))
        assert estimate.guarantee.epsilon > 1.1
        assert "fewer people reported than the promised (1, 1e-6) needs" in estimate.explain()
        assert "all 1,500 people" in estimate.explain()
        assert estimate[0] == pytest.approx(1000, abs=40)
    spare = Histogram.calibrate(users=2000, bins=3, epsilon=1, delta=1e-6, honest_users=1200)
    fewest = replace(spare, users=1500, honest_users=700)  # all 500 missing people may be honest
    assert run(spare, values).guarantee.epsilon == pytest.approx(fewest.privacy.epsilon(1e-6))


def test_without_any_privacy_the_explanation_says_so():
    assert "No differential privacy" in Histogram(users=3, bins=4, missing_probability=0.25).describe()


@pytest.mark.parametrize("labels", [[1.5, 2.5], [date(2026, 1, 1), date(2026, 1, 2)]])
def test_plain_labels_keep_their_type_in_tables(labels):
    protocol = Histogram.calibrate(users=2000, bins=2**64, epsilon=1, delta=1e-6)
    estimate = protocol.estimate(protocol.sample_tally(dict.fromkeys(labels, 1000)))
    assert sorted(estimate.to_arrow()["label"].to_pylist()) == labels
    assert sorted(estimate.to_polars()["label"].to_list()) == labels


def test_columns_of_an_empty_table_are_typed():
    protocol = Histogram.calibrate(users=200, bins=200, epsilon=1, delta=1e-6)
    types = run(protocol, np.arange(200)).to_arrow().schema.types
    assert [str(t) for t in types] == ["string", "double", "double", "int64", "int64", "int64", "int64"]


def test_labels_that_are_not_numbers_make_valid_json():
    protocol = Histogram.calibrate(users=2000, bins=2**64, epsilon=1, delta=1e-6)
    text = protocol.estimate(protocol.sample_tally({math.nan: 1000, "x": 1000})).to_json()
    assert "NaN" not in text


def test_top_checks_its_limit(estimate):
    with pytest.raises(ParameterError, match="limit"):
        estimate.top(-1)


def test_values_that_follow_each_other_are_shown_and_written_in_that_order():
    """Months and intervals, whatever their counts; a list of names by size."""
    edges = Edges("0:50:10")
    counts = np.array([0, 500, 3000, 900, 2000, 600, 0])
    protocol = DummyHistogram.calibrate(users=7000, bins=counts.size, epsilon=1, delta=1e-6)
    tally = protocol.sample_tally(counts, rng=np.random.default_rng(0))
    labels = edges.domain.decode(np.arange(counts.size)).tolist()
    ordered = protocol.estimate(tally, domain=edges.domain, reports=7000)
    assert [row.label for row in ordered.rows_to_show()] == ordered.to_columns()["label"] == labels
    assert [row.label for row in ordered.rows_to_show(3)] == [labels[2], labels[3], labels[4]], "the largest, in order"
    assert ordered.top(1)[0].label == labels[2]
    assert ordered.to_text().index(labels[1]) < ordered.to_text().index(labels[2])
    named = protocol.estimate(tally, domain=Domain.of(labels), reports=7000)
    assert [row.label for row in named.rows_to_show(2)] == [labels[2], labels[4]]
