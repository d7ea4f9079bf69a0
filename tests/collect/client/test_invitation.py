"""Invitation links: they pin their task, and their token goes only to the shuffler that the task names."""

import re
import stat
from datetime import UTC, datetime, timedelta

import pytest
from typer.testing import CliRunner

from shuffledp.cli.app import app
from shuffledp.collect import Client
from shuffledp.collect.client.transport import Invitation, invitation_link
from shuffledp.collect.server.auth import hash_of, new_token
from shuffledp.errors import ParameterError, TaskError, UnreachableError
from tests.cli.commands import command
from tests.collect.client.conftest import task_at
from tests.collect.series import small_series
from tests.collect.tasks import small_task

TOKENS = small_task(admission="tokens").task
SERIES = small_series(admission="tokens").series


def test_links_of_tasks_and_series():
    token = new_token()
    link = invitation_link(TOKENS, token)
    assert link == f"{TOKENS.shufflers[0].address}/ask/{TOKENS.name}#token={token}"
    read = Invitation.read(f" {link}\n")
    assert (read.address, read.id, read.is_series) == (TOKENS.shufflers[0].address, TOKENS.name, False)
    assert read.admission == token
    assert token not in repr(read)
    read = Invitation.read(invitation_link(SERIES, token))
    assert (read.id, read.is_series, read.admission) == (SERIES.name, True, token)


@pytest.mark.parametrize("secret", ["a", "a+b/c==", "A.b_c~d-e"])
def test_secrets_of_all_signs(secret):
    link = invitation_link(small_task(admission="secret").task, secret)
    assert Invitation.read(link).admission == secret
    escaped = link.replace("+", "%2B").replace("=", "%3D").replace("token%3D", "token=")
    assert Invitation.read(escaped).admission == secret


PAGE = f"https://a/ask/{'a' * 64}"


@pytest.mark.parametrize(
    "link",
    [
        "", "sesame", PAGE, f"{PAGE}#", f"{PAGE}#token=", f"{PAGE}#token=%20", f"{PAGE}#token=-", f"{PAGE}b#token=b",
        f"{PAGE}?token=sesame", f"{PAGE}#token=sesame sesame", f"https://a/{'a' * 64}#token=sesame",
        f"ftp{PAGE[5:]}#token=sesame", f"https://me:sesame@{PAGE[8:]}#token=sesame", f"{PAGE[:-1]}A#token=b",
        f"{PAGE[:-1]}#token=b", None, 5,
    ],
)  # fmt: skip
def test_other_texts_are_refused_without_showing_them(link):
    with pytest.raises(ParameterError, match="invitation must") as caught:
        Invitation.read(link)
    assert "sesame" not in str(caught.value)


def test_a_task_for_anybody_has_no_invitations():
    with pytest.raises(ParameterError, match="for anybody"):
        invitation_link(small_task().task, "a")
    with pytest.raises(ParameterError, match="admission must be"):
        invitation_link(TOKENS, "-")


@pytest.fixture
def tokens(shuffler):
    """A task with tokens that the server shows."""
    task = task_at(shuffler.address, admission="tokens").task
    shuffler.files[f"/v1/tasks/{task.name}"] = task.canonical
    return task


def test_a_client_answers_with_a_link_alone(shuffler, tokens, tmp_path):
    link = invitation_link(tokens, "sesame-17")
    client = Client.from_invitation(link, journal=tmp_path)
    assert client.send("dark").state == "sent"
    assert shuffler.headers[-1]["authorization"] == "Bearer sesame-17"
    assert all("sesame" not in path for path in shuffler.paths)
    assert "authorization" not in shuffler.headers[0]  # of the request for the task


def test_a_client_answers_the_open_round_of_a_series(shuffler, tmp_path):
    opens = datetime.now(UTC).replace(microsecond=0) - timedelta(days=1)
    addresses = (shuffler.address, "http://127.0.0.1:9")
    series = small_series(addresses=addresses, opens=opens, admission="secret").series
    shuffler.files[f"/v1/series/{series.name}"] = series.canonical
    client = Client.from_invitation(invitation_link(series, "sesame"), journal=tmp_path)
    assert client.task.series.round == 1
    client.send("dark")
    assert shuffler.headers[-1]["authorization"] == "Bearer sesame"


