"""A person's own budget: exact totals, refusals, claims, and clients that race or are killed."""

import json
import math
import os
import signal
import subprocess
import sys
from contextlib import suppress
from fractions import Fraction
from itertools import product

import msgspec
import pytest

from shuffledp import BudgetError
from shuffledp.accounting.composition import composed
from shuffledp.collect import Client, Reason
from shuffledp.collect.client import budget, client, journal
from shuffledp.collect.client.budget import Total
from shuffledp.collect.client.journal import AnsweredTask, Journal
from shuffledp.collect.task import Claim, Named
from shuffledp.collect.task.spending import Spending
from shuffledp.collect.task.task import SeriesRound
from shuffledp.errors import AnswerBudgetError, DataError, ParameterError, RefusedError
from shuffledp.ledger.budget import Budget
from shuffledp.protocols.message_limit import LimitCost
from tests.collect.client.conftest import task_at
from tests.collect.client.servers import problem
from tests.collect.tasks import small_task

LIMIT = (1.25, 1e-5)
"""Two tasks with (1, 1e-6) have epsilon 1.21 at this delta, and three 1.5."""

KINDS = {
    "dummy-poisson": {},
    "hist": {"protocol": "hist"},
    "dummy": {"protocol": "dummy", "honest_users": 150},
    "sparse": {"protocol": "sparse", "users": 1000},
    "hashed": {"protocol": "hashed", "answers": tuple(map(str, range(300)))},
    "texts": {"texts": True, "users": 2000},
    "numbers": {"protocol": "ranges", "users": 2000},
    "choices": {"most": 2, "users": 2000},
    "sparse choices": {"most": 3, "users": 2000, "protocol": "sparse"},
    "hist choices": {"most": 2, "users": 2000, "protocol": "hist"},
}


def tasks(number, **more):
    """Tasks with the same parameters that differ in their closing time."""
    first = small_task(**more).task
    return [msgspec.structs.replace(first, closing=f"2099-01-{at + 1:02d}T00:00:00Z") for at in range(number)]


def limited(task, folder, limit=LIMIT, **more):
    return Client(task, journal=folder, budget=limit, **more)


@pytest.mark.parametrize("kind", KINDS)
def test_a_spending_without_its_task_has_the_same_privacy(kind):
    task = small_task(**KINDS[kind]).task
    written = msgspec.json.encode(Spending.of(task))
    read = msgspec.json.decode(written, type=Spending)
    read.check()
    assert read.curve == task.protocol.privacy
    assert read.limit_cost == LimitCost.of(task.protocol, task.most_messages)
    numbers = [value for value in json.loads(written).values() if isinstance(value, int)]
    assert max(numbers) < 2**53  # exact in JavaScript


@pytest.mark.slow
def test_mixed_answers_are_composed_exactly(tmp_path):
    answered = [small_task(**more).task for more in KINDS.values()]
    for task in answered:
        Client(task, journal=tmp_path).report("a")
    total = Total(budget.spendings_by_task(Journal(tmp_path).spendings()).values())
    limits = LimitCost.of_all(LimitCost.of(task.protocol, task.most_messages) for task in answered)
    by_hand = composed([task.protocol.privacy for task in answered])
    for epsilon in (0.0, 1.0, 2.5):
        assert total.delta(epsilon) == pytest.approx(limits.delta(by_hand.delta, epsilon), rel=1e-12)


def binomial_spending(*, honest, numerator, power, **more):
    return Spending(
        question="?",
        day="2026-11-18",
        protocol=Named("dummy", {"dummy_probability": f"{numerator}/2^{power}"}),
        guarantee=Claim("1", "1e-6"),
        users=honest,
        honest_users=honest,
        values=4,
        values_per_person=1,
        **{"most_messages": 5, **more},
    )


def enumerated(noises, factor):
    """The sum over all outcomes of max(0, P - factor Q), where each release moves one person between two bins."""
    releases = []
    for honest, share in noises:
        noise = [math.comb(honest, k) * share**k * (1 - share) ** (honest - k) for k in range(honest + 1)] + [0]
        pairs = product(range(honest + 2), repeat=2)
        releases.append([(noise[i - 1] * noise[j], noise[i] * noise[j - 1]) for i, j in pairs])
    total = Fraction(0)
    for outcome in product(*releases):
        p, q = math.prod(pair[0] for pair in outcome), math.prod(pair[1] for pair in outcome)
        total += max(Fraction(0), p - factor * q)
    return total


