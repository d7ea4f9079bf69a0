"""`shuffledp demo`: which surnames are common, without anybody's name being known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from shuffledp.cli import options as given
from shuffledp.cli.options import RESULT, option
from shuffledp.cli.output import print_note
from shuffledp.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

EXAMPLE = "shuffledp demo --people 50000"
_POPULATION_SEED = 1990  # the year of the census; the people of the demo are always the same


def demo(
    people: Annotated[int, option("NUMBER", "How many people to sample.")] = 200_000,
    epsilon: given.Epsilon = 1.0,
    delta: given.Delta = 1e-6,
    top: given.Top = 15,
    data: Annotated[Path, option("FILE", "Where to write the sampled people, as Parquet.", panel=RESULT)] = Path(
        "surnames.parquet"
    ),
    out: Annotated[Path, option("FILE", "Where to write the report.", panel=RESULT)] = Path("report.html"),
    json: given.Json = False,
) -> None:
    """A private histogram of US surnames, through the whole path of run.

    People are sampled from the 1990 census table.
    """
    from shuffledp.checks import whole
    from shuffledp.cli.histogram import publish
    from shuffledp.cli.progress import ProgressBar
    from shuffledp.jobs.release import private_histogram
    from shuffledp.report.release_file import check_writable
    from shuffledp.report.whole_file import check_folder, refuse_same

    people = whole("people", people)
    if data.suffix != ".parquet":
        raise ParameterError(f"data must be a name that ends in .parquet, got {data}")
    check_folder(data)
    check_writable(out)
    refuse_same(out, [data], "the report")
    _write_population(data, people)
    with ProgressBar() as progress:
        release = private_histogram(
            data, column="surname", epsilon=epsilon, delta=delta, evaluate=True, progress=progress
        )
    publish(release, out=[out], top=top, as_json=json)
    if not json:
        print_note(
            f"the same on your own file: shuffledp run {data} --column surname --epsilon {epsilon:g} --delta {delta:g} "
            f"--out {out}"
        )


def population(people: int) -> NDArray[Any]:
    """The surnames of sampled people, in a random order. The people are always the same; the noise never is."""
    import numpy as np

    from shuffledp.surnames import surnames

    names, shares = surnames()
    rng = np.random.default_rng(_POPULATION_SEED)
    held = np.repeat(names, rng.multinomial(people, shares))
    rng.shuffle(held)
    return held


def _write_population(path: Path, people: int) -> None:
    from shuffledp.errors import MissingExtraError
    from shuffledp.report.release_file import parquet_bytes
    from shuffledp.report.whole_file import write_whole

    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("pyarrow", extra="files") from None
    write_whole(path, parquet_bytes(pyarrow.table({"surname": population(people)})))
