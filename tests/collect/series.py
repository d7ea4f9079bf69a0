"""A small series with its keys, for tests of all parts of a collection."""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache

from shuffledp.collect.crypto.keys import KeyPair
from shuffledp.collect.task import AnswerList, Place, Series, Servers
from shuffledp.collect.task.new_task import new_series
from tests.collect.tasks import THEMES, Kept

FIRST = datetime(2027, 1, 1, tzinfo=UTC)
WEEK = 7 * 86_400


@dataclass(frozen=True)
class KeptSeries:
    """A series, and the private keys of the servers of its rounds, in order."""

    series: Series
    keys: tuple[tuple[KeyPair, ...], ...]

    def round(self, number):
        """The task of a round with its keys."""
        return Kept(self.series.task(number), self.keys[0 if len(self.keys) == 1 else number - 1])


@cache
def small_series(
    *,
    rounds=4,
    period=WEEK,
    opens=FIRST,
    users=200,
    shufflers=1,
    protocol="dummy-poisson",
    epsilon=1.0,
    delta=1e-6,
    addresses=None,
    honest_users=None,
    new_keys=False,
    time_precision=None,
    admission="anybody",
):
    """A series of weeks; with `new_keys`, every round has its own keys."""
    keys = tuple(tuple(KeyPair.generate() for _ in range(shufflers + 1)) for _ in range(rounds if new_keys else 1))
    addresses = addresses or tuple(f"http://127.0.0.1:{9 + at}" for at in range(shufflers + 1))
    servers = []
    for each in keys:
        places = [Place(address, key.public) for address, key in zip(addresses, each, strict=True)]
        servers.append(Servers(places[:-1], places[-1]))
    series = new_series(
        question="Which theme do you use?",
        answers=AnswerList(list(THEMES)),
        users=users,
        honest_users=honest_users,
        epsilon=epsilon,
        delta=delta,
        rounds=rounds,
        period=period,
        servers=servers,
        opens=opens,
        protocol=protocol,
        time_precision=time_precision,
        admission=admission,
    )
    return KeptSeries(series, keys)
