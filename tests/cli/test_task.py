"""`shuffledp task`: new, show and check."""

import hashlib
import json
from datetime import UTC, datetime, timedelta

import pytest

from shuffledp.cli.options import moment_of, seconds_of
from shuffledp.collect.crypto.keys import KeyPair, write_key
from shuffledp.collect.task import AnswerList, AnswerRange, AnswersElsewhere, read_task
from shuffledp.collect.task.report import Cost
from shuffledp.errors import ParameterError
from shuffledp.explain.task import details
from tests.cli.commands import GUARANTEE, command
from tests.collect.tasks import small_task

KEYS = [KeyPair.generate() for _ in range(3)]
SERVERS = ["--shuffler", f"http://127.0.0.1:1={KEYS[0].public}", "--analyzer", f"http://127.0.0.1:3={KEYS[2].public}"]
PEOPLE = ["--users", "300", *GUARANTEE]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "themes.txt").write_text("dark\nlight\nsystem\n")
    return tmp_path


def new(folder, *arguments, servers=SERVERS, answers=("--domain", "themes.txt")):
    asked = ["--question", "Which theme?", *PEOPLE, *servers, *answers, "--out", "t.json"]
    return command("task", "new", *asked, *arguments, cwd=folder)


def test_a_task_is_created_shown_and_checked(folder):
    made = new(folder, "--protocol", "sparse", "--admission", "tokens", "--honest-users", "250")
    assert made.returncode == 0, made.stderr
    wrote, note = made.stderr.splitlines()
    assert wrote == "wrote t.json"
    assert note == "note: use the keys for this task only, and destroy them when it is over"
    task = read_task(folder / "t.json")
    assert (task.question, task.users, task.honest_users, task.admission) == ("Which theme?", 300, 250, "tokens")
    assert task.answers.values == ["dark", "light", "system"]
    assert task.shufflers[0].key == KEYS[0].public
    assert task.closes - task.opens == timedelta(days=30)
    shown = command("task", "show", "t.json", cwd=folder)
    assert (shown.returncode, shown.stdout) == (0, made.stdout)
    explained = command("task", "show", "t.json", "--explain", cwd=folder).stdout
    checked = command("task", "check", "t.json", "--pin", task.name, "--at-most", "1,1e-6", cwd=folder)
    assert checked.returncode == 0
    assert checked.stdout.startswith(
        "Kept: at epsilon 1, delta is at most 1e-6 (an upper bound); the task claims 1e-6."
    )
    assert task.name in checked.stdout
    for words in (
        f"{task.most_messages} messages and {task.longest_report:,} bytes for every answer; about",
        "the number of messages (the same for everyone)",
    ):
        assert words in explained


def test_the_explanation_of_a_task(folder):
    two = ["--shuffler", f"http://127.0.0.1:1={KEYS[0].public}", "--shuffler", f"https://two.example={KEYS[1].public}",
           "--analyzer", f"http://127.0.0.1:3={KEYS[2].public}"]  # fmt: skip
    message = new(folder, "--honest-users", "250", "--explain", servers=two).stdout
    for words in (
        "Which theme?",
        "The number of people per answer: dark, light, system. Other answers are counted together as (other), and no "
        "answer as (none).",
        "batches of exactly 300 people",
        "strong protection. Your answer makes any published result up to 2.72 times more likely",
        "Kept: at epsilon 1, delta is at most",
        "unless all 3 servers (http://127.0.0.1:1, https://two.example, http://127.0.0.1:3) cheat together",
        "the server of a survey page changes that page",
        "follow the protocol: at least 250 of 300.",
        "a shuffler throws away everyone else's messages",
        "Anyone can send a report",
        "inside one more layer for each shuffler",
        "in steps of 1 hour",
        "messages on average, at most",
        "the number of messages (random, with the same distribution for every answer)",
        "(open now)",
    ):
        assert words in message
    for ours in ("bins", "phantom", "lone", "noise law"):
        assert ours not in message


@pytest.mark.parametrize(
    ("admission", "words"), [("secret", "know the secret of the task"), ("tokens", "a one-time token")]
)
def test_the_admission_is_explained(folder, admission, words):
    assert words in new(folder, "--admission", admission, "--explain").stdout


