"""The base class of the histogram protocols of all models: calibration, sampling, estimates and errors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.accounting.curve import Curve, Guarantee
from shuffledp.errors import DataError, ParameterError
from shuffledp.estimators.base import ErrorBound, Estimator, Truncating, around_estimates
from shuffledp.formatting import ShortRepr, readable
from shuffledp.histogram.domain import Domain
from shuffledp.histogram.estimate import Estimate
from shuffledp.histogram.facts import NoiseFacts, NoiseKind, ProtocolFacts, Trusted
from shuffledp.histogram.inputs import (
    Counts,
    check_domain,
    check_messages,
    check_tally,
    filled_up,
    people_in_bins,
    true_counts,
)
from shuffledp.histogram.tally import Tally
from shuffledp.protocols.protocol import HistogramProtocol, MessageCount, bits_to_name
from shuffledp.protocols.target import Target, changed, guarantee_or_usual, kept, padding_bins_of, reached
from shuffledp.randomness import generator
from shuffledp.validation import (
    failure_probability,
    head_count,
    honest_among,
    reporting,
    target_delta,
    target_epsilon,
    values_each,
    whole,
)

_PARTICIPATION_TOLERANCE = 0.01
"""The allowed relative growth of epsilon if only the fewest people reported that the messages allow: an exact
calibration has no margin, and the number of messages does not determine the number of people."""


@dataclass(frozen=True, kw_only=True)
class BaseHistogram(ShortRepr, ABC):
    """A histogram protocol of any model: each of `users` people holds one of `bins` values, or `values_per_person`.

    Only the noise of `honest_users` counts for privacy. `guarantee` is the target of the calibration; `privacy` is the
    actual curve. The last `padding_bins` bins are not values: people who hold fewer than `values_per_person` values are
    padded with them, each at most once, so that everyone holds the same number.
    """

    users: int
    bins: int
    honest_users: int | None = None
    guarantee: Guarantee | None = None
    values_per_person: int = 1
    padding_bins: int = 0

    takes_sets: ClassVar[bool] = False
    """Whether people may hold several values, or none."""

    kinds: ClassVar[int] = 1
    """The number of kinds of messages of a bin, each with a count of its own."""

    trusted: ClassVar[Trusted] = Trusted.SHUFFLER
    """The party on which the guarantee relies."""

    def __post_init__(self) -> None:
        users = head_count("users", self.users)
        object.__setattr__(self, "users", users)
        object.__setattr__(self, "bins", whole("bins", self.bins))
        object.__setattr__(self, "honest_users", honest_among(self.honest_users, users=users))
        self._check_answer_options()

    def _check_answer_options(self) -> None:
        values = values_each(self.values_per_person)
        padding_bins = padding_bins_of(self.padding_bins, values=values)
        if (values > 1 or padding_bins) and not self.takes_sets:
            raise ParameterError(f"{type(self).__name__} counts exactly one value of each person")
        if values > self.bins or padding_bins >= self.bins:
            raise ParameterError(
                f"values_per_person={values} needs at least this number of values besides the padding bins, got "
                f"{readable(self.bins)} bins"
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
        values_per_person: int = 1,
        padding_bins: int | None = None,
        **choices: Any,
    ) -> Self:
        """Return the protocol with the least noise that makes the whole release (epsilon, delta)-private.

        `bins` is the number of possible values, of which each person holds at most `values_per_person`. `choices` are
        those of `for_target`.
        """
        target = Target(
            users=users,
            bins=bins,
            epsilon=epsilon,
            delta=delta,
            honest_users=honest_users,
            values_per_person=values_per_person,
            padding_bins=padding_bins,
        )
        return cls.for_target(target, **choices)

    @classmethod
    def published(cls, *, users: int, bins: int, epsilon: float, delta: float) -> Self:
        """Return the protocol with the published parameters for an (epsilon, delta)-private release."""
        return cls.published_for(Target(users=users, bins=bins, epsilon=epsilon, delta=delta))

    @classmethod
    @abstractmethod
    def for_target(cls, target: Target) -> Self:
        """Return the protocol with the least noise for a target."""

    @classmethod
    def _made(cls, target: Target, basis: str, **noise: Any) -> Self:
        """Return the protocol with this noise, whose guarantee has this basis."""
        return cls(**target.settled, guarantee=target.guarantee(basis), **noise)

    @classmethod
    def _published(cls, target: Target, basis: str = "published parameters", **noise: Any) -> Self:
        """Return the protocol with published noise for one value of each person, all of whom are honest."""
        if target.honest != target.users:
            raise ParameterError("published parameters assume honest users only: leave out honest_users, or calibrate")
        return cls(users=target.users, bins=target.bins, guarantee=target.guarantee(basis), **noise)

    @classmethod
    def published_for(cls, target: Target) -> Self:
        """Return the protocol with its published parameters for a target."""
        raise ParameterError(f"{cls.__name__} has no published parameters: use calibrate")

    @classmethod
    def minimum_users(cls, *, epsilon: float, delta: float, values_per_person: int = 1) -> int:
        """The fewest honest people; 1 if the noise does not need other people."""
        target_epsilon(epsilon)
        target_delta(delta)
        values_each(values_per_person)
        return 1

    @property
    @abstractmethod
    def privacy(self) -> Curve:
        """The privacy curve of the whole release, counting the honest people's noise only."""

    @property
    @abstractmethod
    def estimator(self) -> Estimator:
        """The estimator of a tally."""

    @property
    @abstractmethod
    def messages_per_user(self) -> MessageCount:
        """The number of messages of one person."""

    @property
    def bits_per_message(self) -> int:
        """Bits that name a bin."""
        return bits_to_name(self.bins)

    @property
    def samples_exactly(self) -> bool:
        """Whether `_draw` samples from the exact distribution of the tally, without messages."""
        return True

    @property
    def drawing_cost(self) -> float:
        """The steps of sampling a tally beyond a few for each bin."""
        return 0.0

    @property
    def honest(self) -> int:
        """The number of people who follow the protocol."""
        return self.users if self.honest_users is None else self.honest_users

    def _held(self, values: ArrayLike) -> NDArray[np.int64]:
        """The bin of each person; a row of bins if people hold several values, or can hold none, padded with others."""
        if self.values_per_person > 1 or self.padding_bins:
            return filled_up(values, bins=self.bins, each=self.values_per_person, padding_bins=self.padding_bins)
        return people_in_bins(values, bins=self.bins)

    def error(self, beta: float, *, occupied_bins: int | None = None) -> ErrorBound:
        """Error bounds in people before any release, which fail with probability at most beta on any dataset.

        `occupied_bins` is the number of different values that people hold, if it is known to be small.
        """
        beta, most = failure_probability(beta), min(self.bins, self.users * self.values_per_person)
        occupied = most if occupied_bins is None else min(most, whole("occupied_bins", occupied_bins))
        estimator = self.estimator
        per_bin, simultaneous = (estimator.error(beta=beta, bins=bins, occupied=occupied) for bins in (1, self.bins))
        shown, hidden = simultaneous, 0
        if isinstance(estimator, Truncating):
            shown, hidden = estimator.shown_and_hidden(beta=beta, bins=self.bins, occupied=occupied)
        return ErrorBound(beta=beta, per_bin=per_bin, simultaneous=simultaneous, shown=shown, hidden=hidden)

    def sample_tally(self, counts: Counts, *, rng: np.random.Generator | None = None, part: bool = False) -> Tally:
        """Sample a tally from its exact distribution, given the true counts, also of padding bins.

        An array has the count of every bin, and every bin is sampled. A mapping or a Tally lists the bins to sample:
        the zero-preserving estimator reports 0 for all others, so this is enough for huge domains. The list of sampled
        bins is not private; only an estimate is. With `part`, samples of different parts of the bins can be joined.
        """
        if part and self.estimator.false_positives:
            raise ParameterError("part must be False for a protocol that estimates every bin and samples all at once")
        truth = true_counts(counts, users=self.users, bins=self.bins, part=part, each=self.values_per_person)
        return replace(self._draw(truth, generator(rng)), drawn=True)

    @abstractmethod
    def _draw(self, truth: Tally, rng: np.random.Generator) -> Tally:
        """Sample a tally of the bins that the truth lists."""

    def estimate(
        self,
        tally: Tally,
        *,
        beta: float = 0.05,
        reports: int | None = None,
        domain: Domain | None = None,
        forged: bool = False,
    ) -> Estimate:
        """Estimate the histogram, with intervals that hold with probability 1 - beta.

        `reports` is the number of people who reported, if fewer than `users`: there is then less noise, and the
        estimate has the weaker guarantee. It is required if the messages could come from too few people for the
        guarantee. `domain` gives the bins their labels. With `forged`, some reports may be forged: extra messages are
        accepted as far as counts are possible, and missing ones as long as the honest people alone could have sent the
        rest. The guarantee then still holds, but the intervals assume that everyone follows the protocol.
        """
        domain = labelled(domain, bins=self.bins, padding_bins=self.padding_bins)
        beta = failure_probability(beta)
        ran, tally = self.accept(tally, reports=reports, forged=forged)
        estimate = read(ran, tally, bins=self.bins, beta=beta, domain=domain)
        return replace(estimate, values_per_person=self.values_per_person, padding_bins=self.padding_bins)

    def accept(self, tally: Tally, *, reports: int | None, forged: bool = False) -> tuple[Self, Tally]:
        """Return the protocol of the people who reported, and the tally to estimate; refuse one that does not fit."""
        check_tally(tally, Tally)
        if tally.kinds != self.kinds:
            raise DataError(f"a tally of {self.kinds} kinds of messages is needed, got {tally.kinds}")
        ran = self.for_reports(reports)._as_kept
        if forged:
            tally = ran._with_forged(tally)
        else:
            ran._check_number(tally)
        if reports is None and not tally.drawn:
            ran._check_participation(tally)
        return ran, tally

    def _check_number(self, tally: Tally) -> None:
        """Refuse a tally whose number of messages does not fit the number of people."""
        if self.messages_per_user.fixed:
            check_messages(tally, people=self.users, each=int(self.messages_per_user.maximum))

    def _with_forged(self, tally: Tally) -> Tally:
        """Return the tally as it is estimated if some messages may be forged."""
        raise ParameterError(f"{type(self).__name__} has no messages that could be forged: leave out forged")

    def _fewest_reports(self, tally: Tally) -> int:
        """The fewest people who could have sent these messages, except with probability `participation.RISK`."""
        return self.users

    def _check_participation(self, tally: Tally) -> None:
        """Refuse messages that could come from too few people for the guarantee."""
        fewest = self._fewest_reports(tally)
        if fewest >= self.users:
            return
        guarantee = guarantee_or_usual(self)
        if not kept(guarantee, self.for_reports(fewest).privacy, tolerance=_PARTICIPATION_TOLERANCE):
            raise DataError(
                f"these messages could come from only {fewest} of {self.users} people, too few for the guarantee "
                f"({guarantee.epsilon:g}, {guarantee.delta:g}): give the number of people who reported as reports="
            )

    def for_reports(self, reports: int | None) -> Self:
        """Return this protocol for the people who reported: the same randomizer with less noise.

        Every missing person may be an honest one. So `honest_users` less the missing people count, and at least the
        protected person, who did report. If the guarantee then fails, it is replaced by the weaker one. The noise of a
        curator, or of each person alone, does not come from the others.
        """
        people = self.users if reports is None else reporting(reports, users=self.users)
        if people == self.users:
            return self
        if self.trusted is not Trusted.SHUFFLER:
            return replace(self, users=people, honest_users=None)
        honest = max(1, self.honest - (self.users - people))
        ran = replace(self, users=people, honest_users=honest, **self._noise_of(people))
        if self.guarantee is None or kept(self.guarantee, ran.privacy):
            return ran
        return replace(ran, guarantee=reached(self.guarantee, ran.privacy))

    def _noise_of(self, people: int) -> dict[str, Any]:
        """The fields that are sums over all people, for a part of them."""
        return {}

    @cached_property
    def _as_kept(self) -> Self:
        """This protocol with a guarantee that its curve gives; a changed field may have broken the old one."""
        guarantee = self.guarantee
        if guarantee is None or kept(guarantee, self.privacy):
            return self
        return replace(self, guarantee=changed(guarantee, self.privacy))

    def fresh(self, rng: np.random.Generator) -> Self:
        """The protocol with new public coins; itself without public coins."""
        return self

    @property
    def noise_facts(self) -> NoiseFacts:
        """The kind of noise and its numbers."""
        return NoiseFacts(NoiseKind.OTHER)

    def facts(self, *, drawn: bool = False) -> ProtocolFacts:
        """The facts that a reader of a release must know; `drawn` if the party with the data sampled the tally."""
        return ProtocolFacts(
            guarantee=guarantee_or_usual(self._as_kept),
            trusted=Trusted.DATA_HOLDER if drawn and self.trusted is Trusted.SHUFFLER else self.trusted,
            users=self.users,
            honest_users=self.honest_users,
            false_positives=self.estimator.false_positives,
            noise=self.noise_facts,
            values_per_person=self.values_per_person,
            optional=self.padding_bins > 0,
        )

    def describe(self, *, beta: float = 0.05, drawn: bool = False) -> str:
        """Describe the guarantee, its conditions and the expected error in paragraphs of English."""
        from shuffledp.explain.protocols import describe

        return describe(self.facts(drawn=drawn), people=self.users, error=self.error(beta).simultaneous, beta=beta)


def labelled(domain: Domain | None, *, bins: int, padding_bins: int) -> Domain | None:
    """Return the domain with a label for every bin, including the padding bins."""
    if padding_bins and isinstance(domain, Domain) and domain.size == bins - padding_bins:
        domain = domain.with_absent(padding_bins)
    check_domain(domain, bins=bins)
    return domain


def read(ran: HistogramProtocol, tally: Tally, *, bins: int, beta: float, domain: Domain | None) -> Estimate:
    """Estimate the histogram of a tally of this protocol."""
    estimator = ran.estimator
    statistic = estimator.statistic(tally)
    counts = estimator.point(statistic)
    per_bin, simultaneous = around_estimates(
        counts,
        per_bin=estimator.intervals(statistic, beta=beta, bins=1),
        simultaneous=estimator.intervals(statistic, beta=beta, bins=bins),
    )
    return Estimate(
        symbols=statistic.symbols,
        counts=counts,
        per_bin=per_bin,
        simultaneous=simultaneous,
        people=estimator.people,
        bins=bins,
        beta=beta,
        estimator=estimator.name,
        guarantee=ran.guarantee,
        about=ran.facts,
        domain=domain,
    )
