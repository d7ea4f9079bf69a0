"""Time of exact calibration: finding the smallest noise for a guarantee."""

from benchmarks.timing import best_of, table
from shuffledp import BinarySum, Histogram, TooFewUsersError

SETTINGS = [(1.0, 1e-6), (0.1, 1e-6), (0.01, 1e-15), (10.0, 1e-15)]


def milliseconds(kind, users, epsilon, delta):
    sizes = {"bins": 10**6} if kind is Histogram else {}
    try:
        seconds = best_of(lambda: kind.calibrate(users=users, epsilon=epsilon, delta=delta, **sizes))
    except TooFewUsersError as error:
        return f"needs {error.minimum_users:,} people"
    return f"{1e3 * seconds:.1f}"


def main():
    for kind in (BinarySum, Histogram):
        table(
            f"Exact calibration of {kind.__name__}, milliseconds",
            ["n", *(f"epsilon {epsilon:g}, delta {delta:g}" for epsilon, delta in SETTINGS)],
            ([f"10^{k}", *(milliseconds(kind, 10**k, *setting) for setting in SETTINGS)] for k in range(3, 10)),
        )