WHO = [
    "--asker",
    "Example University",
    "--purpose",
    "For a theme.",
    "--contact",
    "a@b.example",
    "--language",
    "de",
]


def test_who_asks(folder):
    made = new(folder, *WHO)
    assert made.returncode == 0, made.stderr
    task = read_task(folder / "t.json")
    assert (task.version, task.asker, task.purpose) == (2, "Example University", "For a theme.")
    assert (task.contact, task.language) == ("a@b.example", "de")
    for line in ("Asked by", "Example University", "Purpose", "Contact", "a@b.example"):
        assert line in made.stdout
    explained = command("task", "show", "t.json", "--explain", cwd=folder).stdout
    assert "nothing in it proves this" in " ".join(explained.split())
    assert json.loads(command("task", "show", "t.json", "--json", cwd=folder).stdout)["contact"] == "a@b.example"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (["--asker", ""], "asker must have 1 to 200 characters, got 0"),
        (["--purpose", "a\nb"], "purpose must be one line of printable characters"),
        (["--contact", "me"], "contact must be a mail address or an address with https://, got 'me'"),
        (["--language", "german"], "language must be a tag such as de, pt-BR or zh-Hant (BCP 47), got 'german'"),
    ],
)
def test_wrong_fields_about_who_asks(folder, wrong, says):
    made = new(folder, *wrong)
    assert made.returncode == 2
    assert says in " ".join(made.stderr.split())
    assert not (folder / "t.json").exists()


def test_a_task_in_json(folder):
    made = json.loads(new(folder, "--json").stdout)
    task = read_task(folder / "t.json")
    assert made["task"] == task.name
    assert made["guarantee"]["kept"] is True
    assert made["guarantee"]["reached_delta"] == task.check().reached
    assert made["cost"]["most_bytes"] == task.longest_report
    assert made["cost"]["messages"] == task.protocol.messages_per_user.expected
    checked = json.loads(command("task", "check", "t.json", "--json", cwd=folder).stdout)
    assert checked["guarantee"] == made["guarantee"]


@pytest.mark.slow
def test_an_inaccurate_task_has_a_warning(folder):
    asked = ["--users", "20", "--epsilon", "1", "--delta", "0.5", "--protocol", "sparse"]
    made = new(folder, *asked)
    assert "Warning: delta=0.5 is larger than 1 / people" in made.stdout
    assert "Warning" in command("task", "show", "t.json", cwd=folder).stdout
    message, *_ = json.loads(command("task", "show", "t.json", "--json", cwd=folder).stdout)["warnings"]
    assert message.startswith("delta=0.5 is larger than 1 / people")
    few = json.loads(new(folder, "--force", "--json", "--users", "50", "--protocol", "sparse").stdout)["warnings"]
    assert few[0].endswith("of 50 people says little: use more people")
    (usual,) = json.loads(new(folder, "--force", "--json").stdout)["warnings"]
    assert usual.startswith("all servers of this task are on one host, 127.0.0.1")


@pytest.mark.parametrize(
    ("milliseconds", "message"), [(0.4, "1 millisecond"), (1.3, "1 millisecond"), (2.0, "2 milliseconds")]
)
def test_what_a_report_costs(milliseconds, message):
    cost = Cost(messages=1.1, most_messages=8, bytes=134.09, most_bytes=464, milliseconds=milliseconds)
    words = details(small_task().task, cost=cost)["Cost of a report"]
    assert f"about 134 bytes on average, at most 464; about {message} on this machine" in words


@pytest.mark.slow
def test_numbers_from_one_to_the_other_both_included(folder):
    assert "whole numbers from 1 to 5" in new(folder, answers=("--range", "1:5")).stdout
    assert read_task(folder / "t.json").answers == AnswerRange(1, 6)


