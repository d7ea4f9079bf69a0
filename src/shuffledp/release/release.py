"""What a release promises to each person, at the asked epsilon and at every other.

A private histogram with the protocol behind it and all that its reader must know.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from shuffledp import __version__
from shuffledp.accounting.curve import Curve, Guarantee
from shuffledp.data.people import EVERYTHING, LONGEST_VALUE
from shuffledp.errors import MissingExtraError
from shuffledp.formatting import ShortRepr, in_paragraphs, readable, sentence, shown
from shuffledp.histogram.estimate import MOST_BARS, Estimate
from shuffledp.protocols.guarantee import NOT_PROTECTED
from shuffledp.protocols.protocol import HistogramProtocol
from shuffledp.protocols.ranges import Ranges
from shuffledp.release.choose import curator_in_words
from shuffledp.release.evaluate import Evaluation
from shuffledp.release.serialize import from_text, to_text


@dataclass(frozen=True, kw_only=True)
class Privacy(ShortRepr):
    """The promised (epsilon, delta), and the whole curve of the release."""

    guarantee: Guarantee | None
    curve: Curve = field(repr=False)

    def delta(self, epsilon: float) -> float:
        """A delta such that the release is (epsilon, delta)-private; never below the smallest."""
        return self.curve.delta(epsilon)

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon for which the curve gives this delta; inf if there is none."""
        return self.curve.epsilon(delta)

    @property
    def exact(self) -> bool:
        """Whether the curve is the truth, up to rounding, or an upper bound."""
        return self.curve.exact

    @property
    def neighbours(self) -> str:
        """Which datasets count as neighbours."""
        return self.curve.neighbours

    def __str__(self) -> str:
        promise = "no promise was asked for" if self.guarantee is None else str(self.guarantee)
        return f"{promise}, for {self.neighbours}"


@dataclass(frozen=True, eq=False, kw_only=True)
class Release:
    """A private histogram, the protocol behind it, and all that its reader must know.

    It prints as a table, shows itself with bars in a notebook, and is written to a file by `save`.
    `messages` is how many were really made, None if their counts were drawn from their exact law. `error` is what no
    estimate is off by with probability 1 - beta, in people; a value with at least `surely_seen` people then stands out.
    `notes` say how people and values were counted, `warnings` what is amiss. `curator_error` is the error that
    `trust="curator"` would have, where that was not asked for; with ranges, of the number of people up to any
    value. `evaluation` is not private. `made` is the day,
    `version` that of this package, `asked` the options that were given, without the data.
    """

    estimate: Estimate
    protocol: HistogramProtocol
    title: str
    column: str
    messages: int | None
    error: float
    detection_limit: int
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

    def _repr_html_(self) -> str | None:
        """What a notebook shows: bars, or the repr if Jinja2 is not installed."""
        title = shown(self.column)
        try:
            return self.estimate.bars_html(column=self.column, title=title, cautions=self._cautions())
        except MissingExtraError:
            return None

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
        from shuffledp.explain.page import page

        return page(self)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Writes a .html, .csv, .json or .parquet file, by the ending of its name; returns its path.

        A file that exists is left alone unless `overwrite` is set.
        """
        from shuffledp.explain.files import save

        return save(self, Path(path), overwrite=overwrite)

    @classmethod
    def from_json(cls, source: str | Path) -> Release:
        """The release that a text of `to_json`, or a file with it, holds.

        The protocol and its curve are made anew from their parameters. What does not come back: the list of a domain,
        unless every value is reported or there are several columns; the kinds of unusual labels, which become text;
        the true counts of an evaluation.
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
        curator = curator_in_words(self.curator_error, **self._compared())
        return {**story, "How people were counted": " ".join(self.notes), **curator, **last, **warnings}

    def _compared(self) -> dict[str, Any]:
        """The error that `curator_error` is compared with: with ranges, that of the distribution function."""
        if isinstance(self.protocol, Ranges):
            off = self.protocol.range_error(self.estimate.beta)
            return {"error": off, "gives": "gives the number of people up to any value with"}
        return {"error": self.error}

    def to_json(self) -> str:
        """Everything about the release as one JSON object, which `from_json` reads."""
        return to_text(self)
