"""Sentences about a protocol: its guarantee, the trusted parties, its noise, its error, and the contribution cap.

Bounds are rounded in the direction that keeps them true.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, Protocol

from shuffledp.formatting import (
    confidence,
    counted,
    people_at_most,
    percent_at_most,
    privacy_figure,
    share_at_most,
)
from shuffledp.histogram.facts import Cap, NoiseFacts, NoiseKind, ProtocolFacts, Trusted

if TYPE_CHECKING:
    from shuffledp.histogram.estimate import Estimate
    from shuffledp.release.release import GroupPrivacy
    from shuffledp.release.simulate import UncappedErrors

_MOST_MESSAGES = 1e9
"""Messages per person above which nobody would send them: their number is not mentioned."""

_NOISE: Mapping[NoiseKind, str] = {
    NoiseKind.OMITTED_MESSAGES: (
        "In this protocol, each person sends one noise message for every possible value and omits each with "
        "probability {probability:.4g}. On average {mean:.1f} messages per value are omitted."
    ),
    NoiseKind.OMITTED_MESSAGE: (
        "Each person sends one noise message and omits it with probability {probability:.4g}. On average {mean:.1f} "
        "messages are omitted."
    ),
    NoiseKind.FLIPPED_BITS: (
        "In this protocol, each person answers yes or no for every possible value, wrongly with probability "
        "{probability:.4g}."
    ),
    NoiseKind.FLIPPED_BIT: "Each person sends the opposite of their bit with probability {probability:.4g}.",
    NoiseKind.DUMMIES: "In this protocol, each possible value receives {mean:.1f} dummy messages on average.",
    NoiseKind.CANCELLING_PAIRS: (
        "In this protocol, {sent}each possible value receives, on average, {pairs:.1f} pairs of messages that cancel "
        "and {lone:.1f} messages that subtract one person."
    ),
    NoiseKind.HASHED_CELLS: (
        "In this protocol, values are hashed into {cells:,} cells, by {rows:,} hash functions. Each cell receives "
        "{mean:.1f} dummy messages on average."
    ),
    NoiseKind.HASHED_VALUES: (
        "In this protocol, each person sends about {messages:.3g} messages: {real}, one of {buckets:,}, and dummies "
        "with a random bucket. Each possible {hashed} receives {mean:.1f} dummy messages on average, and 1 in "
        "{buckets:,} of the messages of other people."
    ),
    NoiseKind.RANDOM_MESSAGES: "In this protocol, each person sends {noise_messages} besides the real one.",
    NoiseKind.AMPLIFIED: (
        "In this protocol, each message is {epsilon_up}-differentially private by itself; shuffling amplifies this."
    ),
    NoiseKind.LOCAL: "Each message is {epsilon_figure}-differentially private by itself.",
    NoiseKind.CENTRAL: "The curator adds noise with a standard deviation of about {deviation:.1f} to each count.",
    NoiseKind.TREE: (
        "Each value is counted in {levels} groups of neighbouring values, from wide groups to the value itself. Each "
        "of the {nodes:,} groups has its own noise, with a standard deviation of about {deviation:.1f} people. The "
        "groups are then made consistent."
    ),
    NoiseKind.SECRET_SHARES: (
        "Each person splits their number and a part of the noise into {shares} shares. All shares together reveal only "
        "the noisy sum, except with probability at most {leak_up}."
    ),
}

NOT_PROTECTED = (
    "The fact that a person took part, and the number of people. Facts that hold for many people together. People who "
    "take part in several releases, unless all of them are accounted for together."
)


def describe(facts: ProtocolFacts, *, people: int, error: float, beta: float, range_error: float | None = None) -> str:
    """Describe a protocol before a release, in paragraphs with titles."""
    parts = about(facts)
    expected = {"Error bounds": expected_error(facts, people=people, error=error, beta=beta, range_error=range_error)}
    first = {title: parts.pop(title) for title in ("Guarantee", "Trust")}
    return joined({**first, **expected, **parts})


def joined(parts: Mapping[str, str]) -> str:
    """Join paragraphs with their titles, with an empty line between them."""
    return "\n\n".join(f"{title}: {text}" for title, text in parts.items())


def about(facts: ProtocolFacts) -> dict[str, str]:
    """The paragraphs about a protocol that hold before and after a release, by title."""
    noise = noise_sentence(facts.noise)
    return {
        "Guarantee": guarantee_sentence(facts),
        "Trust": trust_sentence(facts),
        **({"Noise": noise} if noise else {}),
        "Not protected": NOT_PROTECTED,
    }


def guarantee_sentence(facts: ProtocolFacts) -> str:
    """What the guarantee is and what it means."""
    promised = facts.guarantee
    if not math.isfinite(promised.epsilon):
        figure = privacy_figure(promised.delta)
        return f"No differential privacy at delta={figure}, for any epsilon ({promised.basis})."
    rest = f", plus at most {privacy_figure(promised.delta)}" if promised.delta else ""
    return (
        f"{promised} ({promised.basis}). Replacing {_replaced(facts)} multiplies the probability of any result by at "
        f"most {share_at_most(math.exp(promised.epsilon), digits=3)}{rest}."
    )


def _replaced(facts: ProtocolFacts) -> str:
    """What differs between neighbouring datasets."""
    if facts.values_per_person == 1:
        return "one person's value by any other value" + (" or by none" if facts.optional else "")
    number = f"{'up to ' if facts.optional else ''}{facts.values_per_person}"
    return f"all of one person's values ({number}) by any others"


def trust_sentence(facts: ProtocolFacts) -> str:
    """Who must be trusted for the guarantee to hold."""
    if facts.trusted is Trusted.NOBODY:
        return "Nobody: each message is private by itself."
    if facts.trusted is Trusted.CURATOR:
        return (
            "The curator, who saw every value and added the noise. The guarantee holds against everyone who sees only "
            "the published result."
        )
    if facts.trusted is Trusted.DATA_HOLDER:
        return (
            "The party that holds the data, which saw every value and sampled the noise. The guarantee holds against "
            "everyone who sees only the published result."
        )
    people = counted(facts.users, "person") + (" of every batch" if facts.batches > 1 else "")
    honest = facts.honest_users
    who = f"all {people}" if honest in (None, facts.users) else f"at least {honest:,} of the {people}"
    return (
        "A shuffler and other people. The guarantee holds if a shuffler mixes all messages before anyone else sees "
        f"them and does not reveal who sent which message, and if {who} follow the protocol, since they make the noise."
    )


def noise_sentence(noise: NoiseFacts) -> str:
    """How the noise is made; empty if the protocol does not describe it."""
    if noise.kind not in _NOISE:
        return ""
    numbers: dict[str, float | str] = dict(noise.numbers)
    if noise.kind is NoiseKind.RANDOM_MESSAGES:
        numbers["noise_messages"] = counted(int(noise.numbers["messages"]), "noise message")
    elif noise.kind is NoiseKind.CANCELLING_PAIRS:
        messages = noise.numbers["messages"]
        numbers["sent"] = f"each person sends about {messages:.3g} messages, and " if messages < _MOST_MESSAGES else ""
    elif noise.kind is NoiseKind.HASHED_VALUES:
        levels = int(noise.numbers["levels"])
        numbers["hashed"] = "value" if levels == 1 else "beginning"
        numbers["real"] = "a random hash function with the bucket of their value"
        if levels > 1:
            numbers["real"] = f"for each of {levels} beginnings of their text a random hash function with its bucket"
    elif noise.kind in (NoiseKind.AMPLIFIED, NoiseKind.LOCAL):
        numbers["epsilon_up"] = share_at_most(noise.numbers["epsilon"], digits=3)
        numbers["epsilon_figure"] = privacy_figure(noise.numbers["epsilon"])
    elif noise.kind is NoiseKind.SECRET_SHARES:
        numbers["leak_up"] = share_at_most(noise.numbers["leak"])
    return _NOISE[noise.kind].format(**numbers)


def expected_error(
    facts: ProtocolFacts, *, people: int, error: float, beta: float, range_error: float | None = None
) -> str:
    """The error that holds before any release, for any data."""
    level = confidence(beta)
    if range_error is not None:
        return (
            f"{level} confidence, for any data: the number of people up to any value is {within(range_error, people)}, "
            f"for all values at once. With the same confidence, the count of each single value is {within(error)}."
        )
    hidden = "" if facts.false_positives else "; a value not shown counts as 0"
    return f"{level} confidence, all values at once, for any data: counts are {within(error, people)}{hidden}."


def protocol_title(title: str) -> str:
    """The name of a protocol on a page that does not compare it with those of the paper."""
    return title.replace(" (ours)", "")


def within(error: float, people: int | None = None) -> str:
    """An error bound as a phrase, with its share of all `people` if they are given and the share is below 100%."""
    if not math.isfinite(error):
        return "not bounded"
    share = "" if people is None else share_of_all(error, people)
    return f"within ±{people_at_most(error)}{share}"


def share_of_all(error: float, people: int, *, whole: str = "all") -> str:
    """An error bound as a share of all people, in brackets after a space; empty if it is 100% or more."""
    return f" ({percent_at_most(error, people)} of {whole})" if error < people else ""


class Guaranteed(Protocol):
    """A verified guarantee, of a release or of a task."""

    @property
    def epsilon(self) -> float:
        """The epsilon that holds."""

    @property
    def delta(self) -> float:
        """The delta that holds at this epsilon."""

    @property
    def strength(self) -> str:
        """How well it protects one person: strong, moderate or weak."""


class Protection(NamedTuple):
    """A verified guarantee in everyday terms: `factor` and `chance` are bounds, rounded so that they hold."""

    factor: str
    chance: str
    strength: str

    @classmethod
    def of(cls, guarantee: Guaranteed) -> Protection:
        """Describe a guarantee."""
        return cls(times(guarantee.epsilon), one_in(guarantee.delta), guarantee.strength)


def several_rows(found: GroupPrivacy, *, delta: float, things: str = "rows") -> str:
    """The privacy of a person with several rows or reports, where one has this `delta`; without a full stop."""
    who = f"a person with {found.rows} {things}"
    if not math.isfinite(found.epsilon):
        return f"nothing is guaranteed to {who}"
    figure = f"{'' if found.exact else 'at most '}{share_at_most(found.epsilon, digits=4)}"
    where = "(same delta)" if found.delta == delta else f"at delta {privacy_figure(found.delta)}"
    return f"{who} has epsilon {figure} {where}"


def times(epsilon: float) -> str:
    """Return e^epsilon, rounded up, as the number before "times"."""
    if epsilon > 700:  # e^709 is the largest that a float holds
        return "any number of"
    factor = math.exp(epsilon)
    if factor < 100:
        return share_at_most(factor, digits=3)
    # of a number beyond a million nobody reads more than three digits, and a float does not know all of them
    return f"{math.ceil(factor) if factor < 1e6 else int(float(share_at_most(factor, digits=3))):,}"


def one_in(chance: float | str) -> str:
    """Return a chance as people say it, never smaller than it is."""
    exact = Fraction(str(chance))  # of its decimal digits: 1e-05 is 1 in 100,000, though its float is not
    return "0" if not exact else f"1 in {int(1 / exact):,}"


def cap_sentences(cap: Cap | None) -> list[str]:
    """What counts and intervals mean under a contribution cap; nothing without one."""
    if cap is None:
        return []
    values, few = ("one value", "one") if cap.values == 1 else (f"at most {cap.values:,} values", f"{cap.values:,}")
    return [
        f"Counts include {values} per person; people with more are counted for {few} of them, chosen at random. "
        "Intervals cover these capped counts."
    ]


def more_than_cap_sentences(estimate: Estimate) -> list[str]:
    """The number of people who have more values than count, if they are counted.

    The sentence depends on the options and on the noisy result, never on whether anybody has more values.
    """
    more, cap = estimate.more_than_cap, estimate.cap
    if more is None or cap is None:
        return []
    have = f"have more than {counted(cap.values, 'value')}; their further values are not counted."
    if more.label in estimate:
        return [f"About {round(more.count):,} people ({more.low:,} to {more.high:,}) {have}"]
    return [f"At most {counted(more.high, 'person')} {have}"]


def uncapped_sentence(found: UncappedErrors) -> str:
    """The errors of a release against the numbers of people who have each value, without the cap."""
    return _uncapped([found], "the largest error")


def uncapped_in_trials(found: Sequence[UncappedErrors]) -> list[str]:
    """The errors of many simulated releases without the cap; nothing if there is none."""
    return [_uncapped(found, "the largest error of all releases")] if found else []


def _uncapped(found: Sequence[UncappedErrors], error: str) -> str:
    covered, shown = sum(one.covered for one in found), sum(one.shown for one in found)
    worst = max(found, key=lambda one: one.largest_error)
    return (
        f"Without the cap, {covered:,} of {counted(shown, 'interval')} of shown values "
        f"{'holds' if covered == 1 else 'hold'} the true count; {error} is {worst.largest_error:,.1f} people "
        f"({-worst.cap_error:+,} from the cap, {worst.noise_error:+,.1f} from noise)."
    )