def test_a_server_cannot_show_another_task(shuffler, tokens, tmp_path):
    other = task_at(shuffler.address, admission="tokens", users=201).task
    shuffler.files[f"/v1/tasks/{tokens.name}"] = other.canonical
    with pytest.raises(TaskError, match="do not answer"):
        Client.from_invitation(invitation_link(tokens, "sesame"), journal=tmp_path)
    shuffler.files[f"/v1/tasks/{other.name}"] = other.canonical
    with pytest.raises(TaskError, match="pinned"):
        Client.from_invitation(invitation_link(other, "sesame"), pin=tokens.name)
    with pytest.raises(UnreachableError, match=r"status 404: it does not have that file\. Check the link"):
        Client.from_invitation(invitation_link(task_at(shuffler.address, admission="tokens", users=202).task, "sesame"))
    assert shuffler.bodies == []


def test_the_token_goes_to_the_shuffler_of_the_task_and_nowhere_else(shuffler, tokens, tmp_path):
    """A link with another host fetches the task from there, and nothing more."""
    task = small_task(admission="tokens").task  # its shuffler is not this server
    shuffler.files[f"/v1/tasks/{task.name}"] = task.canonical
    link = invitation_link(task, "sesame").replace(task.shufflers[0].address, shuffler.address)
    with pytest.raises(UnreachableError):
        Client.from_invitation(link, journal=tmp_path, timeout=1).send("dark")
    assert shuffler.paths == [f"/v1/tasks/{task.name}"]
    assert all("sesame" not in str(headers) for headers in shuffler.headers)


@pytest.mark.parametrize("option", ["--invitation", "--admission"])
@pytest.mark.parametrize("scheme", ["http://", "HTTPS://", ""])
def test_a_link_in_place_of_its_file_is_not_shown(option, scheme):
    link = f"{scheme}host/ask/{'a' * 64}#token=sesame"
    crowd = ["crowd", "--task", "t.json", "--data", "d.csv", "--column", "c"]
    for words in [["send", "--none"], *([crowd] if option == "--admission" else [])]:
        result = command(*words, option, link)
        assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1)
        assert f"{option} must be a file with the " in result.stderr
        assert "host" not in result.stderr
        assert "sesame" not in result.stderr
    if option == "--invitation":
        assert "must be a file with the link, or - for standard input, got a link\n" in result.stderr


def test_an_empty_file_of_invitations(tmp_path):
    file = tmp_path / "links.txt"
    file.write_text("\n")
    file.chmod(0o600)
    result = command("send", "--invitation", file, "--none")
    assert result.returncode == 2
    assert result.stderr == f"shuffledp send: --invitation must be a file with one link, got {file}, which is empty\n"


def test_a_file_of_invitations_is_one_for_each_person(tmp_path):
    file = tmp_path / "links.txt"
    file.write_text("".join(f"{invitation_link(TOKENS, f'sesame-{each}')}\n" for each in range(3)))
    file.chmod(0o600)
    result = command("send", "--invitation", file, "--value", "dark")
    assert result.returncode == 2
    assert "--invitation must be a file with one link, got 3 lines in" in result.stderr
    assert "head -n 1 FILE" in result.stderr
    assert "sesame" not in result.stderr


def sent(*arguments, stdin=None):
    return CliRunner().invoke(app, ["send", *map(str, arguments)], input=stdin, catch_exceptions=False)


def test_send_takes_a_link_from_a_file_or_standard_input(shuffler, tokens, tmp_path):
    file, task = tmp_path / "link.txt", tmp_path / "t.json"
    file.write_text(invitation_link(tokens, "sesame-1") + "\n")
    file.chmod(0o600)
    task.write_text(tokens.to_json())
    assert sent("--invitation", file, "--none", "--journal", tmp_path / "1").exit_code == 0
    link = invitation_link(tokens, "sesame-2")
    assert sent("--invitation", "-", "--none", "--journal", tmp_path / "2", stdin=link).exit_code == 0
    known = sent("--invitation", file, "--none", "--journal", tmp_path / "3", "--task", task, "--pin", tokens.name)
    assert known.exit_code == 0
    shown = [headers.get("authorization") for headers in shuffler.headers]
    assert shown == [None, "Bearer sesame-1", None, "Bearer sesame-2", "Bearer sesame-1"]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ([], "give a task with --task, or a link with --invitation"),
        (["--invitation", "LINK", "--admission", "LINK"], "either --admission or --invitation"),
        (["--invitation", "OPEN"], "chmod 600"),
        (["--invitation", "-"], "invitation must be a link"),
        (["--invitation", "LINK", "--pin", "a" * 64], "--pin must be the id in the invitation"),
        (["--invitation", "LINK", "--task", "OTHER"], "must be the pinned"),
    ],
)
def test_send_refuses_before_anything_is_sent(shuffler, tokens, tmp_path, more, says):
    files = {name: tmp_path / name for name in ("LINK", "OPEN", "OTHER")}
    for name in ("LINK", "OPEN"):
        files[name].write_text(invitation_link(tokens, "sesame"))
        files[name].chmod(0o600 if name == "LINK" else 0o644)
    files["OTHER"].write_text(TOKENS.to_json())
    result = sent("--none", *(files.get(each, each) for each in more), stdin="nothing\n")
    assert result.exit_code in (2, 3)
    assert says in " ".join(result.stderr.split())
    assert "sesame" not in result.stderr + result.stdout
    assert shuffler.bodies == []


