"""The experiments of README and docs, with tiny parameters: they write the published files."""

import math
import re
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest
from benchmarks import hashed
from experiments import (
    documents,
    free_text,
    gap,
    report_figure,
    report_sizes,
    sample_threshold,
    table1,
    table1_figures,
    table2,
    table2_figure,
    trade_off,
    unknown_strings,
)
from experiments.sample_threshold import Mechanism

from shuffledp.collect.client.making import new_report
from shuffledp.errors import DataError
from shuffledp.explain.research import people
from shuffledp.protocols import CATALOGUE
from shuffledp.protocols.free_text import TextChoices
from shuffledp.release.compare import Measurement

ROOT = Path(__file__).parent.parent
README = "# Title\n\nA sentence about `<!-- table1 -->`.\n\n<!-- table1 -->\nold\n<!-- /table1 -->\n\nThe end.\n"


@pytest.fixture
def root(tmp_path):
    """A repository with the folders and markers that the experiments write to."""
    (tmp_path / "docs" / "figures").mkdir(parents=True)
    (tmp_path / "docs" / "reference").mkdir()
    (tmp_path / "README.md").write_text(README)
    (tmp_path / "docs" / "comparison.md").write_text("no markers")
    return tmp_path


@pytest.mark.slow
def test_table_1_is_written(root):
    table1.main(root, people=2000, table_bins=(10, 100), short_bins=(10, 100), table_trials=2, figure_bins=(10, 2**70),
                figure_people=(1000, 2000), figure_trials=2, protocols=["laplace", "hist", "dummy"])  # fmt: skip
    page = (root / "docs" / "reference" / "table1.md").read_text()
    assert page.startswith("# Every protocol for epsilon 1, delta 1e-6\n")
    assert "### 2,000 people, 100 values" in page
    readme = (root / "README.md").read_text()
    assert readme.startswith(README.split("old")[0])
    assert readme.endswith("\n<!-- /table1 -->\n\nThe end.\n")
    head, rule, *rows = readme.split("\n<!-- table1 -->\n")[1].split("<!-- /table1 -->")[0].splitlines()
    assert head == "| model | protocol | d = 10 | d = 100 | shows values nobody holds |"
    assert rule == "|---|---|---|---|---|"
    assert [row.split(" | ")[1] for row in rows] == [CATALOGUE[name].title for name in ("dummy", "hist", "laplace")]
    assert re.search(r"\| \d+ \([\d.]+\) \| \d+ \([\d.]+\) \| yes \|$", rows[0])
    (error,) = re.findall(r"2,000 people, 10 values.*?\| DummyHistogram \| ([\d.]+)", page, flags=re.DOTALL)
    shown = rows[0].split(" | ")[2].split(" (")[0]
    assert abs(float(shown) - float(error)) <= 0.55  # from the same run, each rounded
    for name in ("error-against-values.svg", "error-against-people.svg"):
        assert "<svg" in (root / "docs" / "figures" / name).read_text()
    assert (root / "docs" / "comparison.md").read_text() == "no markers"


@pytest.mark.slow
def test_figures_of_table_1_are_drawn_from_stored_measurements(root):
    for name in table1_figures.FIGURES:
        kept = table1_figures.kept(table1_figures.data_file(name))
        assert {result.name for result in kept} == set(CATALOGUE)
        table1_figures.keep(kept, table1_figures.data_file(name, root))
        again = table1_figures.kept(table1_figures.data_file(name, root))
        assert list(map(repr, again)) == list(map(repr, kept))
    table1_figures.main(root)
    for name in table1_figures.FIGURES:
        drawn = (root / "docs" / "figures" / f"{name}.svg").read_bytes()
        assert len(drawn) < 200_000
    with pytest.raises(DataError, match="run make table1 first"):
        table1_figures.kept(root / "nowhere.json")


def test_the_figure_of_table_2_shows_the_numbers_of_its_page():
    page = (ROOT / "docs" / "reference" / "table2.md").read_text()
    for result in table2_figure.kept()[: table2_figure.DRAWN]:
        for column, cells in zip(result.columns, result.cells, strict=True):
            if column.how != "bound":
                row = " | ".join(people(cell) for cell in cells)
                assert f"| {column.title} | {row} |" in page
    with pytest.raises(DataError, match="run make table2 first"):
        table2_figure.kept(ROOT / "tests")


def measurement(name, bins, **more):
    return Measurement(name=name, title="", model=CATALOGUE[name].model, users=10, bins=bins, **more)


