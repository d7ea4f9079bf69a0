"""`private_histogram`: a private histogram of local data.

Either every message is made, shuffled and counted, or the counts of the shuffled messages are sampled from their exact
distribution, which gives the same results with the same probabilities.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from shuffledp.data.bins import Possible, PossibleValues
from shuffledp.data.files import FormatName
from shuffledp.data.people import People
from shuffledp.data.source import Source
from shuffledp.errors import ContinuousValuesWarning, ParameterError
from shuffledp.histogram.edges import Edges
from shuffledp.histogram.periods import Periods, plain_moment
from shuffledp.jsonable import plain
from shuffledp.ledger import Ledger, Spending
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.protocol import EngineName, EstimatorName, ReleaseName, TrustName
from shuffledp.protocols.ranges import Ranges
from shuffledp.release.choose import (
    PrivacySpec,
    check_alone,
    check_delta,
    checked_shares,
    choose,
    choose_ranges,
    curator_error,
    curator_range_error,
    in_units,
    needs_order,
)
from shuffledp.release.notes import cautions, mostly_missing, notes_on, question, released_limit
from shuffledp.release.release import Release
from shuffledp.release.simulate import evaluate as evaluated
from shuffledp.validation import failure_probability


@dataclass(frozen=True, kw_only=True)
class Presentation:
    """What a release shows."""

    beta: float = 0.05
    consistent: bool = False
    ranges: bool = False
    quantiles: Sequence[float] | None = None
    evaluate: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", failure_probability(self.beta))
        if self.quantiles is not None:
            object.__setattr__(self, "quantiles", checked_shares(self.quantiles))
            object.__setattr__(self, "ranges", True)


def private_histogram(
    data: Any,
    *,
    epsilon: float,
    delta: float,
    column: Hashable | list[Any] | None = None,
    user: Hashable | None = None,
    values_per_person: int = 1,
    count_capped: bool = False,
    where: str | None = None,
    drop_missing: bool = False,
    domain: PossibleValues | None = None,
    other: bool = False,
    trust: TrustName = "shuffler",
    protocol: ReleaseName | None = None,
    estimator: EstimatorName | None = None,
    messages: bool = False,
    beta: float = 0.05,
    consistent: bool = False,
    ranges: bool = False,
    quantiles: Sequence[float] | None = None,
    evaluate: bool = False,
    ledger: Ledger | str | Path | None = None,
    engine: EngineName | None = None,
    master: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    format: FormatName | None = None,
    progress: Progress = quiet,
) -> Release:
    """Count how many people hold each value, with (epsilon, delta)-differential privacy for the whole release.

    data          names of files; a pandas, polars or Arrow table or dataset, a DuckDB relation, a Spark DataFrame; a
                  list of dictionaries, a dictionary of lists; a list, an iterator, an array or a series of values; or a
                  Counter with the number of people of each value
    column        the column with the values; not needed if there is only one. A list of columns gives a cross table,
                  with tuples as labels
    user          the column that identifies the person of a row; without it each row is one person
    values_per_person
                  the largest number of different values of a person that count; needs `user`
    count_capped  also count the people who have more different values than count; needs `user`
    where         a condition such as "country = 'DE'": other rows give their person no value
    drop_missing  leave out missing values instead of counting them as a value
    domain        the possible values, if they are publicly known: a list, `Edges` or `Periods`, for several columns one
                  of these, or None, for each; None and the default stand for any value
    other         count values outside the domain together instead of refusing them
    trust         shuffler: the result has the noise of people's shuffled messages; curator: a trusted party with all
                  values adds the noise, with a smaller error and the same guarantee
    protocol      a name of the catalogue, such as hist, sparse or dummy; by default the best for these numbers
    estimator     truncated (no false positives) or unbiased (needs a domain)
    messages      make, shuffle and count every message (needs a domain)
    beta          intervals and error bounds fail with at most this probability
    consistent    adjust the estimates to possible numbers: none negative, with the right sum
    ranges        also count ranges of values, with another protocol: the values of the domain are in order, and the
                  estimate has `range`, `quantile` and `distribution`
    quantiles     as `ranges`, with the shares of people, such as 0.5, whose quantiles are shown
    evaluate      compare with the truth; the comparison is not private
    ledger        where the release is entered before its noise is sampled; a release over its limit is refused
    engine        local or spark; `master` is the address of Spark
    delimiter     between the fields of CSV files, if not a comma; `encoding` of text files, if not UTF-8; `format`
                  of files whose names do not show it

    Randomness is cryptographic and cannot be seeded; `simulate` can.
    """
    # all parameters are checked before anything is read
    shown = Presentation(beta=beta, consistent=consistent, ranges=ranges, quantiles=quantiles, evaluate=evaluate)
    quantiles = shown.quantiles
    asked = PrivacySpec(
        epsilon=epsilon, delta=delta, trust=trust, protocol=protocol, estimator=estimator, messages=messages
    )
    check_delta(asked)
    if shown.ranges:
        check_alone(column, asked, values_per_person=values_per_person, count_capped=count_capped)
    spending = Spending(ledger)
    source = Source.of(
        data,
        column=column,
        user=user,
        values_per_person=values_per_person,
        count_capped=count_capped,
        where=where,
        drop_missing=drop_missing,
        domain=domain,
        other=other,
        engine=engine,
        master=master,
        delimiter=delimiter,
        encoding=encoding,
        format=format,
    )
    for name, dtype in source.continuous.items():
        # not a part of the release: the dtype may come from one person's value, and the caller knows it
        warnings.warn(
            f"column {name!r} has the dtype {dtype}: each different value is counted by itself, and values that hardly "
            "ever repeat are not shown. Count numbers in intervals with domain=Edges(...), dates and times by month or "
            "day with domain=Periods(...)",
            ContinuousValuesWarning,
            stacklevel=2,
        )
    options = _asked(locals())
    return _release(source, asked, shown, spending=spending, options=options, progress=progress)


def _release(
    source: Source,
    asked: PrivacySpec,
    shown: Presentation,
    *,
    spending: Spending,
    options: Mapping[str, Any],
    progress: Progress,
) -> Release:
    """Choose a protocol, enter it in the ledger, then sample its noise or make the messages."""
    beta = shown.beta
    # an interrupt between the entry in the ledger and the return says that the release counts as spent
    with spending, People(source, progress=progress) as people:
        if shown.ranges and not people.listed:
            raise needs_order()
        if asked.messages and not people.listed:
            raise ParameterError("making messages needs a domain: the possible values of every column")
        users = people.number(count=not asked.messages)
        target, curated = asked.target(people, users=users), None
        if shown.ranges:
            chosen = choose_ranges(target, listed=people.listed, trust=asked.trust, progress=progress)
        else:
            chosen = choose(target, asked, beta=beta, listed=people.listed, progress=progress)
        protocol = chosen.protocol
        if asked.trust == "shuffler" and not asked.messages:
            if isinstance(protocol, Ranges):
                curated = curator_range_error(target, protocol, beta=beta)
            else:
                curated = curator_error(target, asked, beta=beta, listed=people.listed)
        if shown.evaluate:
            people.count_uncapped()
        spend = spending.entering(protocol, what=question(people), entry=chosen.entry)
        tally = (people.send if asked.messages else people.draw)(protocol, before=spend)
        estimate = protocol.estimate(tally, beta=beta, reports=users, domain=people.domain)
        if source.possible is not None and source.possible[0] is not None:
            estimate = in_units(estimate, source.possible[0], shares=shown.quantiles)
        condition = None if source.where is None else str(source.where)
        about = partial(estimate.about, drawn=not asked.messages)
        estimate = replace(estimate, about=about, cap=source.cap, where=condition)
        estimate = estimate.consistent() if shown.consistent else estimate
        evaluation = evaluated(estimate, people.truth(estimate.labels, estimate.symbols)) if shown.evaluate else None
        error, made = protocol.error(beta).simultaneous, tally.messages if asked.messages else None
        spent = spending.finish()
        return Release(
            estimate=estimate,
            protocol=protocol,
            title=chosen.entry.title,
            column=source.name,
            messages=made,
            error=error,
            detection_limit=released_limit(estimate, error, false_positives=chosen.entry.false_positives),
            notes=(*notes_on(people, chosen, messages=made), *([] if spent is None else [spent])),
            warnings=(
                *cautions(users=users, delta=asked.delta, error=error),
                *mostly_missing(estimate, source.possible),
            ),
            curator_error=curated,
            evaluation=evaluation,
            asked={**options, **_asked_of_domain(people)},
        )


def _asked(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that differ from their defaults, without the data, as plain values."""
    named = ((name, value) for name, value in options.items() if name in _USUAL and name not in _UNSAID)
    return {name: plain(value) for name, value in named if value != _USUAL[name]}


def _asked_of_domain(people: People) -> dict[str, Any]:
    """Edges and periods, which are public, as text; for lists only their length."""
    if people.source.possible is None:
        return {}
    if len(people.source.possible) > 1:
        return {"domain": [_in_text(possible) for possible in people.source.possible]}
    (possible,) = people.source.possible
    return {"domain": people.values.size if isinstance(possible, list) else _in_text(possible)}


def _in_text(possible: Possible | None) -> int | dict[str, str] | None:
    if isinstance(possible, Edges):
        return {"edges": str(possible)}
    if isinstance(possible, Periods):
        dates = {} if possible.date_format is None else {"date_format": possible.date_format.text}
        return {"by": possible.by, "from": plain_moment(possible.start), "to": plain_moment(possible.stop), **dates}
    return None if possible is None else len(possible)


_UNSAID = ("data", "domain", "master", "ledger", "progress")
"""Data and places, which a release does not repeat."""

_USUAL = {name: option.default for name, option in inspect.signature(private_histogram).parameters.items()}
