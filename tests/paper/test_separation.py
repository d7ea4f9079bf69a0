"""The separation of the models, for growing sizes of a problem."""

import pytest

from shuffledp import DataError, ParameterError
from shuffledp.paper import separate
from tests.oracles.item_finders import GUARANTEE


@pytest.mark.slow
def test_the_local_curve_grows_and_the_shuffled_ones_do_not():
    result = separate("pointer-chasing", sizes=(4, 24), seed=1, **GUARANTEE)
    small, large = result.column("local")
    assert large.too_few > 3 * small.users
    for name in ("claim", "paper", "exact", "sparse", "central"):
        users = {cell.users for cell in result.column(name)}
        assert len(users) == 1
    (central,), (sparse,), (exact,), (paper,) = (
        {cell.users for cell in result.column(name)} for name in ("central", "sparse", "exact", "paper")
    )
    assert central < sparse < exact < paper


@pytest.mark.slow
def test_what_cannot_be_had_says_why():
    result = separate("support", sizes=(2,), seed=1, epsilon=3, delta=1e-6, local=False)
    (paper,) = result.column("paper")
    assert paper.users is None
    assert "above 2, where Theorem 3.2 does not hold" in paper.problem
    assert result.column("exact")[0].users < 100
    (bound,) = separate("pointer-jumping", sizes=(2,), seed=1, branching=5, local=False, **GUARANTEE).column(
        "local-bound"
    )
    assert "h^4" in bound.problem


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (lambda: separate("support", seed=1, branching=3, **GUARANTEE), "branching is no option of support"),
        (lambda: separate("bernoulli", seed=1, bins=3, **GUARANTEE), "bins is no option of bernoulli"),
        (lambda: separate("support", seed=1, sizes=3, **GUARANTEE), "sizes must be a list"),
        (lambda: separate(["support"], seed=1, **GUARANTEE), "problem must be one of"),
        (lambda: separate("pointer-jumping", seed=1, sizes=(2,), branching=0, **GUARANTEE), "at least 1"),
        (lambda: separate("go", seed=1, **GUARANTEE), "problem must be one of"),
        (lambda: separate("support", sizes=(), seed=1, **GUARANTEE), "at least one value"),
    ],
)  # fmt: skip
def test_bad_parameters(wrong, reason):
    with pytest.raises((ParameterError, DataError), match=reason):
        wrong()
