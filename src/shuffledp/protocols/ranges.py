"""Ordered values: counts of ranges, the distribution function, and quantiles.

The values are the leaves of a tree. A person holds the nodes above their value, one on each level, and a histogram
protocol for sets counts them in one release. A replaced person moves one node down and one up on each level. Any range
consists of few nodes, so its error does not grow with its length. Least squares makes the counts consistent with each
other and with the public number of people (estimators/tree.py), which costs no privacy. Proofs: docs/proofs/ranges.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.accounting.curve import Curve, Guarantee
from shuffledp.errors import DataError, ParameterError, TooFewUsersError
from shuffledp.estimators.base import ErrorBound
from shuffledp.estimators.tree import Tree
from shuffledp.estimators.tree_counts import TreeCounts, largest_deviation, normal_width
from shuffledp.formatting import ShortRepr
from shuffledp.histogram.domain import Domain
from shuffledp.histogram.estimate import Estimate
from shuffledp.histogram.facts import NoiseFacts, NoiseKind, ProtocolFacts
from shuffledp.histogram.inputs import Counts, filled_up, people_in_bins, true_counts
from shuffledp.histogram.ordered_estimate import OrderedEstimate
from shuffledp.histogram.tally import Tally
from shuffledp.protocols.base import labelled, read
from shuffledp.protocols.central import LaplaceHistogram
from shuffledp.protocols.protocol import HistogramProtocol, MessageCount
from shuffledp.protocols.shuffled.dummy import DummyHistogram
from shuffledp.protocols.target import Target
from shuffledp.validation import failure_probability, one_of, whole

_PLACES = 512
"""The number of places at which the errors of trees are compared; the worst error is hardly larger."""

_SHORT_LIST = 3
"""The number of trees to try with their exact noise. They are the best if the noise grows with the square root of the
levels, or with the levels; for sets of several values it grows at a rate in between."""

_NEARLY = 1.05
"""The factor on the error that is accepted for a tree with fewer levels, and so with far fewer messages."""

_BETA = 0.05
"""The failure probability of the error that chooses the noise of a curator."""

TRUSTS = ("shuffler", "curator")

CountNodes = Callable[[Target], DummyHistogram | LaplaceHistogram]
"""Return the protocol with the least noise of one kind for a target."""


@dataclass(frozen=True, kw_only=True)
class Ranges(ShortRepr):
    """Ranges of `bins` ordered values, by a tree with `branching` children of each node.

    `nodes` is the protocol that counts the nodes; messages and tallies are those of nodes, numbered as in
    estimators/tree.py. With `padding_bins` = 1 the last bin is not a value: people without a value are counted there.
    """

    bins: int
    branching: int
    nodes: DummyHistogram | LaplaceHistogram
    padding_bins: int = 0

    numbered_messages: ClassVar[bool] = True
    values_per_person: ClassVar[int] = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "bins", whole("bins", self.bins))
        tree = self.tree
        if self.padding_bins not in (0, 1) or self.padding_bins >= self.bins:
            raise ParameterError(f"padding_bins must be 0 or 1, and fewer than the bins, got {self.padding_bins}")
        if (self.nodes.bins, self.nodes.values_per_person, self.nodes.padding_bins) != (tree.nodes, tree.levels, 0):
            raise ParameterError(
                f"nodes must count the {tree.nodes} nodes of a tree of {tree.levels} levels over {self.bins} leaves, "
                f"of which each person holds one on each level; got a protocol for {self.nodes.bins} bins with "
                f"{self.nodes.values_per_person} values per person"
            )

    @classmethod
    def calibrate(
        cls,
        *,
        users: int,
        bins: int,
        epsilon: float,
        delta: float,
        honest_users: int | None = None,
        branching: int | None = None,
        trust: str = "shuffler",
    ) -> Self:
        """Return the protocol with the least noise that makes the whole release (epsilon, delta)-private.

        By default `branching` gives the narrowest band around the distribution function. With trust="curator" the party
        that holds the data adds the noise, from the one of two distributions with the narrower band.
        """
        target = Target(users=users, bins=bins, epsilon=epsilon, delta=delta, honest_users=honest_users)
        return cls.for_target(target, branching=branching, trust=trust)

    @classmethod
    def for_target(
        cls, target: Target, *, branching: int | None = None, trust: str = "shuffler", dummies: str = "binomial"
    ) -> Self:
        """Return the tree and the noise with the narrowest band for a target; `dummies` are as in DummyHistogram."""
        one_of("trust", trust, TRUSTS)
        if target.values_per_person != 1:
            raise ParameterError("ranges are of exactly one value of each person: leave out values_per_person")
        leaves = target.cells
        trees = candidates(leaves) if branching is None else [Tree(leaves=leaves, branching=branching)]
        made = cls._fewest_levels(trees, target, partial(DummyHistogram.for_target, dummies=dummies))
        if trust == "curator":
            return cls._with_curator(made, trees, target)
        if not made:
            levels = min(tree.levels for tree in trees)
            needed = DummyHistogram.minimum_users(epsilon=target.epsilon, delta=target.delta, values_per_person=levels)
            raise target.too_few(needed, how=f"with ranges of {levels} levels", instead="or trust='curator'")
        return made[0]

    def with_curator(self, target: Target) -> Self:
        """Return the protocol of trust="curator" for the same target, with less than half of the work."""
        return self._with_curator([self], candidates(target.cells), target)

    @classmethod
    def _with_curator(cls, shuffled: list[Self], trees: list[Tree], target: Target) -> Self:
        """Return the protocol with the narrower band: shuffled noise, if it exists, or a curator's noise."""
        curated = cls._fewest_levels(trees, target, LaplaceHistogram.for_target)
        if shuffled and curated:
            # the tails of Laplace noise are heavier than normal
            least = normal_width(curated[0].tree, curated[0].nodes.noise, risk=_BETA)
            if least > shuffled[0].range_error(_BETA):
                return shuffled[0]
        return min([*shuffled, *curated], key=lambda option: option.range_error(_BETA))

    @classmethod
    def _fewest_levels(cls, trees: list[Tree], target: Target, count: CountNodes) -> list[Self]:
        """The lowest tree with nearly the smallest error, which has the fewest messages; None if no noise suffices."""
        options = []
        for tree in trees:
            with suppress(TooFewUsersError):
                options.append(cls.with_tree(tree, target, count))
        if not options:
            return []
        most = _NEARLY * min(option.deviation for option in options)
        return [min((o for o in options if o.deviation <= most), key=lambda option: option.tree.levels)]

    @classmethod
    def with_tree(cls, tree: Tree, target: Target, count: CountNodes) -> Self:
        """Return the protocol for a tree; `count` returns the one that counts its nodes."""
        nodes = count(replace(target, bins=tree.nodes, values_per_person=tree.levels, padding_bins=0))
        return cls(bins=tree.leaves, branching=tree.branching, nodes=nodes, padding_bins=target.padding_bins or 0)

    @classmethod
    def published_for(cls, target: Target) -> Self:
        """Refuse: there are no published parameters."""
        raise ParameterError(f"{cls.__name__} has no published parameters: use calibrate")

    @classmethod
    def minimum_users(cls, *, epsilon: float, delta: float, values_per_person: int = 1) -> int:
        """The fewest honest people for the guarantee, with a tree of one level."""
        return DummyHistogram.minimum_users(epsilon=epsilon, delta=delta, values_per_person=values_per_person)

    @cached_property
    def tree(self) -> Tree:
        """The tree whose leaves are the values."""
        return Tree(leaves=self.bins, branching=self.branching)

    @property
    def users(self) -> int:
        """The number of people."""
        return self.nodes.users

    @property
    def honest_users(self) -> int | None:
        """The number of people who follow the protocol; None for all."""
        return self.nodes.honest_users

    @property
    def honest(self) -> int:
        """The number of people who follow the protocol."""
        return self.nodes.honest

    @property
    def guarantee(self) -> Guarantee | None:
        """The guarantee that the noise was calibrated for."""
        return self.nodes.guarantee

    @cached_property
    def privacy(self) -> Curve:
        """The curve of the nodes: one down and one up on each level."""
        return replace(self.nodes.privacy, of_sets=False)

    @cached_property
    def estimator(self) -> TreeCounts:
        """The least-squares estimator."""
        return TreeCounts(tree=self.tree, nodes=self.nodes.estimator, noise=self.nodes.noise)

    @property
    def messages_per_user(self) -> MessageCount:
        """The number of messages of one person, as for the nodes."""
        return self.nodes.messages_per_user

    @property
    def bits_per_message(self) -> int:
        """Bits that name a node."""
        return self.nodes.bits_per_message

    @property
    def samples_exactly(self) -> bool:
        """Whether the tally is sampled from its exact distribution."""
        return True

    @property
    def drawing_cost(self) -> float:
        """The steps of sampling the counts of all nodes."""
        return 2.0 * self.tree.nodes

    @property
    def deviation(self) -> float:
        """The approximate largest standard deviation of the distribution function."""
        return math.sqrt(self.nodes.noise.variance) * largest_deviation(self.tree, places=_PLACES)

    def error(self, beta: float, *, occupied_bins: int | None = None) -> ErrorBound:
        """Error bounds of single values in people; all values have the same noise."""
        beta = failure_probability(beta)
        alone, together = (self.estimator.error(beta=beta, bins=bins, occupied=self.bins) for bins in (1, self.bins))
        return ErrorBound(beta=beta, per_bin=alone, simultaneous=together, shown=together, hidden=0)

    def range_error(self, beta: float) -> float:
        """The error bound of the distribution function, everywhere at once, which fails with probability beta."""
        return self.estimator.distribution_error(beta=failure_probability(beta))

    def randomize(self, values: ArrayLike, *, rng: np.random.Generator | None = None) -> NDArray[Any]:
        """The messages of one person (a bin) or of many (an array of bins), for the nodes above each bin."""
        if self.padding_bins:
            people = filled_up(values, bins=self.bins, each=1, padding_bins=1)
        else:
            people = people_in_bins(values, bins=self.bins)
        paths = self.tree.paths(people)
        return self._sent.randomize(paths if self.tree.levels > 1 else paths[:, 0], rng=rng)

    def tally(self, messages: ArrayLike | Tally) -> Tally:
        """Count the messages of each node."""
        return self._sent.tally(messages)

    @property
    def _sent(self) -> DummyHistogram:
        if not isinstance(self.nodes, DummyHistogram):
            raise ParameterError(
                "a curator has no messages: sample the counts with sample_tally, or use trust='shuffler'"
            )
        return self.nodes

    def sample_tally(self, counts: Counts, *, rng: np.random.Generator | None = None, part: bool = False) -> Tally:
        """Sample the counts of all nodes from their exact distribution, given the true counts of the values."""
        if part:
            raise ParameterError("part must be False for a protocol that estimates every bin and samples all at once")
        truth = true_counts(counts, users=self.users, bins=self.bins)
        if truth.symbols.dtype.kind not in "iu":
            raise DataError("counts of ordered values need their numbers: encode labels with Domain.encode first")
        leaves = truth.dense(bins=self.bins).counts
        return self.nodes.sample_tally(self.tree.totals(leaves), rng=rng)

    def release(self, values: ArrayLike, *, rng: np.random.Generator | None = None, **options: Any) -> OrderedEstimate:
        """Estimate the histogram of values that one party holds."""
        counts = Tally.of_bins(people_in_bins(values, bins=self.bins), bins=self.bins).counts
        return self.estimate(self.sample_tally(counts, rng=rng), **options)

    def estimate(
        self,
        tally: Tally,
        *,
        beta: float = 0.05,
        reports: int | None = None,
        domain: Domain | None = None,
        edges: Sequence[Any] | None = None,
        ordered: int | None = None,
        forged: bool = False,
    ) -> OrderedEstimate:
        """Estimate counts of values and ranges, the distribution function and quantiles, with bounds.

        `reports` is the number of people who reported, if fewer than `users`. `domain` gives the values their labels,
        and `edges` separate values that are intervals. The first `ordered` values are in order, by default all values;
        others, such as a missing one, belong to no range. With `forged`, some reports may be forged, as in other
        protocols.
        """
        beta, domain = failure_probability(beta), labelled(domain, bins=self.bins, padding_bins=self.padding_bins)
        ran = self.for_reports(reports)
        nodes, tally = ran.nodes.accept(tally, reports=None if reports is None else ran.users, forged=forged)
        ran = replace(ran, nodes=nodes)
        plain = read(ran, tally, bins=self.bins, beta=beta, domain=domain)
        leaves = replace(plain, symbols=np.arange(self.bins), padding_bins=self.padding_bins)
        return ran.in_order(leaves, edges=edges, ordered=ordered)

    def in_order(
        self, estimate: Estimate, *, edges: Sequence[Any] | None = None, ordered: int | None = None
    ) -> OrderedEstimate:
        """Add ranges and the distribution function to an estimate of all values in order.

        With one level, the estimate may be that of `nodes`, which does not use the number of people.
        """
        fitted = self.tree.fit(estimate.counts, people=self.users) if self.tree.levels == 1 else estimate.counts
        before, low, high = self.estimator.band(fitted, beta=estimate.beta)
        if ordered is None:
            ordered = self.bins - self.padding_bins if edges is None else len(edges) + 1
        return OrderedEstimate(
            **{name: getattr(estimate, name) for name in Estimate.__dataclass_fields__},
            below=before,
            below_low=low,
            below_high=high,
            range_bounds=partial(self.estimator.range_widths, beta=estimate.beta),
            edges=edges,
            ordered=ordered,
        )

    def for_reports(self, reports: int | None) -> Self:
        """Return this protocol for the people who reported."""
        return replace(self, nodes=self.nodes.for_reports(reports))

    def fresh(self, rng: np.random.Generator) -> Self:
        """The protocol itself, which has no public coins."""
        return self

    def facts(self, *, drawn: bool = False) -> ProtocolFacts:
        """The facts that a reader of a release must know: those of the counts of groups, for one value per person."""
        deviation = math.sqrt(self.nodes.noise.variance)
        numbers = {"levels": self.tree.levels, "nodes": self.tree.nodes, "deviation": deviation}
        noise = NoiseFacts(NoiseKind.TREE, numbers)
        return replace(self.nodes.facts(drawn=drawn), values_per_person=1, optional=False, noise=noise)

    def describe(self, *, beta: float = 0.05, drawn: bool = False) -> str:
        """Describe the guarantee, its conditions and the expected error in paragraphs of English."""
        from shuffledp.explain.protocols import describe

        return describe(
            self.facts(drawn=drawn),
            people=self.users,
            error=self.error(beta).simultaneous,
            range_error=self.range_error(beta),
            beta=beta,
        )


def ranges_of(protocol: HistogramProtocol) -> Ranges | None:
    """Return the ranges that a release of this protocol can show; None if the errors of sums of counts are unknown.

    A histogram with dummies has independent noise in its bins, which are the nodes of a tree of one level.
    """
    if isinstance(protocol, Ranges):
        return protocol
    if not isinstance(protocol, DummyHistogram) or protocol.values_per_person > 1 or protocol.padding_bins:
        return None
    return Ranges(bins=protocol.bins, branching=max(2, protocol.bins), nodes=protocol)


@lru_cache(maxsize=16)
def candidates(leaves: int) -> list[Tree]:
    """Trees of different heights with the smallest expected errors."""
    trees = {
        tree.levels: tree
        for levels in range(1, max(2, leaves.bit_length() + 1))
        for tree in [Tree.with_levels(leaves=leaves, levels=levels)]
    }
    deviations = {levels: largest_deviation(tree, places=_PLACES) for levels, tree in trees.items()}
    by_root, by_levels = (
        sorted(trees, key=lambda levels, power=power: deviations[levels] * levels**power)[:_SHORT_LIST]  # type: ignore[misc]
        for power in (0.5, 1.0)
    )
    return [trees[levels] for levels in sorted({*by_root, *by_levels})]
