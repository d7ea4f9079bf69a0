"""How to read a separation, in words."""

import pytest

from shuffledp.explain.research import notes
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
