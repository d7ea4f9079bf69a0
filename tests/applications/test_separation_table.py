"""A separation in words, and Table 2."""

from shuffledp.applications import (
    separate,
)
from shuffledp.applications.separation import Approach, Cell, Separation
from shuffledp.cli.separate import notes
from shuffledp.report import table2
from tests.oracles.item_finders import GUARANTEE


def test_notes_name_every_row_that_is_missing_and_the_halves_of_the_theorem():
    lines = notes(separate("support", sizes=(2, 4), seed=1, epsilon=3, delta=1e-6, local=False))
    missing = [line for line in lines if "in total" in line]
    assert [line.split(":")[0] for line in missing] == ["shuffled, paper's proof", "shuffled, paper's noise"]
    assert all("for (3, 1e-06) in total the theorem is used with half of it, (1.5, 5e-07)" in line for line in missing)
    assert any("h max(1, log h)" in line for line in lines)


def test_notes_count_trials_only_if_there_were_some():
    column = Approach(name="local", model="local", how="measured", title="local")
    for trials, said in ((None, False), (500, True)):
        cell = Cell(users=trials, trials=trials, problem="" if trials else "no")
        result = Separation(problem="support", size_name="h", sizes=(2,), confidence=0.99, columns=(column,),
                            cells=((cell,),), **GUARANTEE)  # fmt: skip
        assert any("trials" in line for line in notes(result)) == said


def test_table_2_is_written(tmp_path, monkeypatch):
    (tmp_path / "figures").mkdir()
    runs = (
        ("pointer-jumping", {"epsilon": 1, "sizes": (2,), "local": False}),
        ("bernoulli", {"epsilon": 1, "sizes": (0.2,)}),
    )
    monkeypatch.setattr(table2, "RUNS", runs)
    table2.main(tmp_path)
    page = (tmp_path / "table2.md").read_text()
    assert "## Pointer jumping, epsilon 1" in page
    assert "| shuffled, exact | 163 |" in page
    assert (tmp_path / "figures" / "table2.png").stat().st_size > 10_000