def test_two_small_answers_agree_with_enumeration():
    spendings = [
        binomial_spending(honest=3, numerator=1, power=2),
        binomial_spending(honest=2, numerator=3, power=3),
    ]
    total = Total(spendings)
    for factor in (1, 2, 5):
        truth = float(enumerated([(3, Fraction(1, 4)), (2, Fraction(3, 8))], factor))
        assert truth <= total.delta(math.log(factor)) <= 1.005 * truth


def test_sampling_again_costs_delta_for_every_answer():
    rare = binomial_spending(honest=30, numerator=1, power=2, most_messages=4)
    often = msgspec.structs.replace(rare, most_messages=3)
    assert rare.limit_cost.hidden < often.limit_cost.hidden
    spending = binomial_spending(honest=500, numerator=1, power=5, most_messages=4)
    again = spending.limit_cost.hidden
    assert 1e-4 < again < 0.5
    total, free = Total([spending] * 3), composed([spending.curve] * 3)
    exact = (free.delta(1.0) + math.e * 3 * again) / (1 - again) ** 3
    assert total.delta(1.0) == pytest.approx(exact)
    assert total.delta(total.epsilon(exact)) <= exact
    assert total.epsilon(exact) == pytest.approx(1.0)
    between = (exact * free.delta(1.0)) ** 0.5
    assert not total.within(Budget(population="me", epsilon=1.0, delta=between))


def test_the_term_of_sampling_again_has_a_share_of_a_limit_by_results():
    """It is compared alone, since paths of results could spend it and the rest differently."""
    dummies = binomial_spending(honest=10**6, numerator=1, power=2)
    spending = msgspec.structs.replace(dummies, values=40, most_messages=32)
    limit = Budget(population="me", epsilon=3.0, delta=1e-2, by_results=True)
    (cost, total), share = (spending.limit_cost, Total([spending] * 2)), limit.delta / 1024
    assert share < cost.added(3.0) * 2 < limit.delta
    assert total.delta(3.0) < limit.delta
    assert total.reached(limit) == pytest.approx(2 * 1024 * cost.added(3.0) / cost.kept**2)
    assert not total.within(limit)


def test_exactly_the_answers_that_fit(tmp_path, shuffler):
    first, second, third = tasks(3, addresses=(shuffler.address, "http://127.0.0.1:9"))
    assert limited(first, tmp_path).send("dark").state == "sent"
    use = limited(second, tmp_path).spending
    assert (use.before, use.after) == (pytest.approx(0.851, abs=1e-3), pytest.approx(1.208, abs=1e-3))
    assert (use.limit.epsilon, use.left) == (1.25, pytest.approx(0.042, abs=1e-3))
    assert limited(second, tmp_path).send("dark").state == "sent"
    with pytest.raises(AnswerBudgetError, match=r"over your limit of epsilon 1\.25 at delta 1e-5: 1\.21 is used") as no:
        limited(third, tmp_path).send("dark")
    assert isinstance(no.value, BudgetError)
    assert (no.value.before, no.value.after) == (pytest.approx(1.208, abs=1e-3), pytest.approx(1.494, abs=1e-3))
    assert len(shuffler.bodies) == 2
    assert len(list(tmp_path.iterdir())) == 2  # and no claim is left
    assert Client(third, journal=tmp_path).send("dark").state == "sent"  # without a limit there is no check


def test_the_task_that_is_said_to_fit_does(tmp_path):
    first, second = tasks(2)
    limited(first, tmp_path).report("dark")
    with pytest.raises(AnswerBudgetError, match="one more task with epsilon up to") as no:
        limited(second, tmp_path, (1.0, 1e-5)).report("dark")
    assert "at delta 1e-6 and one value per person would fit" in str(no.value)
    limited(small_task(epsilon=no.value.fits, users=10_000).task, tmp_path, (1.0, 1e-5)).report("dark")


