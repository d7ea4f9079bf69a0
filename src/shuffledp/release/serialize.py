"""Write a release as a JSON object, and read it back; `Release.from_json` says what does not come back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import DataError, MissingExtraError, ShuffledpError
from shuffledp.estimators.base import around_estimates
from shuffledp.histogram.domain import Domain
from shuffledp.histogram.estimate import Estimate
from shuffledp.histogram.facts import Cap, Detection
from shuffledp.histogram.intervals import Intervals
from shuffledp.histogram.labels import Absent, MoreThan, NotAValue, NoText
from shuffledp.histogram.ordered_estimate import OrderedEstimate
from shuffledp.histogram.tally import as_symbols
from shuffledp.jsonable import plain
from shuffledp.protocols.catalogue import from_record, to_record
from shuffledp.protocols.protocol import HistogramProtocol
from shuffledp.protocols.ranges import Ranges, ranges_of
from shuffledp.protocols.target import kept
from shuffledp.release.choose import checked_shares
from shuffledp.release.simulate import Evaluation, UncappedErrors

if TYPE_CHECKING:
    from shuffledp.release.release import Release

FORMAT = 1
"""It grows with every incompatible change."""

_LABELS: Mapping[str, Callable[[str], Any]] = {
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
    "time": time.fromisoformat,
    "Decimal": Decimal,
    "float": float,
    "Absent": Absent.from_text,
    "MoreThan": MoreThan.from_text,
    "NoText": NoText.from_text,
}
"""Parsers of labels that JSON does not know, by the name of their type."""


def about(release: Release) -> dict[str, Any]:
    """Everything except the histogram itself, as plain values."""
    from shuffledp.explain.protocols import joined
    from shuffledp.explain.release import note_sentences, story, warning_sentences

    more = {
        "shuffledp_release": FORMAT,
        "shuffledp_version": release.version,
        "made": release.made,
        "asked": release.asked,
        "column": release.column,
        "protocol": release.title,
        "messages": release.messages,
        "error": release.error,
        "surely_seen": release.detection_limit,
        "curator_error": release.curator_error,
        "guarantee_of_several_rows": release.group_privacy,
        "notes": note_sentences(release),
        "warnings": warning_sentences(release),
        "not_private_evaluation": None if release.evaluation is None else evaluation_dict(release.evaluation),
    }
    estimate = {**release.estimate.about_dict(), "explanation": joined(story(release))}
    return {**plain(more), "parameters": to_record(release.protocol), **estimate}


def to_text(release: Release) -> str:
    """Format a release as one JSON object."""
    return json.dumps({**about(release), "histogram": release.estimate.rows()}, allow_nan=False)


def from_text(source: str | Path) -> Release:
    """Read a release from a JSON text or from the file of that name."""
    from shuffledp.release.release import Release

    stored = _object(source)
    try:
        protocol = from_record(stored["parameters"])
        estimate = _estimate(stored, protocol)
        return Release(
            estimate=estimate,
            protocol=protocol,
            title=str(stored["protocol"]),
            column=str(stored["column"]),
            messages=None if stored["messages"] is None else int(stored["messages"]),
            error=_finite_or_infinite(stored["error"]),
            detection_limit=int(stored["surely_seen"]),
            notes=tuple(map(str, stored["notes"])),
            warnings=tuple(map(str, stored["warnings"])),
            curator_error=None if stored.get("curator_error") is None else float(stored["curator_error"]),
            evaluation=_evaluation(stored["not_private_evaluation"]),
            made=date.fromisoformat(stored["made"]),
            version=str(stored["shuffledp_version"]),
            asked=dict(stored["asked"]),
        )
    except ShuffledpError:
        raise
    except KeyError as missing:
        raise DataError(f"this release is incomplete: {missing} is missing") from None
    except (TypeError, ValueError, AttributeError, OverflowError):
        # the reason could quote a label
        raise DataError("this release is damaged: a value has the wrong type") from None


def _object(source: str | Path) -> dict[str, Any]:
    if not isinstance(source, str | Path):
        raise DataError(f"the text or the name of a JSON file is needed, got {type(source).__name__}")
    if Path(str(source)[-_LONGEST_ENDING:]).suffix == ".parquet":
        return _checked(_from_parquet(Path(source)))
    text = source
    if isinstance(source, Path) or not source.lstrip().startswith(("{", "[")):
        try:
            text = Path(source).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "it is not the name of a file of UTF-8 text"
            raise DataError(f"cannot read {str(source)[:200]}: {reason}") from None
    file = "this" if text is source else str(source)[:200]
    try:
        stored = json.loads(str(text))
    except (ValueError, RecursionError):
        raise DataError(f"{file} is not a release: it is not JSON, or nested too deeply") from None
    return _checked(stored, file)


def _checked(stored: Any, file: str = "this") -> dict[str, Any]:
    if not isinstance(stored, dict) or "shuffledp_release" not in stored:
        raise DataError(f"{file} is JSON, but not a release as Release.to_json writes it")
    if stored["shuffledp_release"] != FORMAT:
        raise DataError(
            f"this release was written in format {str(stored['shuffledp_release'])[:20]}, and this version of "
            f"shuffledp reads format {FORMAT}: use the version that wrote it, "
            f"{str(stored.get('shuffledp_version', 'unknown'))[:20]}, or a newer one"
        )
    return stored


_LONGEST_ENDING = 20
"""Characters that can be the ending of a file name; the rest may be a long text."""


def _from_parquet(path: Path) -> dict[str, Any]:
    """The metadata, and the rows as the histogram."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("pyarrow", extra="files") from None
    try:
        path.open("rb").close()
    except OSError as error:
        raise DataError(f"cannot read {str(path)[:200]}: {error.strerror or type(error).__name__}") from None
    try:
        table = pyarrow.parquet.read_table(path)
        about = dict(json.loads((table.schema.metadata or {})[b"shuffledp"]))
        padded = bool(about["parameters"]["fillers"])
    except (OSError, KeyError, TypeError, ValueError, pyarrow.ArrowException):
        raise DataError(f"cannot read {str(path)[:200]}: it is not a Parquet file of a release") from None
    columns = table.to_pydict()
    parts = [columns.pop(name) for name in list(columns) if name.startswith("label")]
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    labels = [_spread_label(row, padded=padded) for row in zip(*parts, strict=True)]
    return {**about, "histogram": [{**row, **label} for row, label in zip(rows, labels, strict=True)]}


