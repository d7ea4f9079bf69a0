"""A release: a private histogram, the protocol behind it, and the records that explain it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from shuffledp import __version__
from shuffledp.accounting.bounds import GroupPrivacy as GroupPrivacy
from shuffledp.accounting.bounds import group_privacy
from shuffledp.accounting.curve import Curve, Guarantee
from shuffledp.data.people import EVERYTHING, LONGEST_VALUE
from shuffledp.errors import LabelError, MissingExtraError, ParameterError
from shuffledp.estimators.supports import DecodedTally
from shuffledp.formatting import ShortRepr, shown
from shuffledp.histogram.estimate import Estimate, Row
from shuffledp.ledger import Spent
from shuffledp.protocols.protocol import HistogramProtocol
from shuffledp.protocols.ranges import Ranges
from shuffledp.protocols.shuffled.hashed import MOST_LOOKED_UP, HashedHistogram, check_looked_up
from shuffledp.release.choose import CuratorError, is_smaller
from shuffledp.release.notes import Caution, Note
from shuffledp.release.serialize import from_text, to_text
from shuffledp.release.simulate import Evaluation

SEVERAL_ROWS = 3
"""Rows of one person whose privacy is stated where the guarantee is per row."""


@dataclass(frozen=True, kw_only=True)
class Privacy(ShortRepr):
    """The (epsilon, delta) guarantee and the privacy curve of a release."""

    guarantee: Guarantee | None
    curve: Curve = field(repr=False)

    def delta(self, epsilon: float) -> float:
        """A delta such that the release is (epsilon, delta)-private; never below the smallest."""
        return self.curve.delta(epsilon)

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon for which the curve gives this delta; inf if there is none."""
        return self.curve.epsilon(delta)

    def for_rows(self, rows: int) -> Privacy:
        """The privacy of a person with this number of rows, all of which are replaced.

        The rows move the same noise together, so they are protected less than by this number of releases. Where people
        are identified, a row stands for all values of one person. `guarantee` has the same delta if possible, or else
        the smallest power of ten times it that has an epsilon.
        """
        curve = self.curve.for_rows(rows)
        if self.guarantee is None or curve is self.curve:
            return Privacy(guarantee=self.guarantee, curve=curve)
        found = group_privacy(self.curve, rows, epsilon=self.guarantee.epsilon, delta=self.guarantee.delta)
        basis = "computed exactly" if found.exact else "computed as an upper bound"
        return Privacy(guarantee=Guarantee(epsilon=found.epsilon, delta=found.delta, basis=basis), curve=curve)

    @property
    def exact(self) -> bool:
        """Whether the curve is the truth, up to rounding, or an upper bound."""
        return self.curve.exact

    @property
    def neighbours(self) -> str:
        """The neighbouring relation of datasets."""
        return self.curve.neighbours

    def __str__(self) -> str:
        from shuffledp.explain.release import privacy_line

        return privacy_line(self)