def test_nothing_fits_any_more(tmp_path):
    first, second = tasks(2)
    limited(first, tmp_path).report("dark")
    with pytest.raises(AnswerBudgetError, match=r"no task with epsilon 0\.00\d+ or more fits") as no:
        limited(second, tmp_path, (0.8, 1e-5)).report("dark")
    assert no.value.fits is None


def test_an_answered_task_spends_nothing_more(tmp_path, shuffler):
    (task,) = tasks(1, addresses=(shuffler.address, "http://127.0.0.1:9"))
    report = limited(task, tmp_path).report("dark")
    again = limited(task, tmp_path)
    assert again.spending.before == again.spending.after
    assert again.report("light") == report
    assert again.send("light").state == "sent"
    strict = limited(task, tmp_path, (0.1, 1e-9))
    assert strict.spending.within
    assert strict.send("light").state == "already sent"


def test_a_report_made_before_is_not_sent_over_the_limit(tmp_path, shuffler):
    (task,) = tasks(1, addresses=(shuffler.address, "http://127.0.0.1:9"))
    report = Client(task, journal=tmp_path).report("dark")
    before = Journal(tmp_path).path(task).read_bytes()
    strict = limited(task, tmp_path, (0.5, 1e-5))
    assert not strict.spending.within
    words = r"made before and not sent, .* your limit of epsilon 0\.5 at delta 1e-5: 0\.851 is used.* a higher limit"
    for attempt in (strict.report, strict.send):
        with pytest.raises(AnswerBudgetError, match=words):
            attempt("dark")
    assert shuffler.bodies == []
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [before]
    assert limited(task, tmp_path).report("light") == report
    assert limited(task, tmp_path).send("light").state == "sent"


def test_a_report_of_the_first_version_is_checked_too(tmp_path, shuffler):
    (task,) = tasks(1, addresses=(shuffler.address, "http://127.0.0.1:9"))
    Client(task, journal=tmp_path).report("dark")
    first_version(tmp_path, task)
    with pytest.raises(AnswerBudgetError, match="made before and not sent"):
        limited(task, tmp_path, (0.5, 1e-5)).send("dark")
    assert limited(task, tmp_path).send("dark").state == "sent"


def test_a_limit_that_is_stored_meanwhile_holds(tmp_path):
    first, second = tasks(2)
    without, stored = Client(first, journal=tmp_path), Budget(population="me", epsilon=0.5, delta=1e-5)
    Journal(tmp_path).store_limit(stored)
    with pytest.raises(AnswerBudgetError):
        without.report("dark")
    wide = Client(second, journal=tmp_path)
    Journal(tmp_path).store_limit(Budget(population="me", epsilon=1, delta=1e-5))
    wide.report("dark")
    assert wide.limit.epsilon == 1


def test_a_given_limit_keeps_the_stored_by_results(tmp_path):
    first, second = tasks(2)
    Journal(tmp_path).store_limit(Budget(population="me", epsilon=3, delta=1e-5, by_results=True))
    limited(first, tmp_path, (1.6, 1e-5)).report("dark")
    answering = limited(second, tmp_path, (1.6, 1e-5))
    assert answering.limit.by_results
    with pytest.raises(AnswerBudgetError, match="whatever noise is chosen by results"):
        answering.report("dark")
    Journal(tmp_path).store_limit(Budget(population="me", epsilon=3, delta=1e-5, by_results=False))
    answering.report("dark")


@pytest.mark.parametrize("state", ["ready", "sent", "refused"])
def test_reports_count_in_every_state(tmp_path, shuffler, state):
    first, second = tasks(2, addresses=(shuffler.address, "http://127.0.0.1:9"))
    answering = limited(first, tmp_path, (1, 1e-5))
    answering.report("dark")
    if state == "sent":
        answering.send("dark")
    if state == "refused":
        shuffler.script.append(problem(Reason.MALFORMED))
        with pytest.raises(RefusedError):
            answering.send("dark")
    assert [spent.state for spent in Journal(tmp_path).spendings()] == [state]
    with pytest.raises(AnswerBudgetError):
        limited(second, tmp_path, (1, 1e-5)).report("dark")


