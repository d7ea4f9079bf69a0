"""The state of a ledger as text: what is spent, what is left, and the note of a release."""

from __future__ import annotations

from shuffledp.formatting import counted, privacy_figure, share_at_most, shown
from shuffledp.ledger import Spent, Standing
from shuffledp.ledger.budget import smallest_epsilon


def summary(standing: Standing) -> list[str]:
    """Return the total against the limit, and what is left, in one line each."""
    budget = standing.budget
    population, limit = (
        shown(budget.population, width=80),
        f"epsilon {privacy_figure(budget.epsilon)} at delta {privacy_figure(budget.delta)}",
    )
    if standing.entries:
        number = counted(len(standing.entries), "release")
        spent = f"{number} spent epsilon {share_at_most(standing.epsilon, digits=3)} of the limit, {limit}"
    else:
        spent = f"nothing is spent of the limit, {limit}"
    over = ["More is spent than the limit allows."] if standing.over else []
    return [f"{population}: {spent}.", *over, f"Left: {left(standing)}."]


def left(standing: Standing) -> str:
    """Return which release still fits, as the end of a sentence."""
    any_kind, hist, delta = standing.left_epsilon, standing.left_epsilon_of_hist, standing.left_delta
    if any_kind is None and hist is None:
        return "nothing more fits"
    kind = "known only by its guarantee" if standing.budget.by_results else "of any kind"
    if any_kind is None:
        fits = f"no release {kind} from epsilon {smallest_epsilon(standing.budget):g} on"
    else:
        fits = f"one more release {kind} up to epsilon {any_kind:g}"
    if hist is not None and hist != any_kind:
        # the search for it ends at the epsilon of the limit
        most = f"epsilon {hist:g} or more" if hist == standing.budget.epsilon else f"up to epsilon {hist:g}"
        fits += f", or {most} with protocol hist and one value per person"
    return f"{fits}, at delta {privacy_figure(delta)}"


def details(standing: Standing) -> dict[str, str]:
    """Return paragraphs by title: how the total is computed, and what counts."""
    parts = {}
    if standing.entries:
        parts["Total"] = (
            f"Exact composition gives epsilon {share_at_most(standing.epsilon, digits=3)} at the limit's delta, and "
            f"delta {share_at_most(standing.delta, digits=3)} at the limit's epsilon. The sum of the epsilons would be "
            f"{share_at_most(standing.sum_of_epsilons, digits=3)}, of the deltas "
            f"{share_at_most(standing.sum_of_deltas, digits=3)}."
        )
    if standing.budget.by_results:
        parts["Choices after seeing results"] = (
            "The limit also holds if the epsilon of a release depends on earlier results. Counted that way, delta is "
            f"at most {share_at_most(standing.reached, digits=3)} at the limit's epsilon."
        )
    parts["Left"] = (
        f"What is left is computed for one more release with delta {privacy_figure(standing.left_delta)}, a tenth of "
        "the limit's. A "
        "release of which only the guarantee is known counts as the worst one with it, so other releases may fit with "
        "a larger epsilon."
    )
    if not all(entry.published for entry in standing.entries):
        parts["Not published"] = "The release was stopped before its result was complete. It counts as spent."
    return parts


def spent_note(spent: Spent) -> str:
    """Return the note for the readers of a release that was entered in a ledger."""
    entry = f"Entry {spent.number} of the ledger of {spent.population}"
    if spent.standing is None:
        return f"{entry}, which could not be read afterwards."
    budget, used = spent.standing.budget, share_at_most(spent.standing.epsilon, digits=3)
    return (
        f"{entry}: all releases together have epsilon {used} of {privacy_figure(budget.epsilon)} at delta "
        f"{privacy_figure(budget.delta)}. Left: "
        f"{left(spent.standing)}."
    )
