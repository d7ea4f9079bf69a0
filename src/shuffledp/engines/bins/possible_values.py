"""The possible values that somebody lists, for one column or for several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from shuffledp.errors import ParameterError
from shuffledp.pipeline.domain import Domain, ProductDomain
from shuffledp.pipeline.edges import Edges
from shuffledp.pipeline.periods import Periods

PossibleValues = Domain | Edges | Periods | Iterable[Any] | Mapping[Any, Any]
"""What somebody may give as a domain."""

Possible = list[Any] | Edges | Periods
"""Of one column: labels, intervals of numbers or periods of time."""


def possible_values(domain: Any, names: Sequence[str]) -> list[Possible] | None:
    """What each column can hold; None where anything is possible.

    Of several columns, `domain` is a list with an entry for each, in their order, or a dictionary by their names.
    """
    if domain is None or (isinstance(domain, Domain) and not domain.can_list):
        return None
    if len(names) == 1:
        return [_possible(_of_the_only_column(domain, names[0]))]
    if isinstance(domain, ProductDomain):
        parts: list[Any] = list(domain.factors)
    elif isinstance(domain, Mapping):
        if set(domain) != set(names):
            raise ParameterError(f"domain must have an entry for each column, under {', '.join(map(repr, names))}")
        parts = [domain[name] for name in names]
    elif isinstance(domain, list | tuple):
        parts = list(domain)
    else:
        raise ParameterError(
            f"domain must be a list with an entry for each of {len(names)} columns, or a dictionary by their names, "
            f"got {type(domain).__name__}"
        )
    if len(parts) != len(names):
        raise ParameterError(f"domain must have an entry for each of {len(names)} columns, got {len(parts)}")
    return [_possible(part) for part in parts]


def _of_the_only_column(domain: Any, name: str) -> Any:
    """What is said of it, also where that is said as for several: under its name, or as a list with one entry."""
    if isinstance(domain, Mapping) and list(domain) == [name]:
        return domain[name]
    if isinstance(domain, list | tuple) and len(domain) == 1 and isinstance(domain[0], Domain | Edges | Periods):
        return domain[0]
    return domain


def _possible(domain: Any) -> Possible:
    """The labels of a listed domain, or what stands for them."""
    if isinstance(domain, Edges | Periods):
        return domain
    if isinstance(domain, Domain) and domain.can_list:
        labels: list[Any] = domain.decode(np.arange(domain.size)).tolist()
        return labels
    if not hasattr(domain, "__len__"):  # the type of a column of categories
        domain = getattr(domain, "categories", domain)
    if hasattr(getattr(domain, "dtype", None), "categories"):
        raise ParameterError(
            "domain must be known without the data, and the categories of a column may come from it: give a list, or "
            "pd.CategoricalDtype([...])"
        )
    if isinstance(domain, str | bytes) or not isinstance(domain, Iterable):
        raise ParameterError(
            f"domain must be a list of labels, Edges, Periods or a Domain, got {type(domain).__name__}"
        )
    return list(domain)