@dataclass(frozen=True, eq=False, kw_only=True)
class Release:
    """A private histogram, the protocol behind it, and the records that explain it.

    It behaves like its histogram: `release["dark"]`, `len`, iteration and `to_pandas` are those of `estimate`. It
    prints as a table, shows itself with charts in a notebook, and is written to a file by `save`. `messages` is the
    number of messages that were made, None if their counts were sampled from the exact distribution. `error` is the
    simultaneous error bound in people, with confidence 1 - beta; `detection_limit` is the count from which a value is
    then shown, or stands out from values that nobody holds. `notes` record how people and values were counted; in a
    stored release they, and the `warnings`, are the sentences that were written. `curator_error` is the error of
    `trust="curator"` where that was not requested; with ranges, of the number of people up to any value. `evaluation`
    is not private. `made` is the day, `version` the version of this package, `asked` the options without the data.
    """

    estimate: Estimate
    protocol: HistogramProtocol
    title: str
    column: str
    messages: int | None
    error: float
    detection_limit: int
    notes: tuple[Note | Spent | str, ...]
    warnings: tuple[Caution | str, ...]
    curator_error: float | None = None
    evaluation: Evaluation | None = None
    made: date = field(default_factory=lambda: datetime.now(UTC).date())
    version: str = __version__
    asked: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        private = "" if self.evaluation is None else "; NOT PRIVATE, has an evaluation"
        return f"<Release of {shown(self.column)}: {self.estimate.summary()}{private}>"

    def __str__(self) -> str:
        """Format the largest values as a table of text, with warnings."""
        from shuffledp.explain.release import text

        return text(self)

    def _repr_html_(self) -> str | None:
        """Format the largest values for a notebook, with warnings; None if Jinja2 is not installed."""
        from shuffledp.explain.release import notebook

        try:
            return notebook(self)
        except MissingExtraError:
            return None

    def __len__(self) -> int:
        """The number of reported labels."""
        return len(self.estimate)

    def __iter__(self) -> Iterator[Any]:
        """The reported labels."""
        return iter(self.estimate)

    def __contains__(self, label: object) -> bool:
        """Whether a label is reported."""
        return label in self.estimate

    def __getitem__(self, label: Any) -> float:
        """The estimated count of a label; 0 if it is possible and was not reported."""
        return self.estimate[label]

    @property
    def people(self) -> int:
        """The number of people."""
        return self.estimate.people

    def interval(self, label: Any, *, simultaneous: bool = True) -> tuple[int, int]:
        """Bounds on the true count of a label, reported or not."""
        return self.estimate.interval(label, simultaneous=simultaneous)

    def lookup(self, values: Iterable[Any], *, beta: float | None = None) -> Estimate:
        """Estimate exactly these values, each once, with narrower intervals that hold for all of them at once.

        It needs a release of the protocol hashed. Of d values each may fail with probability beta / d, of a list of k
        values with beta / k. Choose them without looking at their estimates: intervals of the largest of many estimates
        fail more often. A value outside the domain is a LabelError. Nothing is spent: this uses the published result.
        """
        estimate, protocol = self.estimate, self.protocol
        if not isinstance(protocol, HashedHistogram) or len(estimate) != protocol.bins:
            got = "any text" if estimate.detection is not None else self.title
            raise ParameterError(
                f"lookup needs a release of the protocol hashed with a domain, got {got}: interval(value) has the "
                "interval of one value"
            )
        if estimate.adjusted:
            raise ParameterError("lookup needs the estimates before they were adjusted: leave out consistent")
        places = list(dict.fromkeys(_place(estimate, value) for value in _few_values(values)))
        statistic = DecodedTally(np.array(places), protocol.estimator.supports_of(estimate.counts[places]))
        beta = estimate.beta if beta is None else beta
        found = protocol.looked_up(statistic, estimate.labels[places], beta=beta)
        return replace(found, about=estimate.about, cap=estimate.cap, where=estimate.where)

    def top(self, limit: int | None = None) -> list[Row]:
        """The bins with the largest estimates, largest first."""
        return self.estimate.top(limit)

    def to_csv(self, *, raw: bool = False) -> str:
        """Format the histogram as CSV text with a header; see `Estimate.to_csv`."""
        return self.estimate.to_csv(raw=raw)

    def to_pandas(self) -> Any:
        """Convert the histogram to a pandas DataFrame."""
        return self.estimate.to_pandas()

    def to_polars(self) -> Any:
        """Convert the histogram to a polars DataFrame."""
        return self.estimate.to_polars()

    def to_arrow(self) -> Any:
        """Convert the histogram to a pyarrow Table."""
        return self.estimate.to_arrow()

    @property
    def collected(self) -> bool:
        """Whether people were asked by a task, instead of counting a column of local data."""
        return "task" in self.asked

    @property
    def privacy(self) -> Privacy:
        """The `guarantee`, and `delta(epsilon)` and `epsilon(delta)` of the privacy curve."""
        return Privacy(guarantee=self.estimate.guarantee, curve=self.protocol.privacy)

    @property
    def longest_value(self) -> int | None:
        """The most bytes of a possible value where any value is possible; None if the possible values are listed."""
        return LONGEST_VALUE if self.estimate.possible == EVERYTHING else None

    @property
    def per_row(self) -> bool:
        """Whether the guarantee is per row: the data had rows, and no column identified people."""
        return bool(self.asked) and "user" not in self.asked and "task" not in self.asked

    @property
    def group_privacy(self) -> GroupPrivacy | None:
        """The privacy of a person with three rows; None if the guarantee is per person."""
        guarantee = self.estimate.guarantee
        if guarantee is None or not self.per_row:
            return None
        curve = self.protocol.privacy
        return group_privacy(curve, SEVERAL_ROWS, epsilon=guarantee.epsilon, delta=guarantee.delta)

    @property
    def smaller_curator_error(self) -> CuratorError | None:
        """The error of `trust="curator"` if it is smaller than the error of this release as both are shown."""
        if self.curator_error is None:
            return None
        ranges = isinstance(self.protocol, Ranges)
        error = self.protocol.range_error(self.estimate.beta) if isinstance(self.protocol, Ranges) else self.error
        return CuratorError(self.curator_error, error, ranges) if is_smaller(self.curator_error, error) else None

    def plot(self, ax: Any = None, *, limit: int | None = None, log: bool = False) -> Any:
        """Draw the values with intervals on matplotlib axes, and return the axes; see `Estimate.plot`."""
        axes = self.estimate.plot(ax, limit=limit, log=log)
        from shuffledp.explain.release import title

        axes.set_title(title(self), parse_math=False)
        return axes

    def to_html(self) -> str:
        """The report: a self-contained page without scripts, for any screen and for paper."""
        from shuffledp.explain.page import page

        return page(self)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write a .html, .csv, .json or .parquet file, by the ending of its name, and return its path.

        An existing file is kept unless `overwrite` is set.
        """
        from shuffledp.explain.files import save

        return save(self, Path(path), overwrite=overwrite)

    @classmethod
    def from_json(cls, source: str | Path) -> Release:
        """Read a release from a text of `to_json`, or from a .json or .parquet file that `save` wrote.

        The protocol and its curve are computed again from the parameters. Some things do not come back: the list of a
        domain, unless every value is reported or there are several columns; the types of unusual labels, which become
        text; the true counts of an evaluation. Notes come back as sentences.
        """
        return from_text(source)

    def explain(self) -> str:
        """Explain the release in short paragraphs with titles."""
        from shuffledp.explain.protocols import joined
        from shuffledp.explain.release import paragraphs

        return joined(paragraphs(self))

    def to_json(self) -> str:
        """Format everything about the release as one JSON object, which `from_json` reads."""
        return to_text(self)


def _few_values(values: Iterable[Any]) -> list[Any]:
    """The values as a list; stop before a list that is too long fills the memory."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ParameterError(f"values must be a list of values, got one {type(values).__name__}")
    found = list(islice(values, MOST_LOOKED_UP + 1))
    check_looked_up(len(found))
    return found


def _place(estimate: Estimate, value: Any) -> int:
    try:
        at = estimate.find(value)
    except LabelError as error:
        raise LabelError(f"{shown(value)} cannot be looked up: {error}") from None
    if at is None:
        raise LabelError(f"label must be a value of the domain, got {shown(value)}")
    return at
