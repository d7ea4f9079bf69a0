"""Faults that `verify` once let pass, planted one at a time: the statements that should notice them do.

Each is a fault in the code that people run, or in how noise is chosen; nothing else is changed. Statements that draw
hold on the unchanged code but for one run in a million (tests/verification/test_statements.py runs all of them).
"""

from dataclasses import replace

import numpy as np
import pytest

from shuffledp.accounting.amplification import Amplification
from shuffledp.noise import coins
from shuffledp.protocols import (
    AmplifiedOracle,
    BinarySum,
    BlanketHistogram,
    BlanketSum,
    DummyHistogram,
    Histogram,
    LocalHashing,
    PublicCoinHistogram,
    RealSum,
    SparseHistogram,
)
from shuffledp.protocols.base import BaseHistogram
from shuffledp.protocols.shuffled import amplified
from shuffledp.verification.drawn import shuffled_specimens, specimens, sum_specimens
from shuffledp.verification.statements import (
    calibrations,
    central_releases,
    curves,
    noise_laws,
    randomizers,
    readings,
    shuffling,
)
from shuffledp.verification.statements.by_name import check


@pytest.fixture(autouse=True)
def _fewer_draws(monkeypatch):
    """Enough for faults as coarse as these."""
    monkeypatch.setattr(randomizers, "ONE_PERSON", 300)
    monkeypatch.setattr(randomizers, "FEW_PEOPLE", 150)
    monkeypatch.setattr(randomizers, "CROWD", 5000)


def failed(verdicts):
    return {verdict.statement for verdict in verdicts if not verdict.holds}