def test_the_limit_for_noise_chosen_by_results_allows_less(tmp_path):
    (first, second), limit = tasks(2), (1.6, 1e-5)
    limited(first, tmp_path, limit, by_results=True).report("dark")
    with pytest.raises(AnswerBudgetError, match=r"whatever noise is chosen by results"):
        limited(second, tmp_path, limit, by_results=True).report("dark")
    limited(second, tmp_path, limit).report("dark")


def test_a_stored_limit_holds_and_can_be_overridden(tmp_path):
    first, second = tasks(2)
    assert Client(first, journal=tmp_path).spending is None
    Journal(tmp_path).store_limit(Budget(population="me", epsilon=1, delta=1e-5, by_results=False))
    assert (tmp_path / "budget.json").stat().st_mode & 0o777 == 0o600
    Client(first, journal=tmp_path).report("dark")
    with pytest.raises(AnswerBudgetError):
        Client(second, journal=tmp_path).report("dark")
    assert Client(second, journal=tmp_path, by_results=True).limit.by_results
    limited(second, tmp_path).report("dark")


@pytest.mark.parametrize("written", [b"", b"{}", b"[3]", b'{"kind":"shuffledp budget 1","epsilon":"nan","delta":"1"}'])
def test_a_broken_limit_is_an_error(tmp_path, written):
    (tmp_path / "budget.json").write_bytes(written)
    with pytest.raises(DataError, match="cannot be read: store it again"):
        Client(tasks(1)[0], journal=tmp_path)


@pytest.mark.parametrize(
    "wrong", [3, (3,), (3, 1e-5, 1), ("a", "b"), (math.nan, 1e-5), (0, 1e-5), (3, 0), (3, 1.5), (math.inf, 1e-5)]
)
def test_a_budget_must_be_an_epsilon_and_a_delta(tmp_path, wrong):
    with pytest.raises(ParameterError, match="budget"):
        limited(tasks(1)[0], tmp_path, wrong)


def test_by_results_needs_a_budget(tmp_path):
    with pytest.raises(ParameterError, match="by_results needs a budget"):
        Client(tasks(1)[0], journal=tmp_path, by_results=True)


def first_version(folder, task):
    """Turn the entry of a task into one that an earlier version has written."""
    path = Journal(folder).path(task)
    entry = json.loads(path.read_bytes())
    del entry["spending"], entry["fallback"], entry["fallback_sha256"]
    path.write_text(json.dumps({**entry, "kind": "shuffledp journal 1"}))


def test_entries_of_the_first_version_are_readable_but_count_only_when_described(tmp_path, shuffler):
    first, second = tasks(2, addresses=(shuffler.address, "http://127.0.0.1:9"))
    report = Client(first, journal=tmp_path).report("dark")
    first_version(tmp_path, first)
    assert Client(first, journal=tmp_path).report("dark") == report
    with pytest.raises(DataError, match=f"1 answer of an earlier version .* task files of {first.name}"):
        limited(second, tmp_path).report("dark")
    assert Journal(tmp_path).describe(first)
    assert not Journal(tmp_path).describe(first)
    assert Client(first, journal=tmp_path).report("dark") == report
    limited(second, tmp_path).report("dark")
    with pytest.raises(DataError, match="no entry for this task"):
        Journal(tmp_path).describe(tasks(3)[2])


def test_an_outcome_of_the_first_version_stays_in_it(tmp_path, shuffler):
    (task,) = tasks(1, addresses=(shuffler.address, "http://127.0.0.1:9"))
    Client(task, journal=tmp_path).report("dark")
    first_version(tmp_path, task)
    Client(task, journal=tmp_path).send("dark")
    entry = json.loads(Journal(tmp_path).path(task).read_bytes())
    assert (entry["kind"], entry["state"], "spending" in entry) == ("shuffledp journal 1", "sent", False)


def test_a_claim_counts_until_its_task_is_answered(tmp_path):
    first, second = tasks(2)
    Journal(tmp_path).claim(first)
    Journal(tmp_path).claim(first)  # of another client, and the same task
    assert [(spent.task, spent.state) for spent in Journal(tmp_path).spendings()] == [(first.name, "claimed")]
    assert limited(second, tmp_path).spending.unfinished == 1
    with pytest.raises(AnswerBudgetError, match="with 1 answer that a client began and did not finish"):
        limited(second, tmp_path, (1, 1e-5)).report("dark")
    limited(first, tmp_path, (1, 1e-5)).report("dark")
    assert [path.name for path in tmp_path.iterdir()] == [f"{first.name}.json"]


