"""Numbers that are taken together to save time only ever raise delta, and rounding only ever costs."""

from fractions import Fraction

import mpmath
import pytest

from shuffledp.accounting import Amplification, amplification


@pytest.mark.slow
@pytest.mark.parametrize("telling", [1.0, 0.25])
def test_wider_blocks_of_copies_never_lower_delta(telling, monkeypatch):
    """The bound for all randomizers keeps its fine blocks where only those of telling messages get wider."""
    settings = {"local_epsilon": 2.0, "users": 3000, "telling": telling, "covered": 1.0 if telling < 1 else 0.0}
    monkeypatch.setattr(amplification, "_BLOCK_WIDTH", 0.0)
    monkeypatch.setattr(amplification, "_THINNED_BLOCKS", (400, 400))
    fine = [Amplification(**settings).delta(epsilon) for epsilon in (0.02, 0.1)]
    if telling == 1:
        monkeypatch.setattr(amplification, "_MOST_BLOCKS", 12)
    monkeypatch.setattr(amplification, "_THINNED_BLOCKS", (12, 12))
    coarse = [Amplification(**settings).delta(epsilon) for epsilon in (0.02, 0.1)]
    assert all(wide > narrow for wide, narrow in zip(coarse, fine, strict=True))


@pytest.mark.parametrize("local_epsilon", [0.3, 1.0, 2.7, 6.1])
def test_copies_are_never_more_than_there_are(local_epsilon, monkeypatch):
    """Everyone else sends a copy with probability 2 / (e^epsilon0 + 1), and what is computed with is not above."""
    used = []
    plain = amplification.blocks
    monkeypatch.setattr(amplification, "blocks", lambda *given, **more: used.append(given[1]) or plain(*given, **more))
    Amplification(local_epsilon=local_epsilon, users=50).delta(0.1)
    with mpmath.workdps(40):
        exact = 2 / (mpmath.exp(mpmath.mpf(local_epsilon)) + 1)
        assert exact * (1 - mpmath.mpf("1e-12")) <= mpmath.mpf(used[0]) <= exact
    assert Fraction(used[0]) * 2**53 == int(Fraction(used[0]) * 2**53)


@pytest.mark.parametrize("users", [1, 2, 30])
def test_the_amplified_bounds_leave_room_for_rounding(users):
    """Without blocks, what separates the bounds is the margin of fair coins on either side."""
    low, high = Amplification(local_epsilon=1.5, users=users).delta_of_bound(0.4)
    assert 1e-10 < high / low - 1 < 1e-7