def test_a_short_list_needs_no_file(folder):
    made = new(folder, answers=("--domain", "tea,coffee"))
    assert made.returncode == 0, made.stderr
    assert read_task(folder / "t.json").answers == AnswerList(["tea", "coffee"])


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        (("--domain", "tea,tea"), "--domain must have each label once, got tea twice"),
        (("--domain", "tea,,coffee"), "--domain must have labels between its commas"),
        (("--domain", "tea,coffee", "--domain-at", "https://a.example/list"), "--domain must be the file"),
    ],
)
def test_wrong_lists_are_refused(folder, answers, reason):
    refused = new(folder, answers=answers)
    assert refused.returncode == 2
    assert reason in refused.stderr
    assert not (folder / "t.json").exists()


def test_a_list_that_is_kept_elsewhere(folder):
    message = new(folder, "--domain-at", "https://lists.example/themes.txt").stdout
    content = (folder / "themes.txt").read_bytes()
    sha256 = hashlib.sha256(content).hexdigest()
    task = read_task(folder / "t.json")
    assert task.answers == AnswersElsewhere("https://lists.example/themes.txt", sha256, 3)
    assert task.with_answers(content).bin_of("light") == 1
    assert f"listed at https://lists.example/themes.txt (SHA-256 {sha256})" in message


def test_keys_are_given_by_their_files_too(folder):
    write_key(KEYS[0], folder / "private.key")
    (folder / "public.txt").write_text(KEYS[2].public.upper() + "\n")
    servers = ["--shuffler", "http://127.0.0.1:1=private.key", "--analyzer", "http://127.0.0.1:3=public.txt"]
    assert new(folder, servers=servers).returncode == 0
    task = read_task(folder / "t.json")
    assert (task.shufflers[0].key, task.analyzer.key) == (KEYS[0].public, KEYS[2].public)
    assert KEYS[0].private_bytes.hex() not in (folder / "t.json").read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (["--range", "1:5"], 2, "exactly one of --domain, --range, --edges, --free-text or"),
        (["--honest-users", "301"], 2, "honest_users=301 cannot exceed users=300"),
        (["--admission", "everybody"], 2, "admission must be one of anybody, secret, tokens; got 'everybody'"),
        (["--protocol", "blanket"], 2, "protocol must be one of hist,"),
        (["--opens", "soon"], 2, "opens must be a time such as"),
        (["--opens", "2027-01-01", "--closes", "2026-01-01"], 2,
         "a task must open before it closes, got opens=2027-01-01T00:00:00Z and closes=2026-01-01T00:00:00Z"),
        (["--closes", "2020-01-01"], 2, "a task must open before it closes"),
        (["--question", " "], 2, "the question must have 1 to 1,000 characters"),
        (["--time-precision", "1m"], 2, "time_precision must be a length of time such as 30d"),
        (["--domain-at", "nowhere"], 2, "the address of the list of answers must be such as https://host:port"),
        (["--shuffler", "http://127.0.0.1:1"], 2, "shuffler must be an address and a public key"),
        (["--shuffler", "http://me:secret@h"], 2, "=KEY, got http://...@h:"),
        (["--shuffler", "http://127.0.0.1:1=none.key"], 2, "a public key must be 64 hexadecimal digits or a"),
        (["--shuffler", f"http://127.0.0.1:9={KEYS[2].public}"], 2, "two servers of the task have the same key"),
        (["--shuffler", f"http://127.0.0.1:9={'0' * 64}"], 2, "the key of shuffler is no public key"),
        (["--shuffler", f"ftp://127.0.0.1={KEYS[1].public}"], 2, "the address of shuffler must be such as"),
        (["--epsilon", "0"], 2, "epsilon must be above 0"),
        (["--users", "5", "--protocol", "hist"], 2, "users=5 is too few"),
    ],
)  # fmt: skip
def test_wrong_options_are_errors_and_nothing_is_written(folder, arguments, code, reason):
    result = new(folder, *arguments)
    assert result.stderr.startswith("shuffledp task new: ")
    assert reason in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.returncode == code
    assert not (folder / "t.json").exists()


@pytest.mark.parametrize("text", ["5", "5:1", "a:b", "1:2:3", ":"])
def test_invalid_ranges(folder, text):
    result = new(folder, answers=("--range", text))
    assert result.returncode == 2
    assert "range must be two whole numbers such as 1:5" in result.stderr