@pytest.mark.parametrize(
    "broken",
    [
        lambda text: b"",
        lambda text: text[:-9],
        lambda text: text.replace(b'"users":200', b'"users":"x"'),
        lambda text: text.replace(b"dummy-poisson", b"nothing-known"),
        lambda text: text.replace(b'"rate":"', b'"rate":"-'),
        lambda text: text.replace(b'"day":"2', b'"day":"x'),
        lambda text: text.replace(b'"values":5', b'"values":0'),
        lambda text: text.replace(b'"most_messages":', b'"most_messages":-'),
    ],
)
def test_broken_claims_are_an_error_and_not_removed(tmp_path, broken):
    first, second = tasks(2)
    claim = Journal(tmp_path).claim(first)
    claim.write_bytes(content := broken(claim.read_bytes()))
    for attempt in (limited(second, tmp_path).report, lambda answer: limited(second, tmp_path).spending):
        with pytest.raises(DataError, match=f"{first.name}"):
            attempt("dark")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [content]
    assert Journal(tmp_path).describe(first)
    limited(second, tmp_path).report("dark")


def test_neither_claims_nor_entries_depend_on_the_answer(tmp_path, monkeypatch):
    (task,) = tasks(1)
    seen = []
    made = client.new_versions

    def look(asked, answer):
        seen.append([path.read_bytes() for path in (tmp_path / folder).glob("*.claim")])
        return made(asked, answer)

    monkeypatch.setattr(client, "new_versions", look)
    spendings = []
    for folder, answer in (("one", "dark"), ("two", "something very personal"), ("three", None)):
        limited(task, tmp_path / folder).report(answer)
        spendings.append(json.loads(Journal(tmp_path / folder).path(task).read_bytes())["spending"])
    assert seen[0] == seen[1] == seen[2]
    assert len(seen[0]) == 1
    assert spendings[0] == spendings[1] == spendings[2]


def test_a_failed_report_leaves_no_claim(tmp_path, monkeypatch):
    def fail(*_):
        raise DataError("no report")

    monkeypatch.setattr(client, "new_versions", fail)
    with pytest.raises(DataError, match="no report"):
        limited(tasks(1)[0], tmp_path).report("dark")
    assert list(tmp_path.iterdir()) == []


def test_a_client_that_looks_while_another_answers_does_not_overspend(tmp_path, monkeypatch):
    """The second client answers between the moment when the first has read the journal and when it decides."""
    first, second = tasks(2)
    monkeypatch.setattr(budget, "_PAUSE", 0.001)
    read, answered = Journal.spendings, []

    def then_the_other_answers(journal):
        found = read(journal)
        monkeypatch.setattr(Journal, "spendings", read)
        with suppress(AnswerBudgetError):
            answered.append(limited(second, tmp_path, (1, 1e-5)).report("dark"))
        return found

    monkeypatch.setattr(Journal, "spendings", then_the_other_answers)
    answered.append(limited(first, tmp_path, (1, 1e-5)).report("dark"))
    assert len(answered) == 1
    assert [spent.task for spent in Journal(tmp_path).spendings()] == [first.name]


def test_a_claim_that_becomes_an_entry_while_names_are_listed_counts(tmp_path, monkeypatch):
    """Listing may pass the place of the entry before it is there, and reach the claim after it is gone."""
    (task,), listed = tasks(1), os.listdir

    def missed(folder):
        monkeypatch.setattr(os, "listdir", listed)
        limited(task, tmp_path, (1, 1e-5)).report("dark")
        return []

    Journal(tmp_path).claim(task)
    monkeypatch.setattr(os, "listdir", missed)
    assert [spent.task for spent in Journal(tmp_path).spendings()] == [task.name]


RACER = """
import sys
from shuffledp.collect import Client
from shuffledp.errors import AnswerBudgetError
print("ready", flush=True)
for line in sys.stdin:
    task, folder = line.split()
    try:
        Client(task, journal=folder, budget=(1, 1e-5)).report("dark")
        print("answered", flush=True)
    except AnswerBudgetError:
        print("refused", flush=True)
"""


