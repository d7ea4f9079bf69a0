"""Whether a number of successes fits a probability, with a stated false-failure rate."""

from scipy import stats

from tests.oracles.goodness import FALSE_FAILURE_RATE


def agrees(successes, trials, probability):
    """Return whether the number of successes fits; false for a correct probability at FALSE_FAILURE_RATE."""
    return stats.binomtest(int(successes), trials, min(1.0, probability)).pvalue > FALSE_FAILURE_RATE
