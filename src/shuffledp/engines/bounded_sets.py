"""What people hold who hold sets, as Arrow lists: at most a number of different values, chosen uniformly at random.

A set is one of bins as soon as there are bins: two values in one bin, such as two ages of one interval or two values
outside a list, are then one. Otherwise a person would count twice in that bin, and the promise would not hold.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.engines import Encode
from shuffledp.pipeline.sets import NONE
from shuffledp.randomness import random_words


def bounded(
    sizes: NDArray[np.int64], entries: Any, *, most: int, rng: np.random.Generator, encode: Encode | None = None
) -> Any:
    """Lists of at most `most` of each person's different values; of bins, if there is what makes them.

    The first `sizes[0]` entries, all different, are those of the first person, and so on. Every subset of the allowed
    size is equally likely.
    """
    import pyarrow

    people = np.repeat(np.arange(sizes.size), sizes)
    if encode is not None:
        people, bins = _different(people, encode(entries))
        entries = pyarrow.array(bins)
    kept = _chosen(people, most=most, rng=rng)
    ends = np.cumsum(np.bincount(people[kept], minlength=sizes.size))
    offsets = pyarrow.array(np.concatenate([[0], ends]), pyarrow.int32())
    return pyarrow.ListArray.from_arrays(offsets, entries.take(pyarrow.array(kept)))


def sizes_of(lists: Any) -> NDArray[np.int64]:
    """How many entries each list of an Arrow array has."""
    import pyarrow.compute as compute

    return np.asarray(compute.list_value_length(lists), dtype=np.int64)


def in_rows(sizes: NDArray[np.int64], bins: NDArray[np.int64]) -> NDArray[np.int64]:
    """People's bins as one row for each, as wide as the largest set, with NONE after the last."""
    rows = np.full((sizes.size, max(1, int(sizes.max(initial=0)))), NONE, dtype=np.int64)
    rows[np.arange(rows.shape[1]) < sizes[:, np.newaxis]] = bins
    return rows


def _different(people: NDArray[np.int64], bins: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each person's different bins, in increasing order."""
    order = np.lexsort((bins, people))
    people, bins = people[order], bins[order]
    first = np.ones(people.size, dtype=np.bool_)
    first[1:] = (people[1:] != people[:-1]) | (bins[1:] != bins[:-1])
    return people[first], bins[first]


def _chosen(people: NDArray[np.int64], *, most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The places that are kept: of a person with too many, those with the smallest random words."""
    sizes = np.bincount(people)
    crowded = np.flatnonzero(sizes[people] > most)
    order = crowded[np.lexsort((random_words(crowded.size, rng), people[crowded]))]
    starts = np.cumsum(sizes[sizes > most]) - sizes[sizes > most]
    rank = np.arange(order.size) - np.repeat(starts, sizes[sizes > most])
    kept = np.ones(people.size, dtype=np.bool_)
    kept[order[rank >= most]] = False
    return np.flatnonzero(kept)