def racing(commands, folder, rounds):
    """Let programs answer one task each in the same journal, in several journals; return what each says."""
    answering = tasks(len(commands))
    for at, task in enumerate(answering):
        (folder / f"{at}.task.json").write_text(task.to_json())
    pipe = subprocess.PIPE
    programs = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, bufsize=1) for command in commands]
    said = []
    try:
        for program in programs:
            assert program.stdout.readline() == "ready\n"
        for at in range(rounds):
            for number, program in enumerate(programs):
                program.stdin.write(f"{folder / f'{number}.task.json'} {folder / f'journal{at}'}\n")
                program.stdin.flush()
            said.append([program.stdout.readline().strip() for program in programs])
    finally:
        for program in programs:
            program.kill()
            program.communicate()
    return said


@pytest.mark.slow
def test_two_processes_that_race_do_not_overspend(tmp_path):
    said = racing([[sys.executable, "-c", RACER]] * 2, tmp_path, rounds=20)
    assert {"answered", "refused"} >= {word for words in said for word in words}
    for at, words in enumerate(said):
        assert words.count("answered") <= 1
        assert len(Journal(tmp_path / f"journal{at}").spendings()) == words.count("answered")
    assert sum(words.count("answered") for words in said) >= 10  # and they seldom stop each other


KILLED = """
import os, signal, sys
from shuffledp.collect import Client
from shuffledp.collect.client import client
client.new_versions = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
Client(sys.argv[1], journal=sys.argv[2], budget=(1, 1e-5)).report("dark")
"""


@pytest.mark.slow
def test_a_client_that_is_killed_after_its_claim_counts_as_spent(tmp_path):
    first, second = tasks(2)
    (tmp_path / "task.json").write_text(first.to_json())
    killed = subprocess.run([sys.executable, "-c", KILLED, tmp_path / "task.json", tmp_path / "journal"], check=False)
    assert killed.returncode == -signal.SIGKILL
    with pytest.raises(AnswerBudgetError):
        limited(second, tmp_path / "journal", (1, 1e-5)).report("dark")
    limited(first, tmp_path / "journal", (1, 1e-5)).report("dark")
    with pytest.raises(AnswerBudgetError):
        limited(second, tmp_path / "journal", (1, 1e-5)).report("dark")


@pytest.mark.parametrize("ending", ["json", "1f.claim"])
def test_a_name_in_upper_case_is_refused(tmp_path, ending):
    (tmp_path / f"{'A' * 64}.{ending}").write_text("not looked at")
    with pytest.raises(DataError, match="must have a name in lower case"):
        limited(tasks(1)[0], tmp_path).report("dark")


def test_answers_are_in_the_order_of_days_series_and_rounds():
    (task,) = tasks(1)
    found = []
    for day, series, number in product(("2026-01-01", "2026-01-02"), ("a" * 64, "b" * 64), (1, 2, 10)):
        spending = msgspec.structs.replace(Spending.of(task), day=day, series=SeriesRound(series, number))
        found.append(AnsweredTask(task=f"{len(found) * 7 % 12:02d}", state="sent", spending=spending))
    found.reverse()
    in_order = sorted(found, key=journal._time_order)
    assert in_order == list(reversed(found))


def test_a_record_that_cannot_be_computed_says_so_once():
    wrong = msgspec.structs.replace(Spending.of(tasks(1)[0]), protocol=Named("unknown", {}))
    with pytest.raises(DataError) as caught:
        _ = wrong.curve
    assert str(caught.value).count("its privacy cannot be computed") == 1


def test_other_files_in_the_folder_are_left_alone(tmp_path):
    for name in ("notes.json", "x.claim", f"{'0' * 63}.json", f"{'g' * 64}.json", f".{'0' * 64}.tmp"):
        (tmp_path / name).write_text("nothing of a journal")
    assert Journal(tmp_path).spendings() == []
    assert Journal(tmp_path / "missing").spendings() == []


def test_a_task_at_its_server_can_be_pinned_with_a_budget(kept, shuffler, tmp_path):
    assert limited(task_at(shuffler.address).task, tmp_path, pin=kept.task.name).send("dark").state == "sent"
