"""Every test vector of the wire format, against this program and against HPKE written by hand."""

import hashlib
import importlib.util
import json
import struct
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from shuffledp.collect.analyzer.worker import BatchCounter
from shuffledp.collect.crypto.batch import HEAD_BYTES, BatchHead, Layer, mix
from shuffledp.collect.crypto.keys import KeyPair, info
from shuffledp.collect.reasons import Reason, Refused
from shuffledp.collect.task import read_task, task_of
from shuffledp.collect.task.public_file import exact_text, read_decimal, read_exact
from shuffledp.collect.task.report import open_report
from shuffledp.errors import BrokenPromiseError, TaskError
from shuffledp.histogram.hash_family import HashFamily
from tests.collect.crypto.hpke_by_hand import opened_by_hand

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "vectors"


def read(name):
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def named(name):
    vectors = read(name)
    return pytest.mark.parametrize(
        "vector", vectors, ids=[vector.get("name", str(at)) for at, vector in enumerate(vectors)]
    )


TASKS = {vector["name"]: vector for vector in read("tasks.json")}


def task(name):
    return read_task(FOLDER / TASKS[name]["file"])


def key(name, position):
    return KeyPair.from_private_bytes(bytes.fromhex(TASKS[name]["private_keys"][position]))


@named("tasks.json")
def test_tasks(vector):
    found = task(vector["name"])
    canonical = vector["canonical"].encode()
    assert found.canonical == canonical
    assert found.name == vector["id"] == hashlib.sha256(canonical).hexdigest()
    assert task_of(canonical) == found
    assert (found.protocol.bins, found.alphabet) == (int(vector["values"]), int(vector["alphabet"]))
    assert (found.padded, found.symbol_bytes) == (vector["padded"], vector["symbol_bytes"])
    assert [found.onion_length(at) for at in range(len(found.shufflers) + 1)] == vector["onion_bytes"]
    assert found.longest_report == vector["longest_report"]
    public = [place.key for place in (*found.shufflers, found.analyzer)]
    assert public == [key(vector["name"], at).public for at in range(len(public))]


@named("tasks.json")
def test_the_privacy_of_tasks(vector):
    found = task(vector["name"])
    assert found.check().reached <= 1e-6
    for epsilon, delta in vector["delta_at"].items():
        assert found.protocol.privacy.delta(float(epsilon)) == pytest.approx(delta, rel=1e-6, abs=1e-25)
    assert found.protocol.privacy.exact is vector["delta_is_exact"]
    assert found.protocol.messages_per_user.expected == pytest.approx(vector["expected_messages"], rel=1e-12)


@named("corrupted-tasks.json")
def test_corrupted_tasks(vector):
    content = vector["content"].encode()
    if vector["reason"] == "broken-promise":
        with pytest.raises(BrokenPromiseError) as caught:
            task_of(content).check()
    else:
        with pytest.raises(TaskError) as caught:
            task_of(content)
    assert vector["says"] in str(caught.value)


def test_numbers():
    numbers = read("numbers.json")
    for vector in numbers["fractions"]:
        (number,) = struct.unpack(">d", bytes.fromhex(vector["double"]))
        assert read_exact(vector["text"], name="x") == number
        assert exact_text(number) == vector["text"]
    for vector in numbers["decimals"]:
        assert struct.pack(">d", read_decimal(vector["text"], name="x")).hex() == vector["double"]
    for text in numbers["refused_fractions"]:
        with pytest.raises(TaskError):
            read_exact(text, name="x")
    for text in numbers["refused_decimals"]:
        with pytest.raises(TaskError):
            read_decimal(text, name="x")


def the_list():
    return next(vector["content"].encode() for vector in read("lists.json") if vector["right"])


@named("answers.json")
def test_answers(vector):
    found = task(vector["task"]).with_answers(the_list())
    for asked in vector["places"]:
        assert found.bin_of(asked["answer"]) == asked["place"], asked


@named("texts.json")
def test_texts(vector):
    code = task(vector["task"]).answers.code
    assert code.symbols == vector["symbols"] == len(code.listed) + 3
    assert [code.listed[at] for at in (0, 1, -1)] == vector["pieces"]
    for asked in vector["texts"]:
        assert code.normalise(asked["text"]) == asked["normalised"], asked
        assert list(code.path(asked["text"])) == asked["path"], asked
        values = task(vector["task"]).values_of(asked["text"])
        assert values.tolist() == list(map(int, asked["values"])), asked


