"""Task files have one canonical form and one id, and errors that people understand."""

import hashlib
import json
import random
from contextlib import suppress
from copy import deepcopy

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp.collect.task import AnswersElsewhere, Task, read_task, task_of
from shuffledp.collect.task.task import LONGEST_REPORT
from shuffledp.errors import TaskError
from tests.collect.tasks import small_task

TASK = small_task(protocol="sparse", shufflers=2).task
PLAIN = json.loads(TASK.to_json())


def places_in(value, path=()):
    """Every path in a nested value."""
    yield path
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places_in(part, (*path, key))


def changed(path, value):
    """The task as JSON with one value changed."""
    if not path:
        return value
    plain = deepcopy(PLAIN)
    inside = plain
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    return plain


def as_bytes(plain):
    return json.dumps(plain).encode()


def test_the_id_is_the_sha256_of_sorted_names_without_spaces():
    by_hand = json.dumps(PLAIN, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    assert TASK.canonical == by_hand
    assert TASK.id == hashlib.sha256(by_hand).digest()
    assert TASK.name == hashlib.sha256(by_hand).hexdigest()


def shuffled(value, rng):
    """The same JSON with the names of every object in another order."""
    if isinstance(value, list):
        return [shuffled(part, rng) for part in value]
    if not isinstance(value, dict):
        return value
    names = rng.sample(sorted(value), len(value))
    return {name: shuffled(value[name], rng) for name in names}


@pytest.mark.slow
@given(
    st.randoms(use_true_random=False), st.integers(0, 7), st.booleans(), st.sampled_from([(",", ":"), (" ,\n", "\t: ")])
)
@settings(max_examples=20)
def test_spaces_escapes_and_the_order_of_names_do_not_change_the_id(rng, indent, escaped, separators):
    text = json.dumps(shuffled(PLAIN, rng), indent=indent, ensure_ascii=escaped, separators=separators)
    assert task_of(text.encode()).id == TASK.id


def test_a_written_file_is_the_same_task(tmp_path):
    path = tmp_path / "t.json"
    path.write_text(TASK.to_json())
    assert read_task(path) == read_task(str(path)) == read_task(TASK.canonical) == TASK
    assert read_task(path).id == TASK.id


OTHERS = {
    ("question",): "Which theme do you like?",
    ("answers", "values"): ["dark", "light"],
    ("answers", "values", 0): "Dark",
    ("protocol", "name"): "sparse-best",
    ("guarantee", "epsilon"): "1.0",
    ("guarantee", "delta"): "0.000001",
    ("users",): 201,
    ("honest_users",): 199,
    ("most_messages",): TASK.most_messages + 1,
    ("opens",): "2020-01-01T00:00:01Z",
    ("closes",): "2099-01-01T00:00:00Z",
    ("time_precision",): 60,
    ("admission",): "tokens",
    ("shufflers",): PLAIN["shufflers"][::-1],
    ("shufflers", 1, "address"): "http://127.0.0.1:99",
    ("analyzer", "key"): small_task(users=201).task.analyzer.key,
}


@pytest.mark.parametrize("path", OTHERS, ids=str)
def test_any_field_changes_the_id(path):
    other = task_of(as_bytes(changed(path, OTHERS[path])))
    assert other.id != TASK.id


def test_every_field_was_changed():
    assert {path[0] for path in OTHERS} == set(PLAIN) - {"version"}


def test_texts_keep_their_own_code_points():
    """Composed and decomposed letters are different answers and tasks: nothing is normalized."""
    one, other = (task_of(as_bytes(changed(("answers", "values", 0), text))) for text in ("\u00e9", "e\u0301"))
    assert one.id != other.id
    assert one.bin_of("e\u0301") == other.bin_of("\u00e9") == 3
    assert "\u00e9".encode() in one.canonical


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (("version",), 3, "version must be 1 or 2, got a task of version 3"),
        (("version",), 2, "a task of version 2 must have one of the fields series, asker, purpose, contact, language"),
        (("asker",), "A", "a task of version 1 has no field `asker`"),
        (("series",), {"id": "ab" * 32, "round": 1}, "a task of version 1 has no field `series`"),
        (("version",), "1", "`version` must be a whole number, got text"),
        (("question",), "  ", "the question must have 1 to 1,000 characters"),
        (("question",), "x" * 1001, "the question must have"),
        (("question",), 5, "`question` must be text, got a whole number"),
        (("question",), "\ud800", "not valid Unicode"),
        (("answers",), {"values": ["a"]}, "the field `kind` of `answers` is missing"),
        (("answers",), {"kind": "set", "values": ["a"]}, "must be list, range, listed-at, text, numbers or choices"),
        (("answers", "values"), [], "a task needs at least one possible answer"),
        (("answers", "values"), ["a", "a"], "one is there twice"),
        (("answers", "values"), ["a", "(other)"], "(other) and (none) are answers of every task"),
        (("answers", "values"), ["a", " "], "must not be empty"),
        (("answers", "values"), ["a", "b\nc"], "text of one line"),
        (("answers", "values"), ["a", 5], "`answers.values[1]` must be text, got a whole number"),
        (("answers",), {"kind": "range", "start": 5, "stop": 5}, "start < stop"),
        (("answers",), {"kind": "range", "start": 0, "stop": 2**53}, "below 2^53"),
        (("answers",), {"kind": "range", "start": 0, "stop": 2**32 - 1}, "at most 2^32 - 2 numbers"),
        (("answers",), {"kind": "listed-at", "address": "https://h", "sha256": "AB" * 32, "size": 5}, "small letters"),
        (("answers",), {"kind": "listed-at", "address": "https://h", "sha256": "ab" * 32, "size": 0}, "between 1 and"),
        (("answers",), {"kind": "listed-at", "address": "file:///etc", "sha256": "ab" * 32, "size": 5}, "such as"),
        (("protocol", "name"), "blanket", "a task's protocol must be one of hist, hist-unbiased, sparse"),
        (("protocol", "name"), "hist", "the parameters of hist must be missing_probability, and nothing else"),
        (("protocol", "parameters"), {}, "must be lone and pairs, and nothing else"),
        (("protocol", "parameters", "lone"), 5, "lone must have a rate and size_weights"),
        (("protocol", "parameters", "lone", "size_weights"), ["a"], "must be a list of whole numbers"),
        (("protocol", "parameters", "lone", "size_weights"), [True], "must be a list of whole numbers"),
        (("protocol", "parameters", "lone", "size_weights"), [], "must be a list of whole numbers"),
        (("protocol", "parameters", "lone", "size_weights"), [5], "add up to 1099511627776"),
        (("protocol", "parameters", "lone", "size_weights"), [-1, 2**40 + 1], "add up to 1099511627776"),
        (("protocol", "parameters", "lone", "size_weights"), [0] * 100_000 + [2**40], "too many to check"),
        (("protocol", "parameters", "lone"), {"rate": "1/2^40", "size_weights": [0] * 40_000 + [2**40]}, "too many"),
        (("protocol", "parameters", "lone", "rate"), 5, "must be a whole number or a fraction such as 5161/2^13"),
        (("protocol", "parameters", "lone", "rate"), "0", "rate must lie in (0, 100000]"),
        (("protocol", "parameters", "lone", "rate"), "2/2^4", "in lowest terms"),
        (("guarantee", "epsilon"), "0", "the guarantee of the task cannot be one: epsilon must be above 0"),
        (("guarantee", "epsilon"), "+1", "epsilon must be a decimal number as text"),
        (("guarantee", "delta"), "1", "delta must lie strictly between 0 and 1"),
        (("guarantee", "delta"), "1e-400", "delta must lie strictly between 0 and 1"),
        (("guarantee", "delta"), 1, "`guarantee.delta` must be text, got a whole number"),
        (("users",), 1, "users must be at least 2"),
        (("users",), 10**13, "users must be"),
        (("users",), True, "`users` must be a whole number, got true or false"),
        (("honest_users",), 0, "honest_users from 1 to users"),
        (("honest_users",), 201, "honest_users from 1 to users"),
        (("most_messages",), 0, "most_messages must be at least 1"),
        (("most_messages",), 2**32, "below 2^32"),
        (("most_messages",), 2**31, "nobody should have to send more than 268,435,456"),
        (("opens",), "2100-01-01T00:00:00Z", "a task must open before it closes"),
        (("opens",), "2020-01-01", "opens must be a time in UTC such as 2027-01-31T12:00:00Z; got '2020-01-01'"),
        (("closes",), "2100-1-1T00:00:00Z", "closes must be a time in UTC"),
        (("closes",), "2100-02-30T00:00:00Z", "closes must be a time in UTC"),
        (("time_precision",), 0, "time_precision must be from one second to 366 days"),
        (("time_precision",), 367 * 86_400, "time_precision must be"),
        (("admission",), "friends", "`admission` must be anybody, secret or tokens, got 'friends'"),
        (("shufflers",), [], "a task needs 1 to 8 shufflers, got 0"),
        (("shufflers",), PLAIN["shufflers"] * 5, "a task needs 1 to 8 shufflers, got 10"),
        (("shufflers", 1), PLAIN["shufflers"][0], "have the same key"),
        (("shufflers", 0, "address"), "ftp://h", "the address of shuffler 1 must be such as https://host:port"),
        (("shufflers", 1, "address"), "http://[", "the address of shuffler 2 must be such as"),
        (("shufflers", 1, "address"), "http://h:99999", "the address of shuffler 2 must be such as"),
        (("shufflers", 1, "address"), "http://h?x=1", "the address of shuffler 2 must be such as"),
        (("shufflers", 1, "address"), "http://h\u0000", "the address of shuffler 2 must be such as"),
        (("shufflers", 1, "address"), "http://me:secret@h", "must not hold a name or a password"),
        (("shufflers", 1, "address"), "ftp://me:secret@h", "must be such as https://host:port; got ftp://...@h"),
        (("shufflers", 1, "address"), "http://h /x", "the host in the address of shuffler 2 must be a name"),
        (("shufflers", 1, "address"), "http://%41", "the host in the address of shuffler 2 must be a name of letters"),
        (("shufflers", 1, "address"), "http://a.XN--b", "without xn--"),
        (("shufflers", 1, "address"), "http://0x7f.1", "or an IP address in its usual spelling"),
        (("shufflers", 1, "address"), "http://[v1.a]", "or an IP address in its usual spelling"),
        (("shufflers", 1, "address"), "http://[::1];sandbox", "the address of shuffler 2 must be"),
        (("shufflers", 1, "address"), "http://h;[v1.a]:80", "the address of shuffler 2 must be"),
        *((("shufflers", 1, "address"), f"http://h/{each}a", "the path in the address of shuffler 2 must be of letters")
          for each in " !\"$&'()*;<=>[\\]^`{|}"),
        (("analyzer", "key"), "ab", "the key of the analyzer must be 64 hexadecimal digits"),
        (("analyzer", "key"), "AB" * 32, "in small letters"),
        (("analyzer", "key"), "0" * 64, "the key of the analyzer is no public key"),
        (("analyzer", "key"), "01" + "00" * 31, "the key of the analyzer is no public key"),
        (("analyzer", "key"), "ff" * 32, "the key of the analyzer is no public key"),
        (("analyzer",), {"address": "http://h"}, "the field `key` of `analyzer` is missing"),
        ((), [], "a task must be an object with named fields, got a list"),
        ((), {**PLAIN, "more": 1}, "`more` is no field of a task"),
        ((), {key: PLAIN[key] for key in PLAIN if key != "users"}, "the field `users` of a task is missing"),
        (("shufflers", 0, "more"), 1, "`more` is no field of `shufflers[0]`"),
    ],
)  # fmt: skip
def test_invalid_tasks_are_refused_with_a_message(path, value, reason):
    with pytest.raises(TaskError) as caught:
        task_of(as_bytes(changed(path, value)))
    assert reason in str(caught.value)
    assert len(str(caught.value)) < 400


