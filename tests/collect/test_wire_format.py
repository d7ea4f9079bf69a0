"""The wire format page: its Python client, its formula for delta, and its table of reasons are correct.

Statistical assertions have a false failure rate of at most 1e-6 each.
"""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from shuffledp.collect.crypto.batch import Layer
from shuffledp.collect.reasons import Reason
from shuffledp.collect.task import AnswerChoices, AnswerEdges, AnswerText, task_of
from shuffledp.collect.task.report import open_report
from tests.collect.task.test_most_messages import number_distribution
from tests.collect.test_vectors import FOLDER, ROOT, TASKS, key, read, split, task
from tests.oracles.goodness import assert_distribution, assert_not_distribution

PAGE = ROOT / "docs" / "reference" / "wire-format.md"
NOW = 1_798_765_432


@pytest.fixture(scope="module")
def client():
    (program,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)
    assert "import shuffledp" not in program
    assert "from shuffledp" not in program
    names = {"__name__": "client"}
    exec(compile(program, str(PAGE), "exec"), names)
    return names


def plain(name):
    return json.loads((FOLDER / TASKS[name]["file"]).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", TASKS)
def test_the_client_of_the_page_knows_the_canonical_form(client, name):
    assert client["canonical"](plain(name)).decode() == TASKS[name]["canonical"]


def holds(task, place, symbols):
    """Whether the own messages are among these: one for a place, or one on each level for the values of a text."""
    if task.protocol_used.name != "hashed":
        held = place if isinstance(place, list) else [place]
        return {task.protocol.kinds * value for value in held} <= set(symbols)
    levels = [task.protocol.level(task.protocol.tally(np.array(symbols)), at) for at in range(task.protocol.levels)]
    values = place if isinstance(place, list) else [place]
    counts = [
        task.protocol.family.count(level.symbols, np.array([value]))[0]
        for level, value in zip(levels, values, strict=True)
    ]
    return min(counts) >= 1


@pytest.mark.parametrize("vector", read("texts.json"), ids=lambda vector: vector["task"])
def test_the_client_of_the_page_cuts_texts(client, vector):
    answers = plain(vector["task"])["answers"]
    pieces = client["all_pieces"](answers)
    assert ([pieces[0], pieces[1], pieces[-1]], len(pieces) + 3) == (vector["pieces"], vector["symbols"])
    for one in vector["texts"]:
        if one["normalised"] is not None:
            assert client["normalised"](one["text"], answers["normalisation"]) == one["normalised"], one
        assert client["path"](answers, one["text"]) == one["path"], one
        assert client["values_of"](answers, one["text"]) == list(map(int, one["values"])), one


@pytest.mark.slow
@pytest.mark.parametrize("vector", read("sets.json"), ids=lambda vector: vector["task"])
def test_the_client_of_the_page_has_the_values_of_numbers_and_choices(client, vector):
    of = plain(vector["task"])
    if "tree" in vector:
        assert client["level_sizes"](of) == vector["tree"]["level_sizes"]
    for one in vector["answers"][: 4 if vector["task"] == "ranges-many" else None]:
        if "tree" in vector:
            assert [client["interval"](of["answers"], one["answer"])] == one["bins"], one
            assert client["nodes"](of, one["answer"]) == one["values"], one
        elif one["values"] is None:
            chosen = client["choices"](of["answers"], one["answer"])
            assert set(chosen) < set(one["bins"])
            assert len(set(chosen)) == of["answers"]["most"]
        else:
            assert client["choices"](of["answers"], one["answer"]) == one["values"], one


@pytest.mark.parametrize("vector", read("hashes.json"), ids=lambda vector: vector["name"])
def test_the_client_of_the_page_hashes(client, vector):
    pieces = {"kind": "list", "values": ["a"] * (vector["pieces"] - 3)}
    texts = {"kind": "text", "levels": vector["levels"], "pieces": pieces}
    listed = {"kind": "range", "start": 0, "stop": 5}
    of = {
        "answers": texts if vector["pieces"] != vector["buckets"] else listed,
        "protocol": {"parameters": {"buckets": vector["buckets"]}},
    }
    values = int(vector["values"])
    *_, seeds, explicit = client["family"](of, values)
    assert (seeds, not explicit) == (int(vector["seeds"]), vector["expanded"])
    for one in vector["hashes"]:
        seed, value = int(one["seed"]), int(one["value"])
        assert client["bucket"](of, values, seed, value) == one["bucket"]
        message = (one["level"] * seeds + seed) * vector["buckets"] + one["bucket"]
        assert message == int(one["message"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hashed", "text-as-typed"])
def test_the_client_of_the_page_samples_hashed_messages(client, name):
    """The number of messages, the dummies of a level, and the seeds of the own messages."""
    values, found = int(TASKS[name]["values"]), task(name)
    place = client["values_of"](plain(name)["answers"], "a") if name != "hashed" else 1
    held = place if isinstance(place, list) else [place]
    sent = [client["hashed"](plain(name), held, values) for _ in range(400)]
    distribution = number_distribution(found.protocol)
    numbers = np.array([len(messages) for messages in sent])
    assert_distribution(numbers, 0, distribution)
    assert_not_distribution(numbers + numbers // 4 + 1, 0, distribution)
    family, uniform = found.protocol.family, np.full(16, 1 / 16)
    own = np.array([messages[: len(held)] for messages in sent])
    noise = np.concatenate([messages[len(held) :] for messages in sent]).astype(np.int64)
    if name == "hashed":
        assert_distribution(own[:, 0] // family.modulus, 0, np.full(family.seeds, 1 / family.seeds))
        assert_distribution(noise, 0, np.full(found.alphabet, 1 / found.alphabet))
    else:
        assert_distribution(noise // -(-found.alphabet // 16), 0, uniform)
        for level in range(len(held)):
            seeds = own[:, level] // family.modulus - level * family.seeds
            assert_distribution(seeds // -(-family.seeds // 16), 0, uniform)


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_what_the_client_of_the_page_sends_is_opened_and_counted(client, name):
    found, values = task(name), int(TASKS[name]["values"])
    places = (0, values - 2, values - 1)
    if isinstance(found.answers, AnswerText):
        places = [client["values_of"](plain(name)["answers"], text) for text in ("news", "ab", "?", None)]
    elif isinstance(found.answers, AnswerEdges):
        places = [client["nodes"](plain(name), answer) for answer in (1, "1e3", "x", None)]
    elif isinstance(found.answers, AnswerChoices):
        places = [client["choices"](plain(name)["answers"], answer) for answer in (["apple", "fig", "x"], "fig", None)]
    for place in places:
        report = open_report(found, client["report"](plain(name), place, values, NOW), key(name, 0))
        assert report.time == NOW - NOW % 3600
        block = report.onions
        for position in range(1, len(found.shufflers) + 1):
            private = key(name, position).private_bytes
            block, lost = Layer(found.id, position, found.onion_length(position), private).open_block(block)
            assert lost == 0
        symbols = [int.from_bytes(message) for message in split(block, found.symbol_bytes)]
        assert holds(found, place, symbols)
        counted = [symbol for symbol in symbols if symbol != int(TASKS[name]["alphabet"])]
        assert found.protocol.tally(np.array(counted)).total == len(counted)
        if TASKS[name]["padded"]:
            assert report.number == found.most_messages
        else:
            assert len(counted) == report.number


@pytest.mark.parametrize(("answers", "one_byte"), [(253, True), (254, False), (255, False)])
def test_the_client_of_the_page_makes_messages_as_wide_as_the_padding_needs(client, answers, one_byte):
    """256 values fit into one byte, but not the padding message as well."""
    other = plain("hist") | {"answers": {"kind": "range", "start": 0, "stop": answers}, "most_messages": answers + 3}
    found = task_of(json.dumps(other).encode())
    report = open_report(found, client["report"](other, 0, answers + 2, NOW), key("hist", 0))
    assert report.number == answers + 3
    assert (len(report.onions) == report.number * 49) is one_byte


def drawn(client, name, place, calls):
    """The messages sent, and those without padding."""
    sent = [client["messages"](plain(name), place, TASKS[name]["values"]) for _ in range(calls)]
    return sent, [[message for message in one if message != TASKS[name]["alphabet"]] for one in sent]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["hist", "dummy", "dummy-poisson", "sparse-one-shuffler", "sparse-best", "ranges", "choices", "choices-poisson"],
)
def test_the_client_of_the_page_samples_the_distribution(client, name):
    held = list(range(task(name).values_per_person))
    everything_sent, sent = drawn(client, name, held, 200)
    lengths = {len(messages) for messages in everything_sent}
    assert lengths == {task(name).most_messages} if task(name).padded else everything_sent == sent
    distribution = number_distribution(task(name).protocol)
    numbers = np.array([len(messages) for messages in sent])
    assert_distribution(numbers, 0, distribution)
    assert_not_distribution(numbers + numbers // 4 + 1, 0, distribution)
    everything = np.concatenate([np.array(messages) for messages in sent])
    own = np.zeros(task(name).alphabet, dtype=np.int64)
    own[[task(name).protocol.kinds * value for value in held]] = len(sent)
    noise = np.bincount(everything, minlength=own.size) - own
    assert noise.min() >= 0
    if task(name).protocol.kinds == 2:
        assert (noise[1::2] >= noise[::2]).all()  # every +j of the noise has its -j


def own_places(reports, calls=1200):
    return np.array([one.index(min(one)) for one in (next(reports) for _ in range(calls))])


def test_the_client_of_the_page_mixes_the_padding_in(client):
    """The own message may be at any position among eight padding messages. Negative control: padding last."""
    other = plain("dummy") | {"most_messages": 9}
    other["protocol"] = {"name": "dummy", "parameters": {"dummy_probability": "1/2^1000"}}

    def reports(mixed):
        while True:
            sent = client["messages"](other, 0, 5)
            yield sent if mixed else sorted(sent)

    uniform = np.full(9, 1 / 9)
    assert_distribution(own_places(reports(True)), 0, uniform)
    assert_not_distribution(own_places(reports(False)), 0, uniform)


def hockey_stick(distribution, epsilon):
    """The page's formula: delta of (K1 + 1, K2) against (K1, K2 + 1), summed over all outcomes."""
    here, before = np.append(distribution, 0), np.insert(distribution, 0, 0)  # f(k) and f(k - 1)
    return np.maximum(np.outer(before, here) - math.exp(epsilon) * np.outer(here, before), 0).sum()


@pytest.mark.parametrize("name", ["hist", "hist-unbiased", "dummy", "dummy-poisson", "hashed"])
def test_the_formula_for_delta_gives_the_figures_of_the_vectors(name):
    found = task(name)
    if name in ("dummy-poisson", "hashed"):
        dummies = found.protocol.dummies if name == "hashed" else found.protocol.noise
        rate = dummies.rate * found.honest_users / found.users
        distribution = np.exp([k * math.log(rate) - rate - math.lgamma(k + 1) for k in range(200)])
    else:
        (text,) = found.protocol_used.parameters.values()
        numerator, power = map(int, text.split("/2^"))
        distribution = binom.pmf(np.arange(found.honest_users + 1), found.honest_users, math.ldexp(numerator, -power))
    for epsilon, delta in TASKS[name]["delta_at"].items():
        assert hockey_stick(distribution, float(epsilon)) == pytest.approx(delta, rel=1e-6, abs=1e-14)
    assert TASKS[name]["delta_is_exact"] is (name != "hashed")


def table_of(path):
    text = path.read_text()
    rows = re.findall(r"^\| `([a-z-]+)` \| (\d{3}) \| (yes|no|once put right) \| (.*) \|$", text, flags=re.MULTILINE)
    return {reason: (int(status), again, meaning) for reason, status, again, meaning in rows}


def test_the_table_of_reasons_matches_the_program():
    expected = {reason.value: (int(reason.status), reason.again, reason.meaning) for reason in Reason}
    assert table_of(ROOT / "docs" / "reference" / "endpoints.md") == expected


def test_the_page_names_only_existing_reasons():
    words = set(re.findall(r"`([a-z]+(?:-[a-z]+)+)`", PAGE.read_text()))
    protocols = {"hist-unbiased", "sparse-best", "dummy-poisson", "listed-at"}
    assert words - protocols <= {reason.value for reason in Reason}
    assert len(words - protocols) >= 6


def test_the_page_lists_the_fields_of_a_task():
    section = PAGE.read_text().split("## The task")[1].split("An address is")[0]
    named = {
        name
        for cell in re.findall(r"^\| (`.*?`) \|", section, flags=re.MULTILINE)
        for name in re.findall(r"`(\w+)`", cell)
    }
    assert named == set(plain("hist"))


def test_the_folder_of_vectors_is_described():
    listed = set(re.findall(r"^\| `([\w*/.-]+)` \|", (FOLDER / "README.md").read_text(), flags=re.MULTILINE))
    assert listed == {"tasks/*.json", "series/*.json", *(path.name for path in Path(FOLDER).glob("*.json"))}