@named("sets.json")
def test_numbers_and_choices(vector):
    """The bins by the rules of the wire format, written out, and the values by the sizes of the levels."""
    found = task(vector["task"])
    assert found.values_per_person == vector["values_per_person"]
    for asked in vector["answers"]:
        answer, bins = asked["answer"], asked["bins"]
        if "tree" in vector:
            assert [found.bin_of(answer)] == bins, asked
            assert np.ravel(found.values_of(answer)).tolist() == asked["values"] == path(vector["tree"], *bins), asked
            continue
        listed, most = found.answers.values, found.answers.most
        choices = [one for one in (answer if isinstance(answer, list) else [answer]) if one not in (None, "")]
        expected = {listed.index(one) if one in listed else len(listed) for one in choices} or {len(listed) + 1}
        assert found.answers.bins_of(answer) == bins == sorted(expected), asked
        padding = [len(listed) + 2 + at for at in range(most - len(bins))]
        assert asked["values"] == (bins + padding if len(bins) <= most else None), asked
        for _ in range(3):
            (row,) = found.values_of(answer)
            held = [value for value in row.tolist() if value >= 0]
            assert set(held) <= set(bins)
            assert len(held) == len(set(held)) == min(most, len(bins))


def path(tree, leaf):
    """The nodes above a leaf, from the top: each level is numbered after the levels above it."""
    nodes = [leaf]
    for _ in tree["level_sizes"][1:]:
        nodes.insert(0, nodes[0] // tree["branching"])
    return [node + sum(tree["level_sizes"][:level]) for level, node in enumerate(nodes)]


@named("hashes.json")
def test_hashes(vector):
    """The family and each hash, with the sums written out."""
    buckets, values, pieces, levels = (int(vector[name]) for name in ("buckets", "values", "pieces", "levels"))
    family = HashFamily.of(modulus=buckets, values=values, pieces=pieces, levels=levels)
    assert (family.seeds, family.expanded) == (int(vector["seeds"]), vector["expanded"])
    assert levels * family.messages <= 2**62
    for one in vector["hashes"]:
        seed, value = int(one["seed"]), int(one["value"])
        assert family.coefficients(np.array([seed])).tolist() == [one["coefficients"]]
        assert family.digits_of(np.array([value])).tolist() == [one["digits"]]
        assert value == one["digits"][0] + pieces * sum(
            digit * buckets**at for at, digit in enumerate(one["digits"][1:])
        )
        if not family.expanded:
            assert seed == sum(number * buckets**at for at, number in enumerate(one["coefficients"]))
        products = zip(one["coefficients"], one["digits"], strict=True)
        assert one["bucket"] == sum(number * digit for number, digit in products) % buckets
        assert family.buckets(np.array([seed]), np.array([value])).tolist() == [one["bucket"]]
        assert int(one["message"]) == (one["level"] * family.seeds + seed) * buckets + one["bucket"]
        assert int(one["message"]) < levels * family.messages


def test_there_are_hashes_and_texts_of_every_kind():
    families = read("hashes.json")
    assert {(vector["expanded"], vector["levels"] > 1) for vector in families} == {
        (expanded, several) for expanded in (True, False) for several in (True, False)
    }
    assert {len(vector["hashes"][0]["digits"]) for vector in families} >= {1, 2, 3}
    first = {one["path"][0] for vector in read("texts.json") for one in vector["texts"]}
    assert {0, 1, 2} & first == {1, 2}
    assert all(one["values"] for vector in read("texts.json") for one in vector["texts"])


@named("lists.json")
def test_lists(vector):
    found = task(vector["task"])
    if vector["right"]:
        assert found.with_answers(vector["content"].encode()).bin_of("blue") == 2
    else:
        with pytest.raises(TaskError, match="its SHA-256 is another"):
            found.with_answers(vector["content"].encode())


@named("reports.json")
def test_reports(vector):
    name = vector["task"]
    found, sealed, inside = task(name), bytes.fromhex(vector["sealed"]), bytes.fromhex(vector["inside"])
    report = open_report(found, sealed, key(name, 0))
    assert opened_by_hand(sealed, key(name, 0).private_bytes, info(found.id, 0)) == inside
    assert (report.report_id.hex(), report.time) == (vector["report_id"], vector["time"])
    assert inside == report.report_id + report.time.to_bytes(8) + report.onions
    assert report.digest.hex() == vector["digest"]
    block, by_hand = report.onions, split(report.onions, found.onion_length(0))
    for position in range(1, len(found.shufflers) + 1):
        pair = key(name, position)
        block, lost = Layer(found.id, position, found.onion_length(position), pair.private_bytes).open_block(block)
        by_hand = [opened_by_hand(onion, pair.private_bytes, info(found.id, position)) for onion in by_hand]
        assert (lost, split(block, len(by_hand[0]))) == (0, by_hand)
    assert [int.from_bytes(message) for message in by_hand] == list(map(int, vector["messages"]))


def split(content, width):
    return [content[at : at + width] for at in range(0, len(content), width)]


@named("corrupted-reports.json")
def test_corrupted_reports(vector):
    with pytest.raises(Refused) as caught:
        open_report(task(vector["task"]), bytes.fromhex(vector["sealed"]), key(vector["task"], 0))
    assert caught.value.reason is Reason(vector["reason"])


@named("batches.json")
def test_batches(vector):
    """Through all servers from the one that receives it; the first to see a repeated onion drops it."""
    name, content = vector["task"], bytes.fromhex(vector["batch"])
    found, head = task(name), BatchHead.from_bytes(content)
    assert head == BatchHead(found.id, bytes.fromhex(vector["batch_id"]), vector["position"], vector["number"])
    block, refused = content[HEAD_BYTES:], Counter()
    assert len(block) == head.number * found.onion_length(head.position)
    for position in range(head.position, len(found.shufflers) + 1):
        with mix([block], found.onion_length(position)) as mixed:
            refused["repeated"] += mixed.repeated
            block = b"".join(mixed.blocks())
        layer = Layer(found.id, position, found.onion_length(position), key(name, position).private_bytes)
        block, lost = layer.open_block(block)
        refused["cannot-be-opened"] += lost
    messages = [int.from_bytes(message) for message in split(block, found.symbol_bytes)]
    refused["not-a-message"] = sum(message >= found.symbols for message in messages)
    nothing = sum(message == found.alphabet for message in messages) if found.padded else 0
    assert nothing == vector["nothing_at_the_end"]
    assert sorted(message for message in messages if message < found.alphabet) == vector["messages_at_the_end"]
    assert +refused == Counter(vector["refused"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sparse-one-shuffler", "sparse-three-shufflers", "dummy-poisson"])
def test_the_analyzer_counts_what_counts(name):
    """Padding is neither counted nor refused."""
    found, last = task(name), len(task(name).shufflers)
    (vector,) = (one for one in read("batches.json") if (one["task"], one["position"]) == (name, last))
    counted = BatchCounter(found, key(name, last)).count([bytes.fromhex(vector["batch"])[HEAD_BYTES:]])
    expected = found.protocol.tally(np.array(vector["messages_at_the_end"]))
    assert (counted.tally.as_dict(), counted.tally.messages) == (expected.as_dict(), expected.messages)
    assert {reason.value: number for reason, number in counted.refused.items()} == vector["refused"]


@pytest.mark.parametrize("name", TASKS)
def test_reports_of_padded_tasks_all_have_the_same_length(name):
    sent = [vector["messages"] for vector in read("reports.json") if vector["task"] == name]
    most, nothing = task(name).most_messages, TASKS[name]["alphabet"]
    if TASKS[name]["padded"]:
        assert {len(messages) for messages in sent} == {most}
        for messages in sent:
            ends = messages.index(nothing), most - 1 - messages[::-1].index(nothing)
            assert any(
                message != nothing for message in messages[ends[0] : ends[1]]
            )  # at all positions, not only at one end
    else:
        assert {len(messages) for messages in sent} == {1, 4}
        assert not any(nothing in messages for messages in sent)


def test_there_are_enough_vectors():
    assert len(read("corrupted-reports.json")) + len(read("corrupted-tasks.json")) >= 40
    assert {len(task(name).shufflers) for name in TASKS} == {1, 2, 3}
    refused = {vector["reason"] for vector in read("corrupted-reports.json")}
    assert refused == {"cannot-be-opened", "malformed", "too-large", "too-many-messages"}


def script():
    spec = importlib.util.spec_from_file_location("write_vectors", ROOT / "scripts" / "write_vectors.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def without_floats(value):
    if isinstance(value, dict):
        return {name: without_floats(part) for name, part in value.items()}
    if isinstance(value, list):
        return [without_floats(part) for part in value]
    return None if isinstance(value, float) else value


@pytest.mark.slow
def test_the_script_writes_the_vectors():
    """Except for the last digits of floats, which may differ between machines."""
    written = script().vectors(FOLDER)
    assert {path.name for path in FOLDER.glob("*.json")} == set(written)
    for name, content in written.items():
        assert without_floats(read(name)) == without_floats(json.loads(json.dumps(content))), name
