"""A release and its estimate in English: five lines for a terminal, paragraphs for readers, small tables of text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shuffledp.explain.bars import draw_bars, text_bars
from shuffledp.explain.ledger import spent_note
from shuffledp.explain.plan import WHY, warning_sentence
from shuffledp.explain.protocols import (
    about,
    cap_sentences,
    more_than_cap_sentences,
    one_in,
    protocol_title,
    several_rows,
    uncapped_sentence,
    within,
)
from shuffledp.explain.series import Series, draw_series, is_condensed, series_of, text_series
from shuffledp.formatting import (
    at_most,
    confidence,
    counted,
    people_at_most,
    privacy_figure,
    readable,
    sentence,
    share_at_most,
    shown,
)
from shuffledp.histogram.estimate import MOST_BARS, Estimate, Row, values_among
from shuffledp.histogram.facts import Detection, Trusted
from shuffledp.histogram.intervals import Share
from shuffledp.histogram.labels import HIDDEN, Absent, NoText
from shuffledp.histogram.ordered_estimate import Distribution, OrderedEstimate, Quantile, written
from shuffledp.ledger import Spent
from shuffledp.release.choose import CuratorError
from shuffledp.release.notes import Caution, Note, NoteKind
from shuffledp.release.simulate import Evaluation

if TYPE_CHECKING:
    from shuffledp.release.release import Privacy, Release

_MOST_BITS = 64
"""Bits of the largest number of possible values that is worth printing."""

_NOTES: Mapping[NoteKind, str] = {
    NoteKind.CURATOR: "The curator added the noise to the true counts; there were no messages and no shuffler.",
    NoteKind.SAMPLED: "Simulated: noise was sampled from the exact distribution of the shuffled messages.",
    NoteKind.MESSAGES: ("The party that holds the data created, shuffled and counted {number}. It saw every value."),
    NoteKind.CONDITION: (
        "Only rows that satisfy the condition {where} count. People without such a row are counted as {absent}; their "
        "number is private too."
    ),
    NoteKind.SEVERAL_VALUES: (
        "{which} of each person {count}, chosen at random if there are more. Rows without a person are left out."
    ),
    NoteKind.ROWS: (
        "Each row counts as one person. The guarantee is per row: a person with several rows is protected less, unless "
        "user= names the column that identifies people."
    ),
    NoteKind.ONE_ROW_PER_PERSON: "One row of each person counts, chosen at random. Rows without a person are left out.",
    NoteKind.MISSING_IS_A_VALUE: "A missing value counts as a value of its own.",
    NoteKind.MISSING_IS_NO_VALUE: "A missing value is not a value; people who have no other value still count.",
    NoteKind.MISSING_IS_DROPPED: "Rows without a value are left out. Which rows these are is not protected.",
    NoteKind.TIME_ZONES: "Dates and times are counted as written; those with a time zone are counted in UTC.",
    NoteKind.LISTED: "The list of {number} is considered public.",
    NoteKind.ANY_VALUE: (
        "Any value of up to {bytes:,} bytes is possible. Values that nobody holds do not affect the result."
    ),
}


def lines(release: Release) -> list[str]:
    """The answer in a few lines: guarantee, error and detection limit, contribution cap, values not shown, protocol."""
    return [
        *([] if release.estimate.passing is None else [condition_sentence(release.estimate)]),
        f"Guarantee: {_guarantee(release)}.",
        f"{_confidence(release.estimate)}{_detection_limit(release)}",
        *cap_sentences(release.estimate.cap),
        *more_than_cap_sentences(release.estimate),
        _not_shown(release.estimate),
        _protocol(release),
    ]


def title(release: Release) -> str:
    """What was counted: the column and the condition, if there was one."""
    where = release.estimate.where
    return shown(release.column) + ("" if where is None else f" where {shown(where, width=200)}")


def condition_sentence(estimate: Estimate) -> str:
    """How many people satisfy the condition."""
    passing = estimate.passing
    assert passing is not None
    return (
        f"Condition: about {counted(round(passing.count), 'person')} ({passing.low:,} to {passing.high:,}) have a "
        f"value where {shown(estimate.where, width=200)}."
    )


def share_interval(share: Share) -> str:
    """A share with its interval, rounded outwards."""
    return f"{share.share:.1%} ({math.floor(1000 * share.low) / 10:.1f} to {math.ceil(1000 * share.high) / 10:.1f}%)"


def paragraphs(release: Release) -> dict[str, str]:
    """The full explanation of a release: paragraphs by title."""
    parts = story(release)
    last = {title: parts.pop(title) for title in ("Not protected",) if title in parts}
    saving, warnings = release.smaller_curator_error, warning_sentences(release)
    return {
        **parts,
        "How people were counted": " ".join(note_sentences(release)),
        **({} if saving is None else {"Tip": curator_tip(saving, option='trust="curator"')}),
        **last,
        **({"Warning": " ".join(f"{sentence(text)}." for text in warnings)} if warnings else {}),
    }


def story(release: Release) -> dict[str, str]:
    """The explanation of the estimate and the protocol of a release, with the privacy of several rows."""
    parts, rows = estimate_paragraphs(release.estimate), _several_rows(release)
    if rows:
        parts["Guarantee"] += f" This is per row: {rows}."
    return parts


def estimate_paragraphs(estimate: Estimate) -> dict[str, str]:
    """The explanation of an estimate and its protocol: paragraphs by title."""
    parts = {"Result": _result(estimate), "Error bounds": " ".join(_confidence_sentences(estimate))}
    if isinstance(estimate, OrderedEstimate):
        parts["Distribution"] = " ".join(_distribution(estimate))
    return {**parts, **about(replace(estimate.about(), values_per_person=_values_each(estimate)))}


def note_sentences(release: Release) -> list[str]:
    """How people and values were counted, in sentences."""
    return [_note_sentence(note) for note in release.notes]


def warning_sentences(release: Release) -> list[str]:
    """The warnings about a release, without a capital letter or a full stop."""
    estimate = release.estimate
    delta = 0.0 if estimate.guarantee is None else estimate.guarantee.delta
    error = estimate.largest_distance if len(estimate) else release.error  # as it is shown beside the warning
    return [
        warning_sentence(warning, users=estimate.people, delta=delta, error=error, published=True)
        if isinstance(warning, Caution)
        else warning
        for warning in release.warnings
    ]


def cautions(release: Release) -> Iterator[str]:
    """Warnings, and whether the release is not private because it has an evaluation."""
    yield from (f"Warning: {text}" for text in warning_sentences(release))
    if release.evaluation is not None:
        yield "NOT PRIVATE, do not publish: this release contains a comparison with the true counts."


def summary(estimate: Estimate) -> str:
    """An estimate in one line."""
    promised = estimate.guarantee
    private = ""
    if promised is not None:
        bounds = (share_at_most(bound, digits=4) for bound in (promised.epsilon, promised.delta))
        private = f", ({', '.join(bounds)}) private"
    return f"{values_shown(estimate)} of {counted(estimate.people, 'person')}{private}"


def noun(estimate: Estimate) -> str:
    """What is counted: a text that nobody listed, or a value."""
    return "text" if estimate.detection is not None and estimate.detection.longest is not None else "value"


def hides_some(estimate: Estimate) -> bool:
    """Whether the publisher has hidden frequent texts, which are counted in one row."""
    return any(label == HIDDEN for label in estimate.labels.tolist() if isinstance(label, NoText))


def not_shown(estimate: Estimate) -> str:
    """The attribute of values that are in no row."""
    return "neither shown nor hidden" if hides_some(estimate) else "not shown"


def values_shown(estimate: Estimate) -> str:
    """The number of reported values, with their noun."""
    return counted(estimate.values_shown, noun(estimate))


def nothing_shown(estimate: Estimate) -> str:
    """The sentence of a release without values."""
    return f"No {noun(estimate)} is frequent enough to be shown."


def text(release: Release) -> str:
    """A release as a table of text, with its cautions."""
    head = f"{title(release)}: {summary(release.estimate)}"
    return "\n".join([head, "", release.estimate.to_text(column=release.column), *cautions(release)])


def text_table(estimate: Estimate, *, limit: int | None, column: str) -> str:
    """The largest values as a table of text with bars; if ordered values are left out, also a chart of all."""
    rows = estimate.rows_to_show(limit)
    table = [text_bars(rows, column=column)] if rows else []
    if is_condensed(rows, estimate) and (series := series_of(estimate, most=_TEXT_COLUMNS)) is not None:
        table.insert(0, text_series(series) + "\n")
    return "\n".join([*table, *_below(estimate, rows)])


_TEXT_COLUMNS = 66
"""Columns of a chart of text, which with the axis fit 80 characters."""


def plot(estimate: Estimate, axes: Any, *, limit: int | None, log: bool) -> Any:
    """Draw ordered values as columns, and others as bars, on matplotlib axes; return the axes."""
    if limit is None and estimate.in_order:
        rows = estimate.rows_in_order()
    else:
        rows = estimate.rows_to_show(MOST_BARS if limit is None else limit)
    series = Series.of(rows, log=log) if estimate.in_order else None
    if series is not None:
        return draw_series(series, axes)
    return draw_bars(axes, rows, log=log)


def notebook(release: Release) -> str:
    """A release as HTML for a notebook: its cautions and the largest values."""
    return html_table(
        release.estimate, limit=MOST_BARS, column=release.column, title=title(release), cautions=cautions(release)
    )


def html_table(estimate: Estimate, *, limit: int, column: str, title: str, cautions: Iterable[str] = ()) -> str:
    """The values as HTML with charts: a part of a page, without scripts."""
    from shuffledp.explain.page import cell

    below = _below(estimate, estimate.rows_to_show(limit))
    return cell(
        estimate, limit=limit, column=column, title=title, summary=summary(estimate), cautions=cautions, below=below
    )


def evaluation_sentence(found: Evaluation) -> str:
    """The true errors of a release."""
    shown = "is" if found.found == 1 else "are"
    capped = "" if found.uncapped is None else "capped "
    return (
        f"compared with the true {capped}counts, the largest error is {found.largest_error:,.1f} people; all intervals "
        f"hold at once: {'yes' if found.covered else 'no'}; {found.found:,} of {counted(found.occupied, 'value')} "
        f"present {shown} shown; {counted(found.false_positives, 'false positive')}."
        + ("" if found.uncapped is None else f" {uncapped_sentence(found.uncapped)}")
    )


def curator_tip(saving: CuratorError, *, option: str) -> str:
    """The smaller error of a curator; `option` is how the reader asks for it."""
    what = "of the number of people up to any value " if saving.ranges else ""
    return (
        f"if you are trusted with the raw data, {option} gives the same guarantee with a smaller planned error {what}"
        f"({at_most(saving.curator)} instead of {people_at_most(saving.release)})."
    )


def messages_made(release: Release) -> str:
    """The number of messages that were made, or why there are none."""
    if release.messages is not None:
        return f"{release.messages:,}, created, shuffled and counted"
    if release.estimate.about().trusted is Trusted.CURATOR:
        return "none: the curator is given the values"
    return "none: their counts were sampled from the exact distribution"


def possible_values(release: Release) -> str:
    """The number of possible values, or the longest one if no list was given."""
    detection = release.estimate.detection
    if detection is not None and detection.longest is not None:
        return f"any text of up to {detection.longest:,} bytes"
    longest = release.longest_value
    return readable(release.estimate.possible) if longest is None else f"any value of up to {longest:,} bytes"


def privacy_line(privacy: Privacy) -> str:
    """The guarantee of a release and its neighbouring datasets, in one line."""
    if privacy.guarantee is None:
        return f"no guarantee was requested, for {privacy.neighbours}"
    if not math.isfinite(privacy.guarantee.epsilon):
        return f"no differential privacy at delta={privacy_figure(privacy.guarantee.delta)}, for {privacy.neighbours}"
    return f"{privacy.guarantee}, for {privacy.neighbours}"


def quantile_interval(quantile: Quantile) -> str:
    """The interval of a quantile: between edges, or from one label to another."""
    low, high = (None if end is None else written(end) for end in (quantile.low, quantile.high))
    if not quantile.edged:
        return f"{low} to {high}" if quantile.low != quantile.high else str(low)
    if low is None or high is None:
        return "anything" if low == high else f"below {high}" if low is None else f"{low} and above"
    return f"{low} to below {high}"


UNDETERMINED = "the data do not determine the median"


def is_determined(quantile: Quantile, distribution: Distribution) -> bool:
    """Tell whether the interval of a quantile leaves out any value."""
    if quantile.edged:
        return quantile.low is not None or quantile.high is not None
    first, last = distribution.labels[[0, -1]].tolist()
    return (quantile.low, quantile.high) != (first, last) or first == last


def _guarantee(release: Release) -> str:
    if release.estimate.guarantee is None:
        return "none was requested"
    if release.per_row:
        return f"{release.estimate.guarantee} per row (each row counts as one person); {_several_rows(release)}"
    values = _values_each(release.estimate)
    person = "person and round" if "round" in release.asked else "person"
    return f"{release.estimate.guarantee} per {person}" + (f", for up to {values} values" if values > 1 else "")


def _several_rows(release: Release) -> str:
    """The privacy of a person with several rows; empty if the guarantee is per person."""
    guarantee, found = release.estimate.guarantee, release.group_privacy
    return "" if guarantee is None or found is None else several_rows(found, delta=guarantee.delta)


def _values_each(estimate: Estimate) -> int:
    """The most values of a person that count, without the bin of people who have more."""
    return estimate.values_per_person if estimate.cap is None else estimate.cap.values


def _protocol(release: Release) -> str:
    """The protocol, and why it was chosen if that is known."""
    known = (note for note in release.notes if isinstance(note, Note) and note.kind is NoteKind.PROTOCOL)
    note = next(known, None)
    return f"Protocol: {protocol_title(release.title)}." if note is None else _note(note)


def _note_sentence(note: Note | Spent | str) -> str:
    """A note in sentences; a stored one is text already."""
    if isinstance(note, Note):
        return _note(note)
    return spent_note(note) if isinstance(note, Spent) else note


def _note(note: Note) -> str:
    facts: dict[str, Any] = dict(note.facts)
    if note.kind is NoteKind.PROTOCOL:
        why = WHY[facts["reason"]] + (", of those that fit" if facts["limited"] else "")
        return f"Protocol: {facts['title']}, {why}."
    if note.kind is NoteKind.CONDITION:
        facts["absent"] = Absent(most=0)
    elif note.kind is NoteKind.MESSAGES:
        facts["number"] = counted(facts["number"], "message")
    elif note.kind is NoteKind.SEVERAL_VALUES:
        number = facts["number"]
        facts["which"] = "One of the different values" if number == 1 else f"Up to {number} different values"
        facts["count"] = "counts" if number == 1 else "count"
    elif note.kind is NoteKind.LISTED:
        facts["number"] = counted(facts["number"], "possible value")
    return _NOTES[note.kind].format(**facts)


def _result(estimate: Estimate) -> str:
    values = _values_each(estimate)
    several = values > 1 and estimate.padding_bins
    people = counted(estimate.people, "person") + (f" with up to {values} values each" if several else "")
    found = values_shown(estimate)
    if estimate.detection is not None and estimate.detection.longest is not None:
        return f"{found} shown, for {people}. Any other text of up to {estimate.detection.longest:,} bytes is possible."
    if estimate.possible.bit_length() > _MOST_BITS:
        return f"{found} shown, for {people}; any other value is possible too."
    return f"{found} shown, of {readable(estimate.possible)} possible, for {people}."


def _confidence(estimate: Estimate, *, share: bool = False) -> str:
    """The bounds that hold at once for shown counts and for values not shown."""
    bounds, off = [], estimate.largest_distance
    if len(estimate):
        bounds.append(f"shown counts are {within(off, estimate.people if share else None)}")
    what = noun(estimate)
    if not estimate.reports_all:
        most = estimate.simultaneous.unreported_high
        has = "has" if estimate.cap is None else "is counted for"
        number = readable(most) if bounds else counted(most, "person")
        bounds.append(f"any {what} {not_shown(estimate)} {has} at most {number}")
    return f"{confidence(estimate.beta)} confidence, all {what}s at once: {'; '.join(bounds)}."


def _confidence_sentences(estimate: Estimate) -> Iterator[str]:
    yield _confidence(estimate, share=True)
    if estimate.detection is not None:
        yield _detected(estimate, estimate.detection)
    yield from cap_sentences(estimate.cap)
    yield from more_than_cap_sentences(estimate)
    if estimate.adjusted:
        yield "The estimates were adjusted to possible numbers: none is negative, and the total fits the people."
    if estimate.bins > 1 or not estimate.reports_all:
        yield _false_positives(estimate)


def _false_positives(estimate: Estimate) -> str:
    if estimate.detection is not None:
        return (
            f"The chance that any {noun(estimate)} shown is held by nobody is at most "
            f"{one_in(estimate.detection.risk)}, if everyone follows the protocol."
        )
    if estimate.estimator == "truncated":
        return "A value that nobody holds is never shown."
    which = "Every possible value is" if len(estimate) == estimate.bins else "Only the values that were looked up are"
    return f"{which} shown, including values that nobody holds."


def _detection_limit(release: Release) -> str:
    """The count from which a value stands out from the noise, or is shown if only some values are."""
    if release.estimate.detection is not None:
        return f" {_detected(release.estimate, release.estimate.detection)}"
    if release.estimate.estimator == "truncated":
        return ""
    return f" Detection limit: {people_at_most(release.detection_limit)}."


def _detected(estimate: Estimate, detection: Detection) -> str:
    """The number of people from which a value is shown, one value at a time."""
    limit, chance = people_at_most(detection.limit), confidence(estimate.beta)
    shown = "shown or hidden" if hides_some(estimate) else "shown"
    return f"Any {noun(estimate)} with at least {limit} is {shown} with {chance} probability."


def _not_shown(estimate: Estimate) -> str:
    if not estimate.reports_all:
        rare = f"A {noun(estimate)} {not_shown(estimate)} has too few people to be detected, or none."
        return f"{rare} {_false_positives(estimate)}"
    return f"{_false_positives(estimate)} Counts near zero may be only noise."


def _distribution(estimate: OrderedEstimate) -> Iterator[str]:
    distribution = estimate.distribution()
    places = "below every edge" if estimate.edges is not None else "up to every value"
    yield (
        f"{confidence(estimate.beta)} confidence, everywhere at once: the number of people {places} is "
        f"{within(distribution.widest, estimate.people)}, and all quantiles lie in their intervals."
    )
    if len(distribution) > 1:
        middle = distribution.quantile(0.5)
        known = f"The median is about {written(middle.value)} ({quantile_interval(middle)})."
        yield known if is_determined(middle, distribution) else f"{UNDETERMINED[0].upper()}{UNDETERMINED[1:]}."
    if estimate.some_without:
        yield "People without a value in this order belong to no range; quantiles are of the other people."


def _below(estimate: Estimate, rows: Sequence[Row]) -> Iterator[str]:
    if not estimate.values_shown:
        yield nothing_shown(estimate)
    elif (more := estimate.values_shown - values_among(row.label for row in rows)) > 0:
        yield more_values(estimate, more)
    if any(row.count < 0 for row in rows):
        yield NEGATIVE
    if estimate.passing is not None:
        yield condition_sentence(estimate)
    yield f"{confidence(estimate.beta)} confidence, all intervals at once."
    if estimate.detection is not None:
        yield f"{_detected(estimate, estimate.detection)} {_false_positives(estimate)}"
    yield from cap_sentences(estimate.cap)
    yield from more_than_cap_sentences(estimate)


NEGATIVE = "An estimate below 0 is noise around a small count; intervals are possible counts."


def more_values(estimate: Estimate, more: int) -> str:
    """The number of values that a table leaves out."""
    if estimate.in_order:
        number = estimate.values_shown
        return f"the {counted(number - more, f'largest {noun(estimate)}')} of {number:,}, in order"
    return f"and {counted(more, f'more {noun(estimate)}')}"
