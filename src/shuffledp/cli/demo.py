"""`shuffledp demo`: which surnames are common, without anybody's name being known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from shuffledp.cli import options as given
from shuffledp.cli.options import RESULT, option, whole_number
from shuffledp.cli.output import print_note
from shuffledp.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

EXAMPLE = "shuffledp demo --people 50000"
_MOST_PEOPLE = 10_000_000  # about a gigabyte
_POPULATION_SEED = 1990  # the year of the census; the people of the demo are always the same


def demo(
    people: Annotated[int, option("NUMBER", "How many people to sample.", parser=whole_number)] = 200_000,
    epsilon: given.Epsilon = 1.0,
    delta: given.Delta = 1e-6,
    top: given.Top = 15,
    data: Annotated[Path, option("FILE", "Where to write the sampled people, as Parquet.", panel=RESULT)] = Path(
        "surnames.parquet"
    ),
    out: Annotated[Path, option("FILE", "Where to write the report.", panel=RESULT)] = Path("report.html"),
    force: given.Force = False,
    json: given.Json = False,
) -> None:
    """A private histogram of US surnames, through the whole path of run.

    People are sampled from the 1990 census table.
    """
    from shuffledp.checks import whole
    from shuffledp.cli.histogram import publish
    from shuffledp.cli.overwriting import keep_existing
    from shuffledp.cli.progress import ProgressBar
    from shuffledp.jobs.private_histogram import private_histogram
    from shuffledp.protocols.target import Target
    from shuffledp.report.release_file import check_writable
    from shuffledp.report.whole_file import check_folder, refuse_same
    from shuffledp.words import readable

    people = whole("people", people)
    if people > _MOST_PEOPLE:
        raise ParameterError(
            f"people must be at most {_MOST_PEOPLE:,}, since the demo makes them in memory; got {readable(people)}. "
            "For more, use run on files of your own"
        )
    whole("top", top)
    Target(users=people, bins=1, epsilon=epsilon, delta=delta)  # checked before anything is written
    if data.suffix != ".parquet":
        raise ParameterError(f"data must be a name that ends in .parquet, got {data}")
    check_folder(data)
    check_writable(out)
    refuse_same(out, [data], "the report")
    keep_existing([data, out], force=force)
    with ProgressBar() as progress:
        progress("sampling people", 0.0)
        _write_population(data, people)
        progress("sampling people", 1.0)
        release = private_histogram(
            data, column="surname", epsilon=epsilon, delta=delta, evaluate=True, progress=progress
        )
    publish(release, out=[out], top=top, as_json=json)
    if not json:
        print_note(
            f"the same on a file of your own: shuffledp run {data} --column surname --epsilon {epsilon:g} "
            f"--delta {delta:g} --out release{out.suffix}"
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
