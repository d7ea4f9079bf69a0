"""The cost in delta of a limit on the messages of a report.

A client that samples more than `most` messages discards all of them and samples again. Let A be the event that none of
n people does, and let q >= P(not A). The number of messages has the same distribution for every value, so P(A) is the
same for neighbours x and x'. If the protocol without a limit is (epsilon, delta)-private, then for every set S of
outcomes

    P_x(S and A) <= P_x(S) <= e^epsilon P_x'(S) + delta <= e^epsilon P_x'(S and A) + e^epsilon q + delta.

Division by P(A) >= 1 - q gives the delta with the limit: (delta + e^epsilon q) / (1 - q).

The term e^epsilon q is needed: the tally does not tell whether A happened, and A can favour some tallies. If messages
come in large clusters, a tally with many messages of one value is less likely under A than one with the same number of
messages in small clusters. Poisson dummies that come one at a time are an exception. Given the tally, the numbers of
dummies of all people do not depend on the values (collect/task/guarantee.py). So P_x(S and A) is the sum of P_x(T)
P(A | T) over the tallies T in S, with the same factors in [0, 1] for x and x'. The privacy of T alone gives P_x(S and
A) <= e^epsilon P_x'(S and A) + delta, and the delta with the limit is delta / (1 - q).

**Several tasks.** Let A be the event that no task of a person has to be sampled again. The same steps give (delta +
e^epsilon Q) / K, with the composed delta, the sum Q of q over the tasks that need the term, and the product K of 1 - q
over all tasks. Tasks may be chosen by earlier results: Q and K are then the largest sum and the smallest product on any
path of results. For the product, write the weight w = 1 / P(A) along a path as the integral of the indicators [w > t]
from t = 0 to 1 / K. Each set S and {w > t} is a set of outcomes, so each t adds at most delta + e^epsilon Q.

The term grows with epsilon. But privacy at a smaller epsilon implies privacy at a larger one with the same delta, so
`delta` also tries smaller epsilons where the term is larger than the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from shuffledp.protocols.shuffled_histogram import ShuffledHistogram, chance_of_more

_SMALLER_EPSILONS = tuple(2.0 ** (power / 2) for power in range(-8, 19))
"""The smaller epsilons to try, up to 512."""


@dataclass(frozen=True)
class LimitCost:
    """The cost of the limits of one or several tasks.

    `kept` is at most the probability that no person samples again, the product K. `hidden` is at least the probability
    that a person samples again in a task whose tally does not tell it, the sum Q.
    """

    kept: float = 1.0
    hidden: float = 0.0

    @classmethod
    def of(cls, protocol: ShuffledHistogram, most: int) -> LimitCost:
        """The cost of a limit of `most` messages in one task."""
        again = chance_of_more(protocol, most)
        return cls(kept=1 - again, hidden=0.0 if protocol.tally_implies_lengths else again)

    @classmethod
    def of_all(cls, costs: Iterable[LimitCost]) -> LimitCost:
        """The cost of several tasks together."""
        known = list(costs)
        return cls(kept=math.prod(cost.kept for cost in known), hidden=math.fsum(cost.hidden for cost in known))

    def times(self, number: int) -> LimitCost:
        """The cost of this number of tasks with the same limit."""
        return LimitCost(kept=self.kept**number, hidden=number * self.hidden)

    def added(self, epsilon: float) -> float:
        """The term that is added to a delta at this epsilon before the division by `kept`."""
        return math.exp(epsilon) * self.hidden

    def delta(self, curve: Callable[[float], float], epsilon: float) -> float:
        """The delta with the limits, from the curve without them; never below the truth."""
        if self.kept <= 0:  # nothing is known of people who always sample again
            return 1.0
        free, added = curve(epsilon), self.added(epsilon)
        least = free + added
        if added > free:
            smaller = (at for at in _SMALLER_EPSILONS if at < epsilon)
            least = min(least, min((curve(at) + self.added(at) for at in smaller), default=least))
        return min(1.0, least / self.kept)