def test_cells_of_the_short_table():
    results = [
        measurement(name, bins, mean=1749.4, messages=messages)
        for bins in table1.SHORT_BINS
        for name, messages in (("hist", 10_001.2), ("sparse", 1.0449), ("stability", 1.0))
    ] + [measurement("shuffled-response", bins, problem="too few") for bins in table1.SHORT_BINS]
    lines = {line.split(" | ")[1]: line.split(" | ")[2] for line in table1.short_table(results).splitlines()[2:]}
    assert lines == {
        CATALOGUE["sparse"].title: "1,749 (1.04)",
        CATALOGUE["hist"].title: "1,749 (10,001)",
        CATALOGUE["shuffled-response"].title: "not possible",
        CATALOGUE["stability"].title: "1,749",
    }


def test_the_rows_of_the_short_table_exist():
    assert set(table1.SHORT_ROWS) <= set(CATALOGUE)


def test_without_markers_nothing_is_measured(root):
    (root / "README.md").write_text("a line that names <!-- table1 --> and <!-- /table1 --> is no marker")
    with pytest.raises(DataError, match="no document"):
        table1.main(root)
    with pytest.raises(DataError, match="has no markers"):
        documents.rewrite(root / "README.md", "table1", "text")


@pytest.mark.slow
def test_table_2_is_written(root):
    runs = (
        ("pointer-jumping", {"epsilon": 1, "sizes": (2,), "local": False}),
        ("bernoulli", {"epsilon": 1, "sizes": (0.2,)}),
    )
    table2.main(root, runs=runs)
    page = (root / "docs" / "reference" / "table2.md").read_text()
    assert "## Pointer jumping, epsilon 1" in page
    assert "| shuffled, exact | 163 |" in page
    assert (root / "docs" / "figures" / "table2.png").stat().st_size > 10_000


@pytest.mark.slow
def test_figures_are_written(root):
    figures = root / "docs" / "figures"
    gap.main(figures / "gap.png", gap_users=(2, 3), removal_users=(1, 2), restarts=0)
    trade_off.main(figures / "trade-off.png", users=10**4, bins=100, epsilon=1.0)
    report_figure.main(figures / "report.png", people=5000)
    report_sizes.main(figures / "report-sizes.svg", users=10**4, answers=(100, 1000), dummies=(1, 4))
    written = {"gap.png", "trade-off.png", "report.png", "report-sizes.svg"}
    assert {path.name for path in figures.iterdir()} == written
    assert all(path.stat().st_size > 10_000 for path in figures.iterdir())


SCREENSHOTS = ("survey-page.png", "console.png")
"""Drawn by scripts/screenshots.py."""


def test_every_figure_of_the_documents_has_an_experiment():
    """By default, the experiments write the figures that README and docs show."""
    written = {gap.PATH, trade_off.PATH, report_figure.PATH, report_sizes.PATH} | {
        ROOT / "docs" / "figures" / name
        for name in ("error-against-values.svg", "error-against-people.svg", "table2.png", *SCREENSHOTS)
    }
    shown = {
        (document.parent / link).resolve()
        for document in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))
        for link in re.findall(r"!\[[^]]*\]\(([^)]+)\)", document.read_text())
    }
    assert shown == {path.resolve() for path in written}


def test_every_experiment_has_a_make_target():
    makefile = (ROOT / "Makefile").read_text()
    modules = {path.stem for path in (ROOT / "experiments").glob("*.py")} - {"__init__", "documents"}
    assert len(modules) >= 11
    for module in modules:
        target = module.replace("_", "-")
        assert re.search(rf"^{target}:.*\n\t\$\(BIN\)/python -m experiments\.{module}$", makefile, flags=re.MULTILINE)


def published(rate, threshold, people):
    """The exact distribution of what is published of one string, by all possible sets of participants."""
    found = {}
    for taking_part in product((0, 1), repeat=people):
        number = sum(taking_part)
        chance = rate**number * (1 - rate) ** (people - number)
        result = number if number >= threshold else None
        found[result] = found.get(result, 0) + chance
    return found


def exact_delta(losing, gaining, other_losing, other_gaining, ratio):
    """The hockey-stick divergence of two independent results, in fractions."""
    return sum(
        max(
            losing.get(one, 0) * gaining.get(two, 0) - ratio * other_losing.get(one, 0) * other_gaining.get(two, 0),
            0,
        )
        for one in losing
        for two in other_gaining
    )