def _spread_label(parts: tuple[Any, ...], *, padded: bool) -> dict[str, Any]:
    """A label from one column or several; of people by the number of their values, its text is in the first."""
    if padded and isinstance(parts[0], str) and not any(part is not None for part in parts[1:]):
        for kind in (Absent, MoreThan):
            with suppress(ValueError, IndexError):
                label = kind.from_text(parts[0])
                if str(label) == parts[0]:
                    return {"label": label}
    return {"label": parts[0]} if len(parts) == 1 else {"label": list(parts), "kind": [None] * len(parts)}


def _estimate(stored: dict[str, Any], protocol: HistogramProtocol) -> Estimate:
    rows, guarantee = stored["histogram"], protocol.guarantee
    if stored["people"] != protocol.users or plain(guarantee) != stored["guarantee"]:
        raise DataError("this release contradicts itself: its guarantee differs from the guarantee of its protocol")
    if guarantee is not None and not kept(guarantee, protocol.privacy):
        raise DataError("this release contradicts itself: its protocol does not give its guarantee")
    domain = _domain(stored, protocol)
    labels = [_label(row) for row in rows]
    if domain.factors:  # rows are stored by their counts
        places = _places(labels, domain, padding_bins=protocol.padding_bins)
        order = np.argsort(places)
        rows, symbols = [rows[at] for at in order], places[order]
    else:
        symbols = np.arange(len(rows)) if domain.can_list else as_symbols(labels)
    counts = np.array([row["count"] for row in rows], dtype=np.float64)
    per_bin, simultaneous = around_estimates(
        counts,
        per_bin=_intervals(rows, "low_alone", "high_alone", stored["unreported_high_alone"]),
        simultaneous=_intervals(rows, "low", "high", stored["unreported_high"]),
    )
    estimate = Estimate(
        symbols=symbols,
        counts=counts,
        per_bin=per_bin,
        simultaneous=simultaneous,
        people=protocol.users,
        bins=protocol.bins,
        beta=float(stored["beta"]),
        estimator=str(stored["estimator"]),
        guarantee=guarantee,
        about=partial(protocol.facts, drawn=stored["messages"] is None),
        domain=domain,
        values_per_person=protocol.values_per_person,
        padding_bins=protocol.padding_bins,
        adjusted=bool(stored["adjusted"]),
        cap=_cap(stored),
        where=None if stored["asked"].get("where") is None else str(stored["asked"]["where"]),
        detection=_detection(stored.get("detection")),
    )
    if "below" not in stored:
        return estimate
    ranges = ranges_of(protocol)
    if ranges is None:
        raise DataError("this release contradicts itself: its protocol does not give the quantiles of its counts")
    return _in_order(stored, ranges, estimate)


