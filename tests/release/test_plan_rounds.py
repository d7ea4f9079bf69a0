"""Plans of several rounds: the noise of one round, from the guarantee of all rounds together."""

import json
import math

import pytest

import shuffledp
from shuffledp.accounting.calibration import delta_of_one, guarantee_of_one
from shuffledp.accounting.composition import composed
from shuffledp.errors import ParameterError, TooFewUsersError
from shuffledp.protocols.catalogue import CATALOGUE
from shuffledp.protocols.target import Target
from shuffledp.release.plan_rows import Rows, one_round
from tests.cli.commands import command

ASKED = {"users": 10**6, "bins": 20, "epsilon": 1, "delta": 1e-6}


@pytest.mark.slow
@pytest.mark.parametrize(("rounds", "deviation"), [(52, 43), (365, 114)])
def test_published_reference_figures(rounds, deviation):
    """The standard deviation of one count with fresh noise, person-level (1, 1e-6) for 10^6 people."""
    entry = CATALOGUE["dummy"]
    each = one_round(entry, Target(**ASKED), rounds)
    protocol = entry.make(each)
    assert math.sqrt(protocol.noise.variance) == pytest.approx(deviation, abs=0.5)
    assert 0.98e-6 < composed([protocol.privacy] * rounds).delta(1.0) <= 1e-6
    assert protocol.privacy.delta(each.epsilon) <= each.delta
    assert each.delta * rounds <= 1e-6


@pytest.mark.parametrize(
    ("name", "known"),
    [("hist", True), ("response", True), ("sparse", False), ("public-coin", False)],  # the smallest of several counts
)
def test_the_deviation_of_one_estimate_is_given_if_it_is_known(name, known):
    target = Target(users=2_000, bins=4, epsilon=1.0, delta=1e-6)
    (row,) = Rows.of([name], target, beta=0.05).rows
    assert (row.deviation is not None) == known


@pytest.mark.slow
def test_rows_are_of_one_round():
    found = shuffledp.plan(**{**ASKED, "users": 10**5}, rounds=4)
    row, protocol = found.row("dummy"), found.protocols["dummy"]
    assert row.deviation == math.sqrt(protocol.noise.variance)
    assert (row.epsilon, row.delta) == (protocol.guarantee.epsilon, protocol.guarantee.delta)
    assert row.simultaneous == protocol.error(0.05).simultaneous
    assert not found.curator
    assert "for all 4 rounds together" in str(found)


def test_one_round_is_the_usual_plan():
    small = {**ASKED, "users": 1000}
    assert shuffledp.plan(**small, rounds=1) == shuffledp.plan(**small)


@pytest.mark.parametrize(
    ("rounds", "reason"),
    [(0, "at least 2"), (-3, "at least 2"), (1.5, "whole number"), (10**6, "from 2 to 4096"), ("4", "whole number"),
     (True, "whole number"), (4097, "from 2 to 4096")],
)  # fmt: skip
def test_wrong_numbers_of_rounds(rounds, reason):
    with pytest.raises(ParameterError, match=reason):
        shuffledp.plan(**ASKED, rounds=rounds)


@pytest.mark.slow
def test_too_few_people_for_this_number_of_rounds():
    row = shuffledp.plan(**{**ASKED, "users": 400}, rounds=4).row("dummy")
    assert row.problem == "too-few-users"
    assert row.needed_users > 400


def test_the_delta_of_one_round_is_its_share_rounded_down():
    assert delta_of_one(rounds=52, delta=1e-6) == 1.9e-8
    assert delta_of_one(rounds=4, delta=1e-6) == 2.5e-7
    with pytest.raises(ParameterError, match="too small for rounds"):
        delta_of_one(rounds=4096, delta=1e-20)


def test_basic_composition_is_the_least_that_is_found():
    """A protocol whose total is that of basic composition gets its share of epsilon."""
    found = guarantee_of_one(lambda e, d: 10 * d if 10 * e <= 1.0 else 1.0, rounds=10, epsilon=1, delta=1e-6)
    assert found.epsilon == pytest.approx(0.1, rel=2e-3)
    assert found.epsilon <= 0.1
    with pytest.raises(ParameterError, match="use fewer rounds"):
        guarantee_of_one(lambda e, d: 1.0, rounds=10, epsilon=1, delta=1e-6)


def test_errors_name_the_rounds():
    def too_few(epsilon, delta):
        raise TooFewUsersError("users=5 is too few", minimum_users=9)

    with pytest.raises(TooFewUsersError, match="for one of 10 rounds, users=5 is too few") as caught:
        guarantee_of_one(too_few, rounds=10, epsilon=1, delta=1e-6)
    assert caught.value.minimum_users == 9


@pytest.mark.slow
def test_command():
    arguments = ["--users", "1e5", "--bins", "5", "--epsilon", "1", "--delta", "1e-6", "--rounds", "4"]
    text = command("plan", *arguments).stdout
    assert "for all 4 rounds together" in text
    assert "One round: epsilon 0.52" in text
    assert "The standard deviation of one count is" in text
    found = json.loads(command("plan", *arguments, "--json").stdout)
    assert found["rounds"] == 4
    row = next(row for row in found["rows"] if row["name"] == "dummy")
    assert row["delta"] == 2.5e-7
    for wrong in (["--ranges"], ["--held"], ["--target-error", "50"]):
        result = command("plan", *arguments, *wrong)
        assert result.returncode == 2
        assert "--rounds plans a series" in result.stderr