def drawn_from_a_fixed_seed(monkeypatch, kind):
    true_draw = kind._draw
    monkeypatch.setattr(kind, "_draw", lambda self, truth, rng: true_draw(self, truth, np.random.default_rng(1)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kind"), [("hist", Histogram), ("dummy", DummyHistogram), ("sparse", SparseHistogram)]
)
def test_noise_from_a_fixed_seed_is_noticed(name, kind, monkeypatch):
    drawn_from_a_fixed_seed(monkeypatch, kind)
    assert f"{kind.__name__}, tally that is drawn" in failed(randomizers.of_specimen(name))


def for_one_person(monkeypatch, kind, faulty):
    """A fault in the calls for one person only: the deployed ones."""
    true_send = kind._send

    def send(self, people, rng):
        return faulty(self, people, true_send(self, people, rng)) if people.size == 1 else true_send(self, people, rng)

    monkeypatch.setattr(kind, "_send", send)


def test_one_person_who_never_flips_is_noticed(monkeypatch):
    for_one_person(monkeypatch, BlanketSum, lambda self, bits, sent: bits.astype(np.uint8))
    assert failed(randomizers.of_specimen("blanket-sum")) == {"BlanketSum, messages"}


def test_one_person_without_a_dummy_for_their_value_is_noticed(monkeypatch):
    def without(self, people, sent):
        return np.concatenate([sent[:1], sent[1:][sent[1:] != people[0]]])

    for_one_person(monkeypatch, DummyHistogram, without)
    assert failed(randomizers.of_specimen("dummy")) == {"DummyHistogram, messages"}


@pytest.mark.slow
@pytest.mark.parametrize("factor", [0.49, 1.69], ids=["too small", "too large"])
@pytest.mark.parametrize(
    ("make", "noise"),
    [
        (shuffled_specimens.histogram, "missing_probability"),
        (sum_specimens.blanket_sum, "flip_probability"),
    ],
)
def test_noise_30_percent_off_is_noticed(make, noise, factor, monkeypatch):
    """As a standard deviation, on either side, for one person at a time and in a crowd.

    With 1500 calls a chance is off by at least 11 standard deviations, so that chance hides it less than once in 10^6.
    """
    monkeypatch.setattr(randomizers, "ONE_PERSON", 1500)
    monkeypatch.setattr(randomizers, "FEW_PEOPLE", 50)
    specimen = make()
    chance = round(2**20 * 0.25 * factor) / 2**20
    faulty = replace(specimen, protocol=replace(specimen.protocol, **{noise: chance}))
    monkeypatch.setitem(specimens.SPECIMENS, "hist", lambda: faulty)
    parts = {statement.split(", ")[1] for statement in failed(randomizers.of_specimen("hist"))}
    assert {"messages", "crowd"} <= parts


def for_another_target(monkeypatch, kind, **changes):
    """A calibration that aims at something else than it was asked for."""
    true_for_target = kind.for_target.__func__

    def for_target(cls, target, **choices):
        other = replace(target, **{name: change(target) for name, change in changes.items()})
        made = true_for_target(cls, other, **choices)
        return replace(made, honest_users=target.honest, guarantee=target.promise("as asked"))

    monkeypatch.setattr(kind, "for_target", classmethod(for_target))


CALIBRATED = {
    "zsum": BinarySum,
    "hist": Histogram,
    "blanket": BlanketHistogram,
    "blanket-sum": BlanketSum,
    "public-coin": PublicCoinHistogram,
    "dummy": DummyHistogram,
    "sparse": SparseHistogram,
    "shuffled-response": AmplifiedOracle,
}
SUMS = {"zsum": calibrations.binary_sum, "blanket-sum": calibrations.blanket_sum}


def promises(name):
    return list(SUMS[name]() if name in SUMS else calibrations.of_entry(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", CALIBRATED)
def test_a_calibration_with_twice_the_delta_is_noticed(name, monkeypatch):
    for_another_target(monkeypatch, CALIBRATED[name], delta=lambda target: 2 * target.delta)
    assert failed(promises(name))


@pytest.mark.parametrize("name", CALIBRATED)
def test_a_calibration_that_counts_on_everybody_is_noticed(name, monkeypatch):
    for_another_target(monkeypatch, CALIBRATED[name], honest_users=lambda target: target.users)
    assert failed(promises(name))


@pytest.mark.parametrize("name", ["zsum", "hist", "blanket-sum", "dummy"])
def test_an_epsilon_that_is_a_thousandth_too_large_is_noticed(name, monkeypatch):
    for_another_target(monkeypatch, CALIBRATED[name], epsilon=lambda target: 1.001 * target.epsilon)
    assert failed(promises(name))


def test_shares_that_count_on_everybody_are_noticed(monkeypatch):
    monkeypatch.setattr(RealSum, "_honest", property(lambda self: self.users))
    assert "RealSum, shares" in failed(calibrations.real_sum())


def test_a_bound_without_what_shares_tell_is_noticed(monkeypatch):
    from shuffledp.accounting.split_and_mix_curve import SplitAndMixCurve

    monkeypatch.setattr(SplitAndMixCurve, "delta", lambda self, epsilon: 2.0**-self.security_bits)
    assert "RealSum, bound" in failed(calibrations.real_sum())


@pytest.fixture
def nothing_kept():
    """Protocols that were made with a fault are not kept for other tests, nor those without one for this."""
    amplified._best.cache_clear()
    yield
    amplified._best.cache_clear()


@pytest.mark.usefixtures("nothing_kept")
def test_too_few_telling_messages_are_noticed(monkeypatch):
    telling = LocalHashing.telling.fget
    monkeypatch.setattr(LocalHashing, "telling", property(lambda self: 0.5 * telling(self)))
    assert failed(calibrations.of_entry("shuffled-hashing"))


@pytest.mark.slow
def test_blocks_on_the_wrong_side_are_noticed(monkeypatch):
    from shuffledp.accounting import blanket_curve

    true_blocks = blanket_curve.blocks

    def last_ones(*args, **options):
        _, last, mass = true_blocks(*args, **options)
        return last, last, mass

    monkeypatch.setattr(blanket_curve, "blocks", last_ones)
    assert "BlanketSum, bound with blocks" in failed(curves.accounting())


@pytest.mark.slow
def test_a_margin_on_the_wrong_side_is_noticed(monkeypatch):
    from shuffledp.accounting import loss

    monkeypatch.setattr(loss, "PRIVACY_LOSS", -loss.PRIVACY_LOSS)
    from shuffledp.accounting.curve import _shift_loss

    _shift_loss.cache_clear()
    assert "Histogram, curve where it is closest" in failed(curves.accounting())
    _shift_loss.cache_clear()


def test_a_short_key_is_noticed(monkeypatch):
    from shuffledp import randomness

    true_bits = randomness.secrets.randbits
    monkeypatch.setattr(randomness.secrets, "randbits", lambda bits: true_bits(40))
    assert "fresh generator, bits of its key" in failed(shuffling.randomness())


def test_digits_that_are_dropped_are_noticed(monkeypatch):
    monkeypatch.setattr(coins, "GRID_BITS", 33)
    assert "one coin, every digit" in failed(noise_laws.noise())


def test_a_shuffle_inside_groups_is_noticed(monkeypatch):
    true_shuffle = shuffling.shuffle

    def in_groups(messages, *, rng=None):
        if isinstance(messages, np.ndarray):
            return true_shuffle(messages, rng=rng)
        groups = [messages[start : start + 20] for start in range(0, len(messages), 20)]
        return np.concatenate([true_shuffle(group, rng=rng) for group in groups])

    monkeypatch.setattr(shuffling, "_RUNS", 500)
    monkeypatch.setattr(shuffling, "shuffle", in_groups)
    assert failed(shuffling.shuffler()) == {"shuffler, who stays in front"}


def test_a_release_without_noise_in_one_bin_is_noticed(monkeypatch):
    from shuffledp.protocols.central import LaplaceHistogram

    true_draw = LaplaceHistogram._draw

    def half(self, truth, rng):
        drawn = true_draw(self, truth, rng)
        return replace(drawn, counts=np.append(drawn.counts[:-1], truth.counts[-1]))

    monkeypatch.setattr(LaplaceHistogram, "_draw", half)
    assert failed(central_releases.of_name("laplace")) == {"LaplaceHistogram, release"}


def test_intervals_and_estimates_that_are_off_are_noticed(monkeypatch):
    from shuffledp.reading.noisy_counts import UnbiasedCounts

    true_point = UnbiasedCounts.point
    monkeypatch.setattr(UnbiasedCounts, "point", lambda self, evidence: true_point(self, evidence) + 3)
    assert failed(readings.of_specimen("dummy")) >= {"DummyHistogram, estimates"}


def test_amplification_that_counts_one_person_too_many_is_noticed(monkeypatch):
    monkeypatch.setattr(
        AmplifiedOracle, "privacy", property(lambda self: Amplification(local_epsilon=1, users=self.users))
    )
    for_another_target(monkeypatch, AmplifiedOracle, honest_users=lambda target: target.honest + 20)
    assert failed(calibrations.of_entry("shuffled-hadamard"))


def test_a_check_that_breaks_off_does_not_hold(monkeypatch):
    def broken(self, values, *, rng=None):
        raise IndexError

    monkeypatch.setattr(BaseHistogram, "sample_tally", broken)
    monkeypatch.setattr(Histogram, "randomize", broken)
    verdicts = [verdict for _, verdict in check("hist-unbiased")]
    assert verdicts[-1].claim == "IndexError"
    assert not verdicts[-1].holds
