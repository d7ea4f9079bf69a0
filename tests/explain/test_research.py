"""Research results as text: the notes match docs/reference."""

from pathlib import Path

import pytest
from experiments import table2_figure

from shuffledp.explain.research import legend, markdown_section, notes
from shuffledp.paper import separate
from shuffledp.paper.separation import Approach, Cell, Separation

GUARANTEE = {"epsilon": 1, "delta": 1e-6}


@pytest.mark.slow
def test_notes_name_every_row_that_is_missing_and_the_halves_of_the_theorem():
    lines = notes(separate("support", sizes=(2, 4), seed=1, epsilon=3, delta=1e-6, local=False))
    missing = {line.split(":")[0]: line for line in lines if line.startswith("shuffled, paper")}
    assert set(missing) == {"shuffled, paper's proof", "shuffled, paper's noise"}
    halves = "for (3, 1e-06) in total the theorem is used with half of it, (1.5, 5e-07)"
    assert halves in missing["shuffled, paper's proof"]
    assert "epsilon=3 is above 2, where Theorem 3.2 does not hold" in missing["shuffled, paper's noise"]
    assert any("h max(1, log h)" in line for line in lines)


def test_notes_count_trials_only_if_there_were_some():
    column = Approach(name="local", model="local", how="measured", title="local")
    for trials, said in ((None, False), (500, True)):
        cell = Cell(users=trials, trials=trials, problem="" if trials else "no")
        result = Separation(problem="support", size_name="h", sizes=(2,), confidence=0.99, columns=(column,),
                            cells=((cell,),), **GUARANTEE)  # fmt: skip
        assert any("trials" in line for line in notes(result)) == said


REFERENCE = Path(__file__).parent.parent.parent / "docs" / "reference"


def test_the_notes_of_table_1_match_the_page():
    text = "; ".join(legend(beta=0.05, trials=10, data="zipf"))
    assert f"\n{text}.\n" in (REFERENCE / "table1.md").read_text()


def test_the_sections_of_table_2_match_the_page():
    page = (REFERENCE / "table2.md").read_text()
    for result in table2_figure.kept()[: table2_figure.DRAWN]:
        *_, text = markdown_section(result).splitlines()
        for line in text.split(". "):  # the kept numbers do not have the numbers of trials
            assert line in page or line.replace("All numbers", "All other numbers") in page