SHORT = '{"version": 1, "users": '


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is empty"),
        (b" \n", "it is empty"),
        (b"hello", "it is not JSON"),
        (b"\xff\xfe{}", "it is not JSON in UTF-8"),
        (b"\xef\xbb\xbf" + TASK.canonical, "it is not JSON in UTF-8"),
        (TASK.canonical.decode().encode("utf-16"), "it is not JSON in UTF-8"),
        (TASK.canonical + b"x", "it is not JSON"),
        (b"[" * 100_000, "it is not JSON"),
        (f"{SHORT}1e3}}".encode(), "numbers in a task are whole, and fractions are text such as 5161/2^13; got 1e3"),
        (f"{SHORT}200.0}}".encode(), "numbers in a task are whole"),
        (f"{SHORT}NaN}}".encode(), "numbers in a task are whole"),
        (f"{SHORT}-Infinity}}".encode(), "numbers in a task are whole"),
        (f"{SHORT}{'9' * 5000}}}".encode(), "it is not JSON"),
        (f'{SHORT}2, "users": 200}}'.encode(), "a name is there twice in one object"),
        (b" " * (64 * 2**20 + 1), "longer than 67,108,864 bytes"),
    ],
    ids=lambda part: part[:20] if isinstance(part, str) else "",
)
def test_files_that_are_not_json_are_refused(content, reason):
    with pytest.raises(TaskError, match=reason.replace("^", r"\^")):
        task_of(content)


