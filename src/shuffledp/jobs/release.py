"""The main job: a private histogram of data that one holds.

It is the result of a shuffled protocol. Either every message is really made, shuffled and counted, or the counts of the
shuffled messages are drawn from their exact law, which gives the same results with the same probabilities.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from shuffledp import __version__
from shuffledp.checks import failure_probability
from shuffledp.engines.bins.possible_values import PossibleValues
from shuffledp.engines.column import Column
from shuffledp.engines.people import EVERYTHING, LONGEST_VALUE, People
from shuffledp.engines.sources.files import FormatName
from shuffledp.errors import ParameterError
from shuffledp.jobs.advice import PRACTICAL_MESSAGES, warnings
from shuffledp.jobs.choose import Choice, choose
from shuffledp.jobs.evaluate import Evaluation
from shuffledp.jobs.evaluate import evaluate as evaluated
from shuffledp.jobs.privacy import Privacy
from shuffledp.jobs.ranges import check_alone, checked_shares, choose_ranges, in_units, needs_order
from shuffledp.jobs.rows import surely_seen
from shuffledp.jobs.stored import from_text, to_text
from shuffledp.jobs.trust import check_trust, curator_error, curator_in_words
from shuffledp.ledger import Ledger, Spending
from shuffledp.pipeline.estimate import MOST_BARS, Estimate
from shuffledp.pipeline.labels import Absent
from shuffledp.pipeline.ordered_estimate import QUARTILES
from shuffledp.plain import plain
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.names import EngineName, EstimatorName, ReleaseName, TrustName
from shuffledp.protocols.promise import NOT_PROTECTED
from shuffledp.protocols.protocol import HistogramProtocol
from shuffledp.protocols.target import Target
from shuffledp.words import counted, in_paragraphs, readable, sentence, shown


@dataclass(frozen=True, eq=False, kw_only=True)
class Release:
    """A private histogram, the protocol behind it, and all that its reader must know.

    It prints as a table, shows itself with bars in a notebook, and is written to a file by `save`.
    `messages` is how many were really made, None if their counts were drawn from their exact law. `error` is what no
    estimate is off by with probability 1 - beta, in people; a value with at least `surely_seen` people then stands out.
    `notes` say how people and values were counted, `warnings` what is amiss. `curator_error` is the error that
    `trust="curator"` would have, where that was not asked for. `evaluation` is not private. `made` is the day,
    `version` that of this package, `asked` the options that were given, without the data.
    """

    estimate: Estimate
    protocol: HistogramProtocol
    title: str
    column: str
    messages: int | None
    error: float
    surely_seen: int
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    curator_error: float | None = None
    evaluation: Evaluation | None = None
    made: date = field(default_factory=lambda: datetime.now(UTC).date())
    version: str = __version__
    asked: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        private = "" if self.evaluation is None else "; NOT PRIVATE, has an evaluation"
        return f"<Release of {shown(self.column)}: {self.estimate.summary()}{private}>"

    def __str__(self) -> str:
        """The largest values as a table of text, and what must be known at once."""
        title = f"{shown(self.column)}: {self.estimate.summary()}"
        return "\n".join([title, "", self.estimate.to_text(column=self.column), *self._cautions()])

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        cautions = "".join(f"<p><b>{escape(text)}</b></p>" for text in self._cautions())
        return cautions + self.estimate.bars_html(column=self.column, title=shown(self.column))

    def _cautions(self) -> Iterator[str]:
        yield from (f"Warning: {text}" for text in self.warnings)
        if self.evaluation is not None:
            yield "NOT PRIVATE, do not publish: this release holds a comparison with the true counts."

    @property
    def privacy(self) -> Privacy:
        """What is promised: `guarantee`, and `delta(epsilon)` and `epsilon(delta)` of the whole curve."""
        return Privacy(guarantee=self.estimate.guarantee, curve=self.protocol.privacy)

    @property
    def possible_values(self) -> str:
        """How many values were possible, or which, where no list of them was given."""
        number = self.estimate.possible
        return f"any value of up to {readable(LONGEST_VALUE)} bytes" if number == EVERYTHING else readable(number)

    def plot(self, ax: Any = None, *, limit: int = MOST_BARS) -> Any:
        """The largest values as bars, with intervals, on axes of matplotlib; returns the axes."""
        axes = self.estimate.plot(ax, limit=limit)
        axes.set_title(shown(self.column), parse_math=False)
        return axes

    def to_html(self) -> str:
        """The report: a page of its own, without scripts, for any screen and for paper."""
        from shuffledp.report.page import page

        return page(self)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Writes a .html, .csv, .json or .parquet file, by the ending of its name; returns its path.

        A file that exists is left alone unless `overwrite` is set.
        """
        from shuffledp.report.release_file import save

        return save(self, Path(path), overwrite=overwrite)

    @classmethod
    def from_json(cls, source: str | Path) -> Release:
        """The release that a text of `to_json`, or a file with it, holds.

        The protocol and its curve are made anew from their parameters. What does not come back: the list of a domain,
        unless every value is reported; the kinds of unusual labels, which become text; the true counts of an
        evaluation.
        """
        return from_text(source)

    def explain(self) -> str:
        """The whole story in short paragraphs with titles: that of the estimate, and how people were counted."""
        return in_paragraphs(self.story())

    def story(self) -> dict[str, str]:
        """The paragraphs of `explain`, by title."""
        story = self.estimate.story()
        last = {NOT_PROTECTED: text} if (text := story.pop(NOT_PROTECTED, "")) else {}
        warnings = {"Warning": ". ".join(map(sentence, self.warnings)) + "."} if self.warnings else {}
        curator = curator_in_words(self.curator_error, error=self.error)
        return {**story, "How people were counted": " ".join(self.notes), **curator, **last, **warnings}

    def to_json(self) -> str:
        """Everything about the release as one JSON object, which `from_json` reads."""
        return to_text(self)


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
    asked = _asked(locals())
    # checked before anything is read; the number of people is not known yet
    Target(users=1, bins=1, epsilon=epsilon, delta=delta)
    beta = failure_probability(beta)
    if ranges := ranges or quantiles is not None:
        checked_shares(QUARTILES if quantiles is None else quantiles)
        check_alone(
            protocol=(protocol, None),
            estimator=(estimator, None),
            values_per_person=(values_per_person, 1),
            column=(isinstance(column, list | tuple) and len(column) > 1, False),
        )
    spending = Spending(ledger)
    check_trust(trust, messages=messages)
    with People(
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
    ) as people:
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
            fillers=people.fillers,
        )
        instead = None
        if ranges:
            chosen = choose_ranges(target, listed=people.listed, trust=trust, progress=progress)
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
        spend = spending.entering(chosen.protocol, what=people.column.name, entry=chosen.entry)
        tally = (people.send if messages else people.draw)(chosen.protocol, before=spend)
        estimate = in_units(chosen.protocol.estimate(tally, beta=beta, reports=users, domain=people.domain), domain)
        estimate = replace(estimate, about=partial(estimate.about, drawn=not messages))
        estimate = estimate.consistent() if consistent else estimate
        evaluation = evaluated(estimate, people.truth(estimate.labels, estimate.symbols)) if evaluate else None
    error, made = chosen.protocol.error(beta).simultaneous, tally.messages if messages else None
    phantoms = chosen.entry.phantoms
    return Release(
        estimate=estimate,
        protocol=chosen.protocol,
        title=chosen.entry.title,
        column=people.column.name,
        messages=made,
        error=error,
        # where values can be hidden, the same bound as for those that are missing from the result
        surely_seen=surely_seen(error, phantoms=True) if phantoms else estimate.simultaneous.unreported_high + 1,
        notes=(*_notes(people, chosen, made=made), *spending.notes()),
        warnings=tuple(warnings(users=users, delta=delta, error=error)),
        curator_error=instead,
        evaluation=evaluation,
        asked={**asked, **({"domain": people.domain.size} if people.listed else {})},
    )


