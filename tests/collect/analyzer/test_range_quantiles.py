"""The median and quantiles of whole numbers in a range, from the counts of all of them."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, chi2

from shuffledp.collect.analyzer.releases import release_of
from shuffledp.errors import DataError
from shuffledp.histogram.ordered_estimate import SHARES, OrderedEstimate
from shuffledp.histogram.tally import Tally
from shuffledp.release.release import Release
from shuffledp.release.trend import Trend
from tests.collect.releases import rendered_release
from tests.collect.tasks import small_task
from tests.oracles.goodness import FALSE_FAILURE_RATE

BETA, RUNS = 0.05, 300
NUMBERS, PEOPLE = 400, 10_000


def range_task(**options):
    return small_task(**{"numbers": (0, 100), "users": 300, **options}).task


def tally_of(task, answers, *, seed=1):
    """The tally of a batch of people with these answers, in turn."""
    bins = np.array([task.bin_of(answers[at % len(answers)]) for at in range(task.users)])
    return task.protocol.tally(task.protocol.randomize(bins, rng=np.random.default_rng(seed)))


AGES = [*range(20, 60), "x", None, 700]


def true_quantile(numbers, share):
    """The smallest number that at least this share of the numbers do not exceed, by counting."""
    return sorted(numbers)[math.ceil(Fraction(repr(share)) * len(numbers)) - 1]


# Coverage ----------------------------------------------------------------------------------------------------------


def noisy_tally(protocol, truth, *, scale, rng):
    """A tally whose noise is larger or smaller by a factor than the protocol's."""
    noise = protocol.noise.sample(truth.size, rng=rng)
    wrong = np.rint(protocol.noise.mean + scale * (noise - protocol.noise.mean)).astype(np.int64)
    return Tally(np.arange(truth.size), truth + wrong, drawn=True)


def simulated(*, scale):
    """In how many runs a quantile is outside its interval, in how many outside the inner third of it, and the errors at
    the median in standard deviations.

    Some people have (other) or (none), and each number has few people, so intervals have many numbers.
    """
    task, rng = range_task(numbers=(0, NUMBERS), users=PEOPLE), np.random.default_rng(7)
    protocol, ranges = task.protocol, task.ranges()
    numbers = np.clip(np.rint(rng.normal(160, 60, PEOPLE - 500)), 0, NUMBERS - 1).astype(np.int64)
    truth = np.bincount(numbers, minlength=NUMBERS + 2)
    truth[-2:] = 300, 200
    shares = [round(0.05 * at, 2) for at in range(1, 20)]
    expected = [true_quantile(numbers.tolist(), share) for share in shares]
    place, below = expected[9], int((numbers <= expected[9]).sum())
    part = (place + 1) / truth.size
    deviation = math.sqrt(protocol.noise.variance * truth.size * part * (1 - part))  # the sum of all counts is known
    failures, narrowed, errors = 0, 0, []
    for _ in range(RUNS):
        flat = protocol.estimate(noisy_tally(protocol, truth, scale=scale, rng=rng), beta=BETA)
        estimate = ranges.in_order(flat, ordered=NUMBERS)
        found = estimate.quantiles(shares)
        pairs = list(zip(found, expected, strict=True))
        failures += any(not each.low <= number <= each.high for each, number in pairs)
        narrowed += any(
            not each.low - each.value <= 3 * (number - each.value) <= each.high - each.value for each, number in pairs
        )
        errors.append((estimate.below[place] - below) / deviation)
    return failures, narrowed, np.array(errors)


def too_often(failures):
    """Whether intervals fail more often than stated; a false failure has probability FALSE_FAILURE_RATE."""
    return failures > binom.isf(FALSE_FAILURE_RATE, RUNS, BETA)


def wrong_size(errors):
    """Whether normal errors have another standard deviation than 1, with the same rate on both sides together."""
    low, high = chi2.isf([1 - FALSE_FAILURE_RATE / 2, FALSE_FAILURE_RATE / 2], RUNS)
    return not low <= (errors**2).sum() <= high


@pytest.mark.slow
def test_quantile_intervals_cover_the_quantiles_of_people_who_gave_a_number():
    """Intervals of a third of the width are rejected. The widths follow from the standard deviation of the errors."""
    failures, narrowed, errors = simulated(scale=1.0)
    assert not too_often(failures)
    assert too_often(narrowed)
    assert not wrong_size(errors)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.7, 1.3])
def test_noise_of_another_size_is_rejected(scale):
    assert wrong_size(simulated(scale=scale)[2])