@pytest.mark.parametrize(("rate", "threshold"), [(Fraction(1, 3), 2), (Fraction(3, 5), 3)])
def test_the_privacy_of_sample_and_threshold_is_that_of_all_sets_of_participants(rate, threshold):
    most, ratio = 4, Fraction(5, 4)
    rows = [published(rate, threshold, people) for people in range(most + 1)]
    replaced = max(
        exact_delta(rows[a], rows[b - 1], rows[a - 1], rows[b], ratio)
        for a in range(1, most + 1)
        for b in range(1, most + 1)
    )
    nobody = {None: 1}
    added = max(
        exact_delta(one, nobody, other, nobody, ratio)
        for a in range(1, most + 1)
        for one, other in ((rows[a], rows[a - 1]), (rows[a - 1], rows[a]))
    )
    made = Mechanism(float(rate), threshold)
    epsilon = math.log(ratio)
    assert made.delta_replaced(epsilon, most=most) == pytest.approx(float(replaced), rel=1e-12)
    assert made.delta_added(epsilon, most=most) == pytest.approx(float(added), rel=1e-12)
    assert replaced > added > 0  # a test of replacing that forgets one of both strings would give the second


@pytest.mark.slow
def test_the_published_parameters_of_sample_and_threshold():
    made = sample_threshold.least_threshold(0.316, 1.0, 1e-6, most=100)
    assert made == Mechanism(0.316, 18)
    delta, losing, gaining = made.worst_replaced(1.0, most=100)
    assert (round(delta, 9), losing, gaining - 1) == (9.82e-7, 24, 53)
    assert made.detection_limit(0.05) == 77
    closed = sample_threshold.closed_form(0.5, 0.5e-6)
    assert closed.detection_limit(0.05) == 330
    assert closed.delta_added(0.5) <= 0.5e-6  # the closed form is an upper bound
    page = sample_threshold.PATH.read_text()
    assert sample_threshold._row("exact", made) in page


@pytest.mark.slow
def test_the_tables_of_unknown_strings_are_those_of_the_pages():
    limits, compared = unknown_strings.LIMITS.read_text(), unknown_strings.COMPARED.read_text()
    for row in (*unknown_strings.limit_rows((10**5,), (8,)), *unknown_strings.batch_rows(batches=(1, 4))):
        assert row in limits
    for row in unknown_strings.sdpfe_rows():
        assert row in compared


def test_noise_and_sizes_of_other_systems():
    from dp_accounting import dp_event
    from dp_accounting.pld import PLDAccountant

    noise = unknown_strings.gaussian_noise(1.0, 1e-6)
    delta = PLDAccountant().compose(dp_event.GaussianDpEvent(noise)).get_delta(1.0)
    assert delta == pytest.approx(1e-6, rel=0.01)
    assert unknown_strings.poplar_bytes(256) == 16_688


@pytest.mark.parametrize("name", ["hashed, c = 4", "dummy-poisson", "sparse"])
def test_the_bytes_of_the_benchmark_are_those_of_reports(name):
    users, answers = 1000, 50
    (size,) = (size for size in hashed.sizes(users, answers) if size.name == name)
    task = hashed.task_of(size, users, answers)
    assert task.protocol.bins == answers
    assert size.bytes == task.report_length(size.messages)
    report = new_report(task, 7)
    assert len(report) == size.bytes if task.padded else len(report) <= task.longest_report


@pytest.mark.slow
def test_the_benchmark_of_hashed_reports():
    page = (ROOT / "docs" / "reference" / "benchmarks.md").read_text()
    rows = (*hashed.size_rows(), *hashed.dummies_rows(), *hashed.growth_rows(((10**6, 10**4),)))
    for row in rows:
        assert "| " + " | ".join(str(cell) for cell in row) + " |" in page
    users, answers = 2000, 300
    for size in hashed.sizes(users, answers, dummies=(4,)):
        cost = hashed.decode(size.protocol, users)
        expected = size.protocol.messages_per_user.expected * users
        assert abs(cost.messages - expected) < 8 * math.sqrt(8 * expected)
        assert cost.seconds > 0


@pytest.mark.slow
def test_results_of_free_text_are_written(root):
    shares = {"abc": 0.6, "de": 0.3, "toolong": 0.1}
    choices = TextChoices(longest=4, alphabet="letters", width=1)
    free_text.main(
        root, collections={"three texts": lambda: shares}, runs=((2000, 2),), growth=((2000, choices),), choices=choices
    )
    page = (root / "docs" / "reference" / "free-text-results.md").read_text()
    assert page.startswith("# Free text, measured\n")
    (cells,) = (line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| three texts"))
    assert cells[1:3] == ["2,000", "2"]
    assert cells[4:9] == ["4", "100.00%", "2.0", "0", "2 of 2"]
    assert re.search(r"^\| 2,000 \| 4 \| 26 \| \d+ \| \d+ \| [\d.]+ \| \d+ \|$", page, flags=re.MULTILINE)