@pytest.mark.slow
def test_a_task_is_not_overwritten_without_force(folder):
    new(folder)
    before = (folder / "t.json").read_bytes()
    again = new(folder)
    assert again.returncode == 2
    assert "t.json already exists" in again.stderr
    assert (folder / "t.json").read_bytes() == before
    assert new(folder, "--force", "--range", "1:5", answers=()).returncode == 0
    assert (folder / "t.json").read_bytes() != before


def changed(folder, **fields):
    plain = json.loads(small_task(protocol="hist").task.to_json())
    (folder / "changed.json").write_text(json.dumps({**plain, **fields}))
    return folder / "changed.json"


def test_exit_codes_of_a_check(folder):
    good, name = changed(folder), small_task(protocol="hist").task.name
    assert command("task", "check", good, "--pin", name.upper()).returncode == 0
    assert command("task", "check", good, "--at-most", "0.5,1e-6").returncode == 4
    pinned = command("task", "check", good, "--pin", "0" * 64)
    assert pinned.returncode == 3
    assert f"is not the pinned task: its id is {name}" in pinned.stderr
    assert command("task", "check", folder / "none.json").returncode == 3
    assert command("task", "check", changed(folder, users="many")).returncode == 3
    assert command("task", "check", good, "--at-most", "0.5").returncode == 2
    assert command("task", "check", changed(folder, most_messages=2)).returncode == 4
    assert command("task", "check", changed(folder, guarantee={"epsilon": "0.1", "delta": "1e-6"})).returncode == 4


@pytest.mark.parametrize(
    ("arguments", "reason", "code"),
    [
        (["--at-most", "0.5,1e-6"], "broken-promise", 4),
        (["--at-most", "0.5"], "wrong-parameter", 2),
        (["--pin", "0" * 64], "wrong-data", 3),
    ],
)
def test_a_failed_check_for_machines(folder, arguments, reason, code):
    result = command("task", "check", changed(folder), *arguments, "--json")
    message = json.loads(result.stdout)
    assert (message["kept"], message["reason"], result.returncode) == (False, reason, code)
    assert result.stderr == f"shuffledp task check: {message['detail']}\n"
    none = command("task", "check", folder / "none.json", "--json")
    assert json.loads(none.stdout)["reason"] == "wrong-task"
    assert json.loads(command("task", "check", changed(folder), "--json").stdout)["kept"] is True


def test_a_false_guarantee_is_reported(folder):
    path = changed(folder, guarantee={"epsilon": "0.1", "delta": "1e-6"})
    shown = command("task", "show", path)
    assert shown.returncode == 4
    assert "NOT KEPT: the task claims delta=1e-06 at epsilon=0.1, but its parameters give" in shown.stdout
    assert (shown.stdout + shown.stderr).count("the task claims delta") == 1
    answer = command("task", "show", path, "--json")
    assert answer.returncode == 4
    assert json.loads(answer.stdout)["guarantee"]["kept"] is False


NOW = datetime(2027, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("30d", NOW + timedelta(days=30)),
        ("45min", NOW + timedelta(minutes=45)),
        ("90s", NOW + timedelta(seconds=90)),
        ("2w", NOW + timedelta(weeks=2)),
        ("2027-02-01", datetime(2027, 2, 1, tzinfo=UTC)),
        ("2027-02-01T10:00", datetime(2027, 2, 1, 10, tzinfo=UTC)),
        ("2027-02-01T10:00:30Z", datetime(2027, 2, 1, 10, 0, 30, tzinfo=UTC)),
        ("2027-02-01T10:00+02:00", datetime(2027, 2, 1, 8, tzinfo=UTC)),
    ],
)
def test_times_are_parsed(text, moment):
    assert moment_of(text, name="--opens", after=NOW) == moment


@pytest.mark.parametrize(
    "text", ["", "d", "-1d", "0d", "1.5h", "1 day", "999999999d", "2027-13-01", "\N{ARABIC-INDIC DIGIT ONE}d"]
)
def test_invalid_times(text):
    with pytest.raises(ParameterError, match="--opens must be a time"):
        moment_of(text, name="--opens", after=NOW)
    if text != "999999999d":
        with pytest.raises(ParameterError, match="--for must be a length"):
            seconds_of(text, name="--for")
