"""Options of tasks: the possible answers, who asks, and the servers; and a second task that counts texts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from shuffledp.cli.options import PROTOCOL, integer, option, shortened, tasks_from_options
from shuffledp.errors import DataError, ParameterError
from shuffledp.formatting import counted, epsilon_delta, people_at_most, share_at_most, short_exponent, shown_address
from shuffledp.validation import one_of, open_probability

if TYPE_CHECKING:
    from shuffledp.accounting.curve import Guarantee
    from shuffledp.collect.task import AnswerChoices, AnswerEdges, AnswerText, Place, Servers, Task
    from shuffledp.collect.task.answers import Answers
    from shuffledp.collect.task.follow_up import SplitBudget
    from shuffledp.collect.task.task import Admission
    from shuffledp.protocols.free_text import TextChoices
    from shuffledp.release.release import Release

_PEOPLE, _ASKED_BY = "People", "Asked by"
ADMISSIONS = ("anybody", "secret", "tokens")

HonestUsers = Annotated[
    int | None,
    integer("Number of people per batch who follow the protocol; default: all.", panel=_PEOPLE),
]
Admitted = Annotated[str, option("|".join(ADMISSIONS), "Who may send a report.", panel=_PEOPLE)]
TaskProtocol = Annotated[str | None, option("NAME", "Default: chosen by error and messages.", panel=PROTOCOL)]


@dataclass(frozen=True, kw_only=True)
class AskedBy:
    """Who asks, and why."""

    asker: Annotated[str | None, option("NAME", "Who asks: the name of the organisation.", panel=_ASKED_BY)] = None
    purpose: Annotated[str | None, option("WORDS", "What the counts are for.", panel=_ASKED_BY)] = None
    contact: Annotated[str | None, option("ADDRESS", "A mail address, or a page with https://.", panel=_ASKED_BY)] = (
        None
    )
    language: Annotated[
        str | None, option("TAG", "The language of the question, such as de or pt-BR (BCP 47).", panel=_ASKED_BY)
    ] = None


_ANSWERS = "Answers"


@dataclass(frozen=True, kw_only=True)
class AnswerOptions:
    """The possible answers, except those to a question for texts."""

    domain: Annotated[
        str | None, option("FILE|LIST", "The possible answers: a,b,c; or a file, one per line.", panel=_ANSWERS)
    ] = None
    domain_at: Annotated[
        str | None,
        option("URL", "The public address of that file, for lists too long for the task.", panel=_ANSWERS),
    ] = None
    range_: Annotated[
        str | None,
        option("A:B", "Whole numbers from A to B, inclusive, as answers.", name="--range", panel=_ANSWERS),
    ] = None
    answers_from: Annotated[
        Path | None,
        option("RELEASE", "Count the texts of a free-text release: its JSON file.", panel=_ANSWERS),
    ] = None
    edges: Annotated[
        str | None,
        option("EDGES", "Numbers as answers, in intervals: 0,18,30,65 or 0:120:5 (from, to, step).", panel=_ANSWERS),
    ] = None
    quantiles: Annotated[
        str | None, option("SHARES", "Quantiles that a release shows: 0.25,0.5,0.9; needs --edges.", panel=_ANSWERS)
    ] = None
    choose_up_to: Annotated[int | None, integer("The most answers that one person chooses.", panel=_ANSWERS)] = None

    def check(self, **others: object) -> None:
        """Refuse none or several of the options that give the possible answers, of which `others` are some."""
        kinds = {"domain": self.domain, "range": self.range_, "edges": self.edges, **others}
        if sum(each is not None for each in kinds.values()) != 1:
            *names, last = (f"--{name.replace('_', '-')}" for name in kinds)
            raise ParameterError(f"give the possible answers with exactly one of {', '.join(names)} or {last}")
        self.check_details(listed=self.domain is not None and self.domain_at is None, needs="--domain")

    def check_details(self, *, listed: bool, needs: str) -> None:
        """Refuse options of another kind of answers; `needs` is the option that lists the answers."""
        if self.quantiles is not None and self.range_ is not None:
            from shuffledp.histogram.ordered_estimate import SHARES

            usual = ", ".join(f"{100 * share:.4g}%" for share in SHARES)
            raise ParameterError(
                f"--quantiles needs --edges: a task with --range shows the quantiles {usual}, where its counts give any"
            )
        if self.quantiles is not None and self.edges is None:
            raise ParameterError("--quantiles needs --edges: only numbers have quantiles")
        if self.choose_up_to is not None and not listed:
            raise ParameterError(f"--choose-up-to needs {needs}: the answers that people choose from")

    def answers(self) -> Answers:
        """Return the answers that the options give, except --answers-from."""
        with tasks_from_options():
            found = self._answers()
            found.check()
        return found

    def _answers(self) -> Answers:
        from shuffledp.cli.domains import inline_list, read_answers
        from shuffledp.collect.task import AnswerList, AnswerRange

        if (intervals := self.intervals()) is not None:
            return intervals
        if self.range_ is not None:
            if self.domain_at is not None:
                raise ParameterError("--domain-at needs --domain, the file with the answers")
            start, stop = _range(self.range_)
            return AnswerRange(start, stop + 1)
        assert self.domain is not None
        if self.choose_up_to is not None:
            return _choices(read_answers(self.domain), self.choose_up_to)
        if self.domain_at is None:
            return AnswerList(read_answers(self.domain))
        if inline_list(self.domain) is not None:
            raise ParameterError("--domain must be the file with the answers for --domain-at, got a list")
        return _answers_at(self.domain_at, Path(self.domain))

    def intervals(self) -> AnswerEdges | None:
        """Return the intervals of --edges, and the quantiles to show in increasing order."""
        from shuffledp.cli.release_output import parse_shares
        from shuffledp.collect.task import AnswerEdges
        from shuffledp.collect.task.public_file import decimal_text
        from shuffledp.histogram.edges import Edges

        if self.edges is None:
            return None
        shares = [] if self.quantiles is None else sorted(set(parse_shares(self.quantiles)))
        return AnswerEdges(str(Edges(self.edges)), [decimal_text(share) for share in shares])


def edges_tip(task: Task) -> str | None:
    """Return the tip for a range whose release has no quantiles, or far wider ones than with edges."""
    from shuffledp.collect.task import AnswerRange
    from shuffledp.collect.task.answers import MOST_LISTED
    from shuffledp.collect.task.new_task import gain_of_edges

    gain = gain_of_edges(task)
    if not isinstance(task.answers, AnswerRange) or gain < _WORTHWHILE:
        return None
    start, stop = task.answers.start, task.answers.stop
    listed = task.answers.size + 2 <= MOST_LISTED
    edges = f"--edges {start}:{stop}:1" if listed else "--edges and fewer, wider intervals"
    if math.isinf(gain):
        return f"a release of this task has no median and no quantiles; with {edges} it has them"
    return f"the intervals of the median and the quantiles are about {gain:.0f} times as narrow with {edges}"


_WORTHWHILE = 3.0
"""The gain from which edges are worth their extra messages: about 500 numbers with epsilon 1."""


def _choices(values: Sequence[str], most: int) -> AnswerChoices:
    from shuffledp.collect.task import AnswerChoices

    if not 2 <= most <= len(values):
        raise ParameterError(
            f"--choose-up-to must be at least 2 and at most the {len(values)} answers, got {most}: for one choice "
            "leave it out"
        )
    return AnswerChoices(list(values), most)


def _answers_at(address: str, file: Path) -> Answers:
    """Return a list of answers that is kept elsewhere, with the SHA-256 of its bytes."""
    import hashlib

    from shuffledp.collect.task import AnswersElsewhere

    try:
        content = file.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read the list of answers {file}: {error.strerror}") from None
    size = len(content.removesuffix(b"\n").split(b"\n"))
    answers = AnswersElsewhere(address=address, sha256=hashlib.sha256(content).hexdigest(), size=size)
    answers.check()
    answers.read(content)
    return answers


def _range(text: str) -> tuple[int, int]:
    start, colon, stop = text.partition(":")
    try:
        found = int(start), int(stop)
    except ValueError:
        found = (1, 0)
    if not colon or found[0] > found[1]:
        raise ParameterError(f"range must be two whole numbers such as 1:5, the smaller first, got {shortened(text)}")
    return found


class Confirmation(NamedTuple):
    """Another task of the same people: facts by title, and for JSON."""

    facts: dict[str, str]
    plain: dict[str, Any]


def text_answers(
    choices: TextChoices, people: Mapping[str, Any], *, epsilon: float, delta: float, confirm: float | None
) -> tuple[AnswerText, SplitBudget | None]:
    """Return the answers with the best code, and the budgets of both tasks if a second one is to count."""
    from shuffledp.collect.task import AnswerText
    from shuffledp.collect.task.follow_up import split_budget

    if confirm is None:
        return AnswerText.of(choices.search(**people, epsilon=epsilon, delta=delta).code), None
    # the code is chosen for the budget that is certain
    certain = (1 - open_probability("confirm", confirm)) * epsilon
    code = choices.search(**people, epsilon=certain, delta=delta / 2).code
    return AnswerText.of(code), split_budget(code, **people, epsilon=epsilon, delta=delta, share=confirm)


def confirmation(task: Task, split: SplitBudget) -> Confirmation:
    """Return the plan of the second task, before the first one has found a text."""
    from shuffledp.collect.task.follow_up import counting_error

    plan = task.text_plan
    assert plan is not None
    texts = max(1, math.floor(task.users / plan.detection_limit))
    error = counting_error(split, users=task.users, texts=texts, honest_users=task.honest_users)
    delta = short_exponent(f"{split.count.delta:g}")
    facts = {
        "Second task": f"counts up to {counted(texts, 'text')} within ±{people_at_most(error)}: after the release, "
        f"create it with --answers-from RELEASE.json --epsilon {split.count.epsilon:g} --delta {delta} and new keys",
        "Both tasks": f"{epsilon_delta(split.total.epsilon, split.total.delta)} {_COMPOSED}",
    }
    plain = {
        "find": _guarantee(split.find),
        "count": {**_guarantee(split.count), "error": error, "texts": texts},
        "together": _guarantee(split.total),
    }
    return Confirmation(facts, plain)


def second_task(task: Task, first: Release) -> Confirmation:
    """Return the guarantee of a task and of the release whose texts it counts."""
    from shuffledp.collect.task.follow_up import together

    total = together(first, task)
    epsilon, delta = share_at_most(total.epsilon, digits=3), share_at_most(total.delta)
    return Confirmation(
        {"Both tasks": f"with the release, epsilon {epsilon}, delta {delta} {_COMPOSED}"},
        {"together": _guarantee(total)},
    )


_COMPOSED = "for people who answer both (exact composition)"


def _guarantee(guarantee: Guarantee) -> dict[str, float]:
    return {"epsilon": guarantee.epsilon, "delta": guarantee.delta}


def admission_of(text: str) -> Admission:
    """Return who may send reports."""
    chosen: Admission = one_of("admission", text, ADMISSIONS)  # type: ignore[assignment]
    return chosen


def place_of(name: str, text: str) -> Place:
    """Return a server from its address and its key."""
    from shuffledp.collect.task import Place

    address, equals, key = text.partition("=")
    if not equals or not key:
        raise ParameterError(
            f"{name} must be an address and a public key, such as https://host:8000=KEY, got {shown_address(text)}: "
            "`shuffledp keys new` prints the key, and a key file works too"
        )
    place = Place(address, public_key(key))
    place.check(name)
    return place


def public_key(text: str) -> str:
    """Return 64 hexadecimal digits as they are, or the public key of a key file."""
    from shuffledp.collect.crypto.keys import read_key
    from shuffledp.collect.task.public_file import is_hexadecimal

    if is_hexadecimal(text.lower()):
        return text.lower()
    path = Path(text)
    try:
        content = path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        raise ParameterError(
            f"a public key must be 64 hexadecimal digits or a readable file, got {shortened(text)}"
        ) from None
    return content.lower() if is_hexadecimal(content.lower()) else read_key(path).public


def servers_of_rounds(shufflers: list[str], analyzer: str, *, rounds: int) -> list[Servers]:
    """Return the servers of all rounds: one entry, or one for each if any server has a key for each round."""
    from shuffledp.collect.task import Servers

    chain = [_places("shuffler", text, rounds=rounds) for text in shufflers]
    chain.append(_places("analyzer", analyzer, rounds=rounds))
    entries = []
    for at in range(max(len(places) for places in chain)):
        servers = [places[at] if len(places) > 1 else places[0] for places in chain]
        entries.append(Servers(servers[:-1], servers[-1]))
    return entries


def _places(name: str, text: str, *, rounds: int) -> list[Place]:
    """Return a server once, or for each round if it has a key for each."""
    from shuffledp.collect.task import Place

    keys = _keys_of_rounds(text, rounds=rounds)
    if keys is None:
        return [place_of(name, text)]
    first = place_of(name, f"{text.partition('=')[0]}={keys[0]}")
    return [Place(first.address, key) for key in keys]


def _keys_of_rounds(text: str, *, rounds: int) -> list[str] | None:
    """The public keys of a folder of keys, or of a list of keys; None for a single key."""
    from shuffledp.collect.server.settings import KEY_FILES

    path = Path(text.partition("=")[2])
    if path.is_dir():
        keys = [public_key(str(file)) for file in sorted(path.glob(KEY_FILES))]
    else:
        try:
            lines = path.read_text(encoding="ascii").split()
        except (OSError, ValueError):
            return None
        if len(lines) < 2 or not all(len(line) == 64 for line in lines):
            return None
        keys = [public_key(line) for line in lines]
    if len(keys) != rounds:
        raise ParameterError(f"{path} must have a key for each of {rounds} rounds, got {len(keys)} keys")
    return keys
