"""The main job: a private histogram of data that one holds.

It is the result of a shuffled protocol. Either every message is really made, shuffled and counted, or the counts of the
shuffled messages are drawn from their exact law, which gives the same results with the same probabilities.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from shuffledp.data.encoders import Possible, PossibleValues
from shuffledp.data.files import FormatName
from shuffledp.data.people import People
from shuffledp.errors import ParameterError
from shuffledp.histogram.edges import Edges
from shuffledp.histogram.periods import Periods, plain_moment
from shuffledp.jsonable import plain
from shuffledp.ledger import Ledger, Spending
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.protocol import EngineName, EstimatorName, ReleaseName, TrustName
from shuffledp.protocols.ranges import Ranges
from shuffledp.protocols.target import Target
from shuffledp.release.choose import check_trust, choose, curator_error, curator_range_error
from shuffledp.release.evaluate import evaluate as evaluated
from shuffledp.release.notes import notes, question
from shuffledp.release.plan_rows import PRACTICAL_MESSAGES, detection_limit
from shuffledp.release.ranges import check_alone, checked_shares, choose_ranges, in_units, needs_order
from shuffledp.release.release import Release
from shuffledp.validation import failure_probability


def private_histogram(
    data: Any,
    *,
    epsilon: float,
    delta: float,
    column: Hashable | list[Any] | None = None,
    user: Hashable | None = None,
    values_per_person: int = 1,
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
    """How many people hold each value, with (epsilon, delta)-differential privacy for the whole release.

    data          names of files; a pandas, polars or Arrow table or dataset, a DuckDB relation, a Spark DataFrame; a
                  list of dictionaries, a dictionary of lists; a list, an iterator, an array or a series of values; or a
                  Counter, which says how many people hold each value
    column        the column with the values; not needed where there is only one. A list of columns gives a cross
                  table, with tuples as labels
    user          the column that says whose row it is; without it each row is one person
    values_per_person
                  how many different values of a person count at most; needs `user`
    where         a condition such as "country = 'DE'": rows that do not satisfy it give their person no value
    drop_missing  leave out missing values instead of counting them as a value
    domain        the values that are possible, if they are publicly known: a list, `Edges` or `Periods`, for several
                  columns one of these for each; by default anything is possible
    other         count values outside the domain together instead of refusing them
    trust         shuffler: the result is what people's shuffled messages would give; curator: what a trusted party
                  who is given every value publishes, with a smaller error and the same promise
    protocol      a name of the catalogue, such as hist, sparse or dummy; by default the best for these numbers
    estimator     truncated (never reports a value that nobody holds) or unbiased (needs a domain)
    messages      really make, shuffle and count every message (needs a domain)
    consistent    adjust the estimates to numbers that are possible: none negative, together as many as people hold
    ranges        count ranges of values too, by a protocol of their own: the values of the domain are in order, and the
                  estimate has `range`, `quantile` and `distribution`
    quantiles     the same, and the shares of people, such as 0.5, whose quantiles are shown
    evaluate      compare with the truth; the comparison is not private
    ledger        where the release is entered before its noise is drawn; refused if it is over the limit
    engine        local or spark, `master` its address
    delimiter     between the fields of CSV files, if not a comma; `encoding` of text files, if not UTF-8; `format`
                  of files whose names do not say it

    Randomness is cryptographic and cannot be seeded; `simulate` can.
    """
    if quantiles is not None:
        quantiles = checked_shares(quantiles)
    asked = _asked(locals())
    # checked before anything is read; the number of people is not known yet
    Target(users=1, bins=1, epsilon=epsilon, delta=delta)
    beta = failure_probability(beta)
    if ranges := ranges or quantiles is not None:
        check_alone(column, protocol=protocol, estimator=estimator, values_per_person=values_per_person)
    spending = Spending(ledger)
    check_trust(trust, messages=messages)
    with (
        spending,
        People(
            data,
            column=column,
            user=user,
            values_per_person=values_per_person,
            where=where,
            drop_missing=drop_missing,
            domain=domain,
            other=other,
            engine=engine,
            master=master,
            delimiter=delimiter,
            encoding=encoding,
            format=format,
            progress=progress,
        ) as people,
    ):
        if ranges and not people.listed:
            raise needs_order()
        if messages and not people.listed:
            raise ParameterError("making messages needs a domain: the list of possible values")
        users = people.number(count=not messages)
        target = Target(
            users=users,
            bins=people.domain.size,
            epsilon=epsilon,
            delta=delta,
            values_per_person=values_per_person,
            padding_bins=people.padding_bins,
        )
        instead = None
        if ranges:
            chosen = choose_ranges(target, listed=people.listed, trust=trust, progress=progress)
            if trust == "shuffler" and not messages and isinstance(chosen.protocol, Ranges):
                instead = curator_range_error(target, chosen.protocol, beta=beta)
        else:
            chosen = choose(
                target,
                beta=beta,
                protocol=protocol,
                estimator=estimator,
                listed=people.listed,
                practical_messages=PRACTICAL_MESSAGES if messages else math.inf,
                trust=trust,
                progress=progress,
            )
            if trust == "shuffler" and not messages:
                instead = curator_error(target, beta=beta, estimator=estimator, listed=people.listed)
        spend = spending.entering(chosen.protocol, what=question(people), entry=chosen.entry)
        tally = (people.send if messages else people.draw)(chosen.protocol, before=spend)
        estimate = chosen.protocol.estimate(tally, beta=beta, reports=users, domain=people.domain)
        if people.possible is not None:
            estimate = in_units(estimate, people.possible[0], shares=quantiles)
        estimate = replace(estimate, about=partial(estimate.about, drawn=not messages))
        estimate = estimate.consistent() if consistent else estimate
        evaluation = evaluated(estimate, people.truth(estimate.labels, estimate.symbols)) if evaluate else None
    from shuffledp.explain.ledger import spent_note
    from shuffledp.explain.plan import warnings

    error, made = chosen.protocol.error(beta).simultaneous, tally.messages if messages else None
    false_positives = chosen.entry.false_positives
    return Release(
        estimate=estimate,
        protocol=chosen.protocol,
        title=chosen.entry.title,
        column=people.column.name,
        messages=made,
        error=error,
        # where values can be hidden, the same bound as for those that are missing from the result
        detection_limit=detection_limit(error, false_positives=True)
        if false_positives
        else estimate.simultaneous.unreported_high + 1,
        notes=(*notes(people, chosen, made=made), *spent_note(spending.finish())),
        warnings=tuple(warnings(users=users, delta=delta, error=error)),
        curator_error=instead,
        evaluation=evaluation,
        asked={**asked, **_asked_of_domain(people)},
    )


def _asked(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that differ from what they are by default, but for the data, as plain values."""
    named = ((name, value) for name, value in options.items() if name not in _UNSAID)
    return {name: plain(value) for name, value in named if value != _USUAL[name]}


def _asked_of_domain(people: People) -> dict[str, Any]:
    """What was said to be possible: edges and periods, which are public, as text; of lists only how long they are."""
    if people.possible is None:
        return {}
    if len(people.possible) > 1:
        return {"domain": [_in_text(possible) for possible in people.possible]}
    (possible,) = people.possible
    return {"domain": people.domain.size if isinstance(possible, list) else _in_text(possible)}


def _in_text(possible: Possible) -> int | dict[str, str]:
    if isinstance(possible, Edges):
        return {"edges": str(possible)}
    if isinstance(possible, Periods):
        return {"by": possible.by, "from": plain_moment(possible.start), "to": plain_moment(possible.stop)}
    return len(possible)


_UNSAID = ("data", "domain", "master", "ledger", "progress")
"""What a release does not repeat of what was asked: data, and where something is."""

_USUAL = {name: option.default for name, option in inspect.signature(private_histogram).parameters.items()}
"""What options of `private_histogram` are unless they are given."""
