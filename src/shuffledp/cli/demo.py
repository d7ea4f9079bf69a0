"""The main job on bundled data: which surnames are common, without anybody's name being known."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from shuffledp.checks import whole
from shuffledp.cli.progress import ProgressBar
from shuffledp.cli.run import publish
from shuffledp.errors import MissingExtraError
from shuffledp.jobs.release import private_histogram
from shuffledp.report.save import check_folder, check_writable, parquet_bytes, refuse_same, write_whole
from shuffledp.surnames import surnames

_POPULATION_SEED = 1990


def surname_demo(
    *, people: int, epsilon: float, delta: float, top: int, data: Path, out: list[Path], as_json: bool
) -> None:
    """Samples people from the census table into a file, and releases the histogram of that file."""
    people = whole("people", people)
    check_folder(data)
    for path in out:
        check_writable(path)
        refuse_same(path, [data], "the report")
    _write_population(data, people)
    with ProgressBar() as progress:
        release = private_histogram(
            data, column="surname", epsilon=epsilon, delta=delta, evaluate=True, progress=progress
        )
    publish(release, out=out, top=top, as_json=as_json)
    if not as_json:
        outputs = "".join(f" --out {path}" for path in out)
        print(
            f"the same on your own file: shuffledp run {data} --column surname --epsilon {epsilon:g} --delta {delta:g}"
            + outputs,
            file=sys.stderr,
        )


def _write_population(path: Path, people: int) -> None:
    """The surnames of sampled people, in a random order. The people are always the same; the noise never is."""
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("pyarrow", extra="files") from None
    names, shares = surnames()
    rng = np.random.default_rng(_POPULATION_SEED)
    held = np.repeat(names, rng.multinomial(people, shares))
    rng.shuffle(held)
    write_whole(path, parquet_bytes(pyarrow.table({"surname": held})))