@pytest.mark.parametrize("name", ["none.json", ".", "a\0b"])
def test_files_that_cannot_be_read(tmp_path, name):
    with pytest.raises(TaskError, match="cannot be read"):
        read_task(tmp_path / name)


def test_an_error_names_the_file(tmp_path):
    (tmp_path / "t.json").write_text("{}")
    with pytest.raises(TaskError, match=r"t\.json is no task that can be used: the field `\w+` of a task is missing"):
        read_task(tmp_path / "t.json")


SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(
    ["1/2^3", "1e-6", "0.5", "hist", "sparse", "range", "2027-01-01T00:00:00Z", "http://h", "ab" * 32, 2**40, 2**63, -1]
)  # fmt: skip
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@pytest.mark.slow
@given(st.sampled_from(list(places_in(PLAIN))), JSON)
@settings(max_examples=150)
def test_arbitrary_values_are_refused_with_a_message_or_used(path, value):
    with suppress(TaskError):
        task = task_of(as_bytes(changed(path, value)))
        assert task.protocol.users == task.users
        assert task.longest_report <= LONGEST_REPORT


@pytest.mark.slow
@given(st.binary(max_size=40) | JSON.map(as_bytes))
def test_other_files_are_refused_with_a_message(content):
    with pytest.raises(TaskError):
        task_of(content)