def _cap(stored: dict[str, Any]) -> Cap | None:
    """A release that does not name the contribution cap repeats at least whether there were users."""
    asked = stored["asked"]
    values = stored.get("cap", asked.get("values_per_person", 1) if "user" in asked else None)
    return None if values is None else Cap(values=int(values), counted=stored.get("more_than_cap") is not None)


def _detection(stored: dict[str, Any] | None) -> Detection | None:
    if stored is None:
        return None
    longest = stored["longest"]
    return Detection(
        limit=int(stored["limit"]),
        risk=float(stored["risk"]),
        longest=None if longest is None else int(longest),
        candidates=tuple(map(int, stored["candidates"])),
    )


def _domain(stored: dict[str, Any], protocol: HistogramProtocol) -> Domain:
    """The possible values: of the columns of a cross table, or all reported values, or any value."""
    if "labels_of_columns" in stored:
        parts = [Domain.of([_label(part) for part in column]) for column in stored["labels_of_columns"]]
        pairs: Domain = Domain.product(parts)
        if (cap := _cap(stored)) is not None and cap.counted:
            pairs = pairs.with_more_than(cap.values)
        if pairs.size != protocol.bins - protocol.padding_bins:
            raise DataError("this release contradicts itself: its columns have another number of possible values")
        return pairs.with_absent(protocol.padding_bins) if protocol.padding_bins else pairs
    rows, in_order = stored["histogram"], bool(stored["in_order"])
    if len(rows) != protocol.bins:
        return Domain.implicit(protocol.bins)
    return Domain.of([_label(row) for row in rows], in_order=in_order)


def _places(labels: list[Any], domain: Domain, *, padding_bins: int) -> NDArray[np.int64]:
    """The bins of the rows of a cross table; people without a pair come after all pairs."""
    others = [label for label in labels if isinstance(label, NotAValue)]
    is_cell = np.array([not isinstance(label, NotAValue) for label in labels], dtype=bool)
    places = np.empty(len(labels), dtype=np.int64)
    places[is_cell] = domain.encode([label for label in labels if not isinstance(label, NotAValue)])
    # the bin of people who have more values than count is before the padding bins, the last of which is (no value)
    last = [label.most if isinstance(label, Absent) else padding_bins for label in others]
    places[~is_cell] = domain.size - 1 - np.array(last, dtype=np.int64)
    if np.unique(places).size < len(labels) or any(label not in domain for label in others):
        raise DataError("this release contradicts itself: its rows are not cells of its columns")
    return places


def _in_order(stored: dict[str, Any], ranges: Ranges, estimate: Estimate) -> OrderedEstimate:
    edges = None if stored["edges"] is None else [_label(edge) for edge in stored["edges"]]
    return replace(
        ranges.in_order(estimate, edges=edges, ordered=int(stored["ordered"])),
        below=np.array(stored["below"], dtype=np.float64),
        below_low=np.array(stored["below_low"], dtype=np.int64),
        below_high=np.array(stored["below_high"], dtype=np.int64),
        shares=checked_shares([found["share"] for found in stored["quantiles"]]),
    )


def _intervals(rows: list[dict[str, Any]], low: str, high: str, unreported_high: Any) -> Intervals:
    low_ends, high_ends = (np.array([row[end] for row in rows], dtype=np.int64) for end in (low, high))
    return Intervals(low=low_ends, high=high_ends, unreported_high=int(unreported_high))


def _label(row: dict[str, Any]) -> Any:
    label, kind = row["label"], row.get("kind")
    if isinstance(label, list):  # of several columns
        return tuple(_read(part, own) for part, own in zip(label, list(kind or ()), strict=True))
    return _read(label, kind)


def _read(label: Any, kind: Any) -> Any:
    read = _LABELS.get(kind or "")
    return label if read is None else read(label)


_STORED_NAMES = {"false_positives": "phantoms"}
"""Fields of an evaluation that have another name in JSON."""


def evaluation_dict(evaluation: Evaluation) -> dict[str, Any]:
    """An evaluation by the names that JSON has for its fields."""
    return {_STORED_NAMES.get(name, name): value for name, value in plain(evaluation).items()}


def _evaluation(stored: dict[str, Any] | None) -> Evaluation | None:
    if stored is None:
        return None
    names = {written: name for name, written in _STORED_NAMES.items()}
    fields = {names.get(name, name): value for name, value in stored.items()}
    unknown = np.empty(0, dtype=np.int64)
    if fields.get("uncapped") is not None:
        fields["uncapped"] = UncappedErrors(**fields["uncapped"], true_counts=unknown)
    return Evaluation(**fields, true_counts=unknown)


def _finite_or_infinite(number: float | None) -> float:
    return float("inf") if number is None else number
