"""Histograms of two columns: a heat map in the page, and a table on the terminal."""

import re
from dataclasses import replace

import numpy as np
import pytest

from shuffledp import Domain, Edges, SparseHistogram, private_histogram
from shuffledp.cli.release_output import show_two_way, two_way
from shuffledp.explain.heat_map import can_be_mapped, heat_map
from shuffledp.explain.page import page
from shuffledp.histogram.cross_table import cross_table, margin
from shuffledp.histogram.labels import Absent
from tests.explain.cases import CASES

PAIRS = Domain.product([Domain.of(["DE", "<b>FR</b>", None]), Edges("18,65").domain])
COUNTS = [2000, 1500, 0, 1000, 1200, 900, 0, 400, 0]


def pairs_of(domain=PAIRS, counts=COUNTS):
    protocol = SparseHistogram.calibrate(users=sum(counts), bins=domain.size, epsilon=1, delta=1e-6)
    return protocol, protocol.estimate(protocol.sample_tally(counts, rng=np.random.default_rng(3)), domain=domain)


@pytest.fixture(scope="module")
def release():
    protocol, estimate = pairs_of()
    return replace(CASES["one value"](), estimate=estimate, protocol=protocol, column="country x age")


def cells(html):
    """Return the numbers of the table, row by row."""
    body = html.split("<tbody>")[1]
    return [re.findall(r"<td[^>]*>([^<]*)<", row) for row in body.split("</tr>") if "<td" in row]


def test_the_table_has_every_pair_in_its_row_and_column_and_sums(release):
    estimate = release.estimate
    found = cells(heat_map(estimate, column="x"))
    assert len(found) == 4
    for row, country in zip(found, ["DE", "<b>FR</b>", None], strict=False):
        for cell, age in zip(row, Edges("18,65").domain.decode(np.arange(3)).tolist(), strict=False):
            assert cell == (f"{round(estimate[(country, age)]):,}" if (country, age) in estimate else "-")
    total = sum(estimate[("DE", age)] for age in Edges("18,65").domain.decode(np.arange(3)).tolist())
    assert found[0][-1] == f"{round(total):,}"
    assert found[2].count("-") == 2
    assert found[3][-1] == f"{round(estimate.counts.sum()):,}"


def test_labels_are_escaped_and_hidden_pairs_are_explained(release):
    html = heat_map(release.estimate, column="<i>")
    assert "<b>" not in html
    assert "&lt;b&gt;FR&lt;/b&gt;" in html
    assert "A pair with a dash is not shown: at most" in html
    assert "(missing)" in html
    assert "7,000 people took part." in html
    for total in (*margin(release.estimate, 0), *margin(release.estimate, 1), cross_table(release.estimate).total):
        assert f"{round(total.count):,}<small>{total.low:,} to {total.high:,}</small>" in html


@pytest.mark.slow
def test_the_page_shows_it_where_labels_are_pairs_and_only_there(release):
    assert '<table class="heat-map">' in page(release)
    assert '<table class="heat-map">' not in page(CASES["two values"]())
    assert not can_be_mapped(replace(release.estimate, values_per_person=2))
    assert not can_be_mapped(CASES["no value"]().estimate)


def test_large_tables_keep_the_rows_and_columns_with_most_people():
    domain = Domain.product([Domain.range(30), Domain.range(20)])
    counts = np.zeros((30, 20), dtype=np.int64)
    counts[5:] = 100
    counts[:, 15:] = 0
    _, estimate = pairs_of(domain, counts.ravel())
    html = heat_map(estimate, column="x")
    found = cells(html)
    assert len(found) == 26
    assert {len(row) for row in found} == {13}
    assert "The table shows at most 25 rows and 12 columns: those with the most people." in html
    assert two_way(estimate, column="x") is None


def test_a_table_on_the_terminal(release):
    table = two_way(release.estimate, column="country x age")
    names = [str(column.header) for column in table.columns]
    assert names == ["country x age", "below 18", "18 to below 65", "65 and above", "total", "95% interval"]
    assert table.row_count == 5
    assert list(table.columns[1].cells)[0] == f"{round(release.estimate[('DE', 'below 18')]):,}"  # noqa: RUF015
    total, ends = list(table.columns[-2].cells)[-2:]
    assert total == f"{round(release.estimate.counts.sum()):,}"
    assert " ".join(ends.split()) == f"{cross_table(release.estimate).total.low:,} to 7,000"
    country = margin(release.estimate, 0)[0]
    assert next(iter(table.columns[-1].cells)) == f"{country.low:,} to {country.high:,}"
    assert f"-: not shown, at most {release.estimate.simultaneous.unreported_high} people" in table.caption


@pytest.mark.slow
def test_people_without_a_pair_are_not_in_the_total():
    rows = [{"sex": "fm"[at % 2], "age": at % 70, "x": at % 3} for at in range(6000)]
    estimate = private_histogram(rows, column=["sex", "age"], where="x > 0", epsilon=1, delta=1e-6).estimate
    gone = estimate[Absent(most=0)]
    assert gone > 1000
    assert cross_table(estimate).total.count == pytest.approx(estimate.counts.sum() - gone)
    everything, part = (cross_table(estimate, most_rows=most).total for most in (2, 1))
    assert everything == part


@pytest.mark.parametrize(("columns", "shown"), [("200", True), ("60", False)])
def test_a_table_without_room_is_replaced_by_a_note(release, columns, shown, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", columns)
    show_two_way(release.estimate, column="country x age")
    out = " ".join(capsys.readouterr().out.split())
    assert ("65 and above" in out) == shown
    assert ("needs a terminal of" in out and "--out FILE.html" in out) != shown


def test_a_table_that_is_too_large_and_a_histogram_of_one_column(capsys):
    _, estimate = pairs_of(Domain.product([Domain.range(30), Domain.range(20)]), [100] * 600)
    show_two_way(estimate, column="x")
    assert "too large for a terminal: --out FILE.html" in " ".join(capsys.readouterr().out.split())
    show_two_way(CASES["two values"]().estimate, column="x")
    assert capsys.readouterr().out == ""


def test_a_narrow_screen_has_a_note_that_the_table_scrolls(release):
    html = page(release)
    assert '<p class="sideways">The table has 3 columns and a total: it scrolls sideways.</p>' in html
    assert "@media screen and (max-width: 600px) { .shuffledp .sideways { display: block; } }" in html
    _, small = pairs_of(Domain.product([Domain.range(2), Domain.range(2)]), [900] * 4)
    assert "sideways" not in heat_map(small, column="x")