# Releases ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "batches"), [("dummy-poisson", 1), ("dummy-poisson", 3), ("dummy", 1)])
def test_a_release_of_a_range_has_quantiles_and_the_counts_as_before(tmp_path, protocol, batches):
    task = range_task(protocol=protocol)
    tallies = [tally_of(task, AGES, seed=seed) for seed in range(batches)]
    release = release_of(task, tallies, refused={}, beta=1e-9)  # false failures
    estimate, whole = release.estimate, task.protocol.joined(batches)
    assert isinstance(estimate, OrderedEstimate)
    assert tuple(each.share for each in estimate.quantiles()) == SHARES
    assert (estimate.ordered, estimate.some_without) == (100, True)
    numbers = [answer for answer in (AGES * 7)[:300] if answer in range(100)]
    for found in estimate.quantiles():
        assert found.low <= true_quantile(numbers, found.share) <= found.high
    assert [row["label"] for row in estimate.rows()] == [*range(100), "(other)", "(none)"]
    flat = whole.estimate(sum(tallies[1:], tallies[0]), beta=1e-9, reports=whole.users, domain=task.labels, forged=True)
    assert estimate.values() == flat.values()
    assert np.array_equal(estimate.simultaneous.low, flat.simultaneous.low)
    assert release.error == whole.error(1e-9).simultaneous
    assert release.protocol == whole
    again = Release.from_json(release.to_json())
    assert again.to_json() == release.to_json()
    assert again.estimate.range(20, 40) == estimate.range(20, 40)
    for ending in (".html", ".csv", ".json", ".parquet"):
        assert release.save(tmp_path / f"release{ending}").stat().st_size > 100
    assert isinstance(Release.from_json(tmp_path / "release.parquet").estimate, OrderedEstimate)


def test_a_range_of_one_number():
    task = range_task(numbers=(7, 8))
    (median,) = release_of(task, [tally_of(task, [7])], refused={}).estimate.quantiles([0.5])
    assert (median.low, median.value, median.high, median.interval) == (7, 7, 7, "7")


def test_a_release_of_a_range_says_what_the_quantiles_are_of():
    task = range_task()
    said = release_of(task, [tally_of(task, AGES)], refused={}).explain()
    for words in (
        "the number of people up to every value is within ",
        "The median is about ",
        "The median and the quantiles are of the other people.",
    ):
        assert words in said


@pytest.mark.slow
def test_the_console_shows_a_range_in_order_with_its_median():
    task = range_task()
    page = str(rendered_release(release_of(task, [tally_of(task, AGES)], refused={})))
    assert page.index("Quantiles") < page.index("50% (median)") < page.index("All 102 values that are shown, in order")
    assert "most frequent" not in page


@pytest.mark.parametrize("protocol", ["hashed", "hist", "sparse"])
def test_without_known_errors_of_sums_there_are_no_quantiles(protocol):
    task = range_task(protocol=protocol)
    assert (task.ranges(), task.range_plan) == (None, None)
    release = release_of(task, [tally_of(task, AGES)], refused={})
    assert not isinstance(release.estimate, OrderedEstimate)
    assert "has no median and no quantiles" in release.explain()
    assert "A task with edges between numbers has them." in release.explain()


def test_a_range_with_selected_values_has_no_quantiles():
    assert range_task(numbers=(0, 99_998), users=10_000, epsilon=3.0).ranges() is not None
    assert range_task(numbers=(0, 99_999), users=10_000, epsilon=3.0).ranges() is None


def test_listed_numbers_have_no_quantiles():
    assert small_task(answers=("1", "2", "3")).task.ranges() is None


def test_a_stored_release_with_quantiles_that_its_protocol_cannot_have():
    task = range_task()
    text = release_of(task, [tally_of(task, AGES)], refused={}).to_json()
    other = range_task(protocol="hist")
    wrong = release_of(other, [tally_of(other, AGES)], refused={}).to_json()
    band = text[text.index('"ordered"') : text.index('"histogram"')]
    with pytest.raises(DataError, match="its protocol does not give the quantiles"):
        Release.from_json(wrong.replace('"histogram"', f'{band}"histogram"', 1))


def test_a_trend_of_ranges_has_the_median_and_exact_changes():
    task = range_task(users=1000)
    rounds = [release_of(task, [tally_of(task, answers)], refused={}) for answers in (AGES, [*range(60, 100)])]
    trend = Trend.of(rounds)
    (median,) = (each for each in trend.quantiles if each.share == 0.5)
    assert median.difference().low > 0
    assert trend.difference(30).exact