def test_files_with_a_changed_byte_are_refused_or_another_task():
    rng = random.Random(7)
    for _ in range(200):
        at, new = rng.randrange(len(TASK.canonical)), rng.randrange(256)
        content = bytearray(TASK.canonical)
        if content[at] == new:
            continue
        content[at] = new
        with suppress(TaskError):
            assert task_of(bytes(content)).id != TASK.id


def test_a_task_that_is_made_in_a_program_is_checked_as_one_that_is_read():
    with pytest.raises(TaskError, match="users must be"):
        msgspec.structs.replace(TASK, users=1)


@pytest.mark.parametrize("shufflers", [1, 2, 3])
def test_lengths(shufflers):
    task = small_task(shufflers=shufflers).task
    assert task.symbol_bytes == 1
    assert [task.onion_length(at) for at in range(shufflers + 1)] == [1 + 48 * shufflers] + [
        1 + 48 * (shufflers + 1 - at) for at in range(1, shufflers + 1)
    ]
    assert task.longest_report == 48 + 24 + task.most_messages * (1 + 48 * shufflers)


@pytest.mark.parametrize(("answers", "width"), [(2**7 - 3, 1), (2**7 - 2, 2), (2**15 - 3, 2), (2**15 - 2, 3)])
def test_the_largest_message_decides_the_width(answers, width):
    """With 2^8 different messages, the padding message needs a second byte, so all messages have two."""
    plain = changed(("answers",), {"kind": "range", "start": 0, "stop": answers})
    task = task_of(as_bytes(plain))
    assert task.padded
    assert task.nothing == task.alphabet == 2 * (answers + 2) == task.symbols - 1
    assert task.symbol_bytes == width


@pytest.mark.parametrize(("answers", "width"), [(2**8 - 2, 1), (2**8 - 1, 2), (2**16 - 2, 2), (2**16 - 1, 3)])
def test_without_padding_messages_are_below_the_alphabet(answers, width):
    plain = json.loads(small_task(protocol="dummy-poisson").task.to_json())
    task = task_of(as_bytes(plain | {"answers": {"kind": "range", "start": 0, "stop": answers}}))
    assert not task.padded
    assert task.symbols == task.alphabet == answers + 2
    assert task.symbol_bytes == width


@pytest.mark.parametrize("weights", [[0, 2**40], [2**40 - 1, 1], [1, 0, 2**40 - 1]])
def test_dummies_must_come_one_at_a_time(weights):
    """Otherwise the numbers of messages would reveal more about the noise than the counts."""
    plain = json.loads(small_task(protocol="dummy-poisson").task.to_json())
    assert plain["protocol"]["parameters"]["dummies"]["size_weights"] == [2**40]
    plain["protocol"]["parameters"]["dummies"]["size_weights"] = weights
    with pytest.raises(TaskError, match="dummies must come one at a time"):
        task_of(as_bytes(plain))


def test_an_external_list_is_needed_only_to_count_answers():
    content = b"red\ngreen\nblue\n"
    answers = {
        "kind": "listed-at",
        "address": "https://h/list",
        "sha256": hashlib.sha256(content).hexdigest(),
        "size": 3,
    }
    task = task_of(as_bytes(changed(("answers",), answers)))
    assert isinstance(task.answers, AnswersElsewhere)
    assert task.protocol.bins == 5
    assert task.with_answers(content).bin_of("blue") == 2
    assert isinstance(task, Task)