def test_one_standard_input_is_not_read_twice(tokens):
    result = sent("--invitation", "-", "--value", "-", stdin=invitation_link(tokens, "a"))
    assert (result.exit_code, "cannot both read" in result.stderr) == (2, True)


def test_keys_tokens_writes_a_link_for_each_token(tmp_path):
    (tmp_path / "t.json").write_text(TOKENS.to_json())
    made = command("keys", "tokens", "--number", "5", "--out", "t", "--hashes", "h", "--links", "l", "--task", "t.json",
                   cwd=tmp_path)  # fmt: skip
    assert (made.returncode, made.stderr) == (0, "wrote t\nwrote l\nwrote h\n")
    tokens, links = ((tmp_path / name).read_text().splitlines() for name in "tl")
    assert [Invitation.read(link).admission for link in links] == tokens
    assert {Invitation.read(link).id for link in links} == {TOKENS.name}
    assert (tmp_path / "h").read_text().splitlines() == sorted(hash_of(token).hex() for token in tokens)
    assert stat.S_IMODE((tmp_path / "l").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--links", "l"], "--links and --task must be given together"),
        (["--task", "t.json"], "--links and --task must be given together"),
        (["--links", "l", "--task", "anybody.json"], "task must have the admission tokens, got anybody"),
        (["--links", "l", "--task", "none.json"], "cannot be read"),
        (["--links", "here", "--task", "t.json"], "a secret is never overwritten"),
        (["--links", "t", "--task", "t.json"], "t is given twice as an output"),
        (["--links", "none/l", "--task", "t.json"], "none"),
    ],
)
def test_links_that_are_not_made_leave_nothing_behind(tmp_path, arguments, says):
    (tmp_path / "t.json").write_text(TOKENS.to_json())
    (tmp_path / "anybody.json").write_text(small_task().task.to_json())
    (tmp_path / "here").touch()
    made = command("keys", "tokens", "--number", "5", "--out", "t", "--hashes", "h", *arguments, cwd=tmp_path)
    assert made.returncode in (2, 3)
    assert says in made.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["anybody.json", "here", "t.json"]


def test_keys_link_writes_no_link_for_a_task_with_tokens(tmp_path):
    (tmp_path / "t.json").write_text(TOKENS.to_json())
    command("keys", "token", "--out", "secret", cwd=tmp_path)
    made = command("keys", "link", "--task", "t.json", "--admission", "secret", "--out", "link", cwd=tmp_path)
    assert made.returncode == 2
    assert "task must have the admission secret, got tokens: `shuffledp keys tokens --links`" in made.stderr
    assert not (tmp_path / "link").exists()


def test_keys_link_of_a_shared_secret(tmp_path):
    task = small_task(admission="secret").task
    (tmp_path / "t.json").write_text(task.to_json())
    command("keys", "token", "--out", "secret", cwd=tmp_path)
    made = command("keys", "link", "--task", "t.json", "--admission", "secret", "--out", "link", cwd=tmp_path)
    assert (made.returncode, made.stdout, made.stderr) == (0, "", "wrote link\n")
    link = (tmp_path / "link").read_text()
    assert Invitation.read(link).admission == (tmp_path / "secret").read_text().strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:9/ask/[0-9a-f]{64}#token=\S{43}\n", link)
    assert stat.S_IMODE((tmp_path / "link").stat().st_mode) == 0o600