def _asked(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that differ from what they are by default, but for the data, as plain values."""
    named = ((name, value) for name, value in options.items() if name not in _UNSAID)
    return {name: plain(value) for name, value in named if value != _USUAL[name]}


_UNSAID = ("data", "domain", "master", "ledger", "progress")
"""What a release does not repeat of what was asked: data, and where something is."""

_USUAL = {name: option.default for name, option in inspect.signature(private_histogram).parameters.items()}
"""What options of `private_histogram` are unless they are given."""


def _notes(people: People, chosen: Choice, *, made: int | None) -> Iterator[str]:
    """How people and values were counted, in sentences."""
    yield f"Protocol: {chosen.entry.title}{', as asked' if chosen.asked else ''}."
    if not chosen.asked:
        yield f"It was chosen because {chosen.reason}."
    if chosen.entry.model == "central":
        yield "Whoever holds the data added the noise to the true counts: there are no messages and no shuffler."
    elif made is None:
        yield (
            "No messages were made: the counts of the shuffled messages were drawn from their exact law, which gives "
            "the same results with the same probabilities."
        )
    else:
        yield (
            f"All {counted(made, 'message')} were made, shuffled and counted by whoever holds the data, who has seen "
            "every value."
        )
    yield from _rows_in_words(people.column)
    if people.listed:
        listed = counted(people.domain.size, "possible value")
        yield f"The list of the {listed} is taken for public."
    else:
        yield (
            f"Any value of up to {readable(LONGEST_VALUE)} bytes is possible, and values that nobody holds have no "
            "influence on the result."
        )


def _rows_in_words(column: Column) -> Iterator[str]:
    """How rows become people and their values."""
    if column.where is not None:
        yield (
            f"Only rows that satisfy the condition {column.where} count; people without such a row are counted as "
            f"{Absent(most=0)}, and their number is as private as any other."
        )
    if column.values_per_person > 1:
        yield (
            f"Of each person up to {column.values_per_person} different values count, chosen at random where there are "
            "more; rows that name nobody are left out."
        )
    elif column.user is None:
        yield (
            "Each row is taken for one person; a person with several rows is protected only as far as that many "
            "releases together would protect them."
        )
    else:
        yield "Each person counts with one of their rows, chosen at random; rows that name nobody are left out."
    if not column.drop_missing:
        yield "A missing value is counted as a value of its own."
    elif column.in_sets:
        yield "A missing value is no value; people who have no other still count."
    else:
        yield "Rows without a value are left out: which rows those are is not protected."
