"""Folders of `shuffledp deploy init`: complete, private, and enough to start a collection that releases a result."""

import json
import re
import secrets
import time
import tomllib
from itertools import pairwise
from pathlib import Path

import httpx
import pytest
from msgspec.structs import replace

from shuffledp.collect.client.making import new_report
from shuffledp.collect.client.transport import invitation_link
from shuffledp.collect.crypto.keys import read_key, read_word
from shuffledp.collect.deployment.parties import Party, read_party
from shuffledp.collect.server.auth import hash_of
from shuffledp.collect.task import read_task
from shuffledp.release.release import Release
from tests.cli.commands import command
from tests.collect.chaos import free_port, wait_until
from tests.collect.deploying import PARTIES, TASK, config, create_task, everything, init, separate
from tests.collect.servers import Server

__all__ = ["everything"]  # a fixture


def server(folder, party, port):
    kind = "analyzer" if party == "analyzer" else "shuffler"
    return Server(party, [kind, "--config", config(folder, party)], port=port, folder=folder)


@pytest.mark.xdist_group("postgres")
@pytest.mark.slow
def test_a_release_from_the_folders_of_one_command(tmp_path, postgres_url):
    """Two shufflers, one with PostgreSQL, and an analyzer run from their configuration files, until a release."""
    ports = [free_port() for _ in PARTIES]
    addresses = [f"http://127.0.0.1:{port}" for port in ports]
    folder = tmp_path / "collection"
    given = ["--address", addresses[0], "--address", addresses[1], "--analyzer-address", addresses[2]]
    init(folder, "--shufflers", 2, *given, "--store", "sqlite", *TASK, "--admission", "tokens")
    first = config(folder, "shuffler-1")
    first.write_text(re.sub(r"^store = .*$", f"store = {json.dumps(postgres_url)}", first.read_text(), flags=re.M))
    task = read_task(folder / "public" / "first.task.json")
    tokens = (folder / "invitations" / "tokens.txt").read_text().split()
    assert len(tokens) == 25
    assert not (folder / "invitations" / "links.txt").exists()  # there is no survey page
    servers = [server(folder, party, port).start() for party, port in zip(PARTIES, ports, strict=True)]
    try:
        for each in servers:
            each.wait_until_ready()
        for party, address in zip(PARTIES, addresses, strict=True):
            assert command("health", address).stdout == "ok\n"
            listed = command("task", "list", "--server", address, "--token", folder / party / "operator.token")
            assert listed.returncode == 0
            assert task.name[:16] in listed.stdout
        with httpx.Client(trust_env=False) as client:
            reports = f"{addresses[0]}/v1/tasks/{task.name}/reports"
            refused = client.post(reports, content=new_report(task, "tea"))
            assert refused.status_code == 403
            for at, token in enumerate(tokens[:20]):
                report = new_report(task, "tea" if at % 2 else "coffee")
                taken = client.post(reports, content=report, headers={"authorization": f"Bearer {token}"})
                assert taken.status_code == 201
            latest = f"{addresses[2]}/v1/tasks/{task.name}/releases/latest"
            wait_until(lambda: client.get(latest).is_success, what="a release")
            release = client.get(latest).json()
        assert Release.from_json(json.dumps(release)).estimate.people == 20
    finally:
        for each in servers:
            each.stop()


def secret_values(folder):
    """The secrets in the files that only their owner may read, by file."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix != ".ledger" and path.stat().st_mode & 0o077 == 0:
            values = [read_key(path).private_bytes.hex()] if path.suffix == ".key" else path.read_text().split()
            found[path.relative_to(folder)] = [value.rpartition(":")[2] for value in values]
    return found


def test_no_folder_has_a_secret_of_another_party(everything):
    """The shared secret of admission is known to the first shuffler and to the one who invites people, as it must."""
    found = secret_values(everything)
    assert len(found) == 3 + 3 + 2 + 2 * 2 + 3  # keys, operators, tokens, databases with pgpass, admission with a link
    allowed = {"admission.secret": {"shuffler-1", "invitations"}}
    files = [path for path in everything.rglob("*") if path.is_file()]
    contents = {path.relative_to(everything): path.read_bytes() for path in files}
    for path, values in found.items():
        owners = allowed.get(path.name, {path.parts[0]})
        for value in values:
            assert len(value) >= 43
            holders = {other for other, content in contents.items() if value.encode() in content}
            assert {other.parts[0] for other in holders} <= owners
            assert all((everything / other).stat().st_mode & 0o077 == 0 for other in holders)


def test_batches_are_given_to_the_next_party_only(everything):
    """A shuffler accepts the token of the server after it, and no other."""
    for party, following in pairwise(PARTIES):
        token = read_word(everything / following / "server" / "previous.token")
        assert tomllib.loads(config(everything, party).read_text())["next"] == hash_of(token).hex()


def test_each_token_is_for_the_party_before(everything):
    """Whatever a task names that an operator adds later."""
    for before, party in pairwise(PARTIES):
        address = json.loads((everything / "public" / f"{before}.party.json").read_text())["address"]
        assert tomllib.loads(config(everything, party).read_text())["upstream"] == address
    assert "upstream" not in tomllib.loads(config(everything, PARTIES[0]).read_text())


def test_links_lead_to_the_survey_page_with_the_token_in_the_fragment(everything, tmp_path):
    task = read_task(everything / "public" / "first.task.json")
    secret = read_word(everything / "invitations" / "admission.secret")
    assert read_word(everything / "invitations" / "links.txt") == invitation_link(task, secret)
    init(tmp_path / "collection", *TASK, "--admission", "tokens", "--tokens", 30, "--page", "--asker", "A university")
    links = (tmp_path / "collection" / "invitations" / "links.txt").read_text().split()
    tokens = (tmp_path / "collection" / "invitations" / "tokens.txt").read_text().split()
    task = read_task(tmp_path / "collection" / "public" / "first.task.json")
    assert links == [invitation_link(task, token) for token in tokens]
    assert len(links) == 30
    assert task.asker == "A university"


def test_all_secrets_differ(everything):
    values = [value for path, each in secret_values(everything).items() for value in each if path.name != "pgpass"]
    assert len(values) - len(set(values)) == 1  # the secret of admission, which two have


def test_only_the_owner_may_open_the_folders(everything):
    assert {path.stat().st_mode & 0o077 for path in [everything, *everything.rglob("*")] if path.is_dir()} == {0}


def test_the_hand_over_names_every_secret_and_shows_none(everything):
    text = (everything / "HAND-OVER.md").read_text()
    for path, values in secret_values(everything).items():
        named = {str(path), f"{path.parent}/", f"{path.parts[0]}/"}
        assert any(f"`{name}`" in text for name in named), path
        assert not any(value in text for value in values)
    assert "holds all keys" in text
    assert read_task(everything / "public" / "first.task.json").name in text


@pytest.mark.slow
def test_three_organisations_create_their_own_folders(tmp_path):
    folders = separate(tmp_path)
    for party, folder in folders.items():
        assert {path.name for path in folder.iterdir()} == {party, "public", "HAND-OVER.md"}
    task = create_task(folders["analyzer"], tmp_path / "asked.task.json")
    for folder in folders.values():
        (folder / "public" / task.name).write_bytes(task.read_bytes())
        joined = command("deploy", "join", folder, "--json")
        assert joined.returncode == 0, joined.stderr
    for party, folder in folders.items():
        assert (folder / party / "server" / "tasks" / task.name).read_text() == task.read_text()
    token = json.loads((folders["analyzer"] / "public" / "analyzer.party.json").read_text())["token_sha256"]
    assert f'next = "{token}"' in config(folders["shuffler-2"], "shuffler-2").read_text()
    assert (folders["analyzer"] / "analyzer" / "state" / "budget.ledger").exists()
    again = json.loads(command("deploy", "join", folders["shuffler-1"], "--json").stdout)
    assert again["written"] == []
    for folder in folders.values():
        assert command("deploy", "join", folder).stderr == ""  # upstream is the address in public
    held = [path for folder in folders.values() for path in folder.rglob("first.key")]
    assert len(held) == 3


@pytest.fixture
def first(tmp_path):
    """The folder of the first shuffler with all public values, and a task in it."""
    folder = separate(tmp_path)["shuffler-1"]
    create_task(folder, folder / "public" / "asked.task.json")
    return folder


def refused(folder, *more):
    """The one line of an error; nothing was written."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    result = command("deploy", "join", folder, *more)
    assert result.returncode in (2, 3)
    assert len(result.stderr.splitlines()) == 1
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    return result.stderr


def test_fingerprints_are_of_all_public_values(first):
    """Every organisation sees the same ones, and another for each value that was changed."""
    path = first / "public" / "shuffler-2.party.json"
    party = read_party(path)
    assert re.fullmatch(r"([0-9a-f]{4} ){7}[0-9a-f]{4}", party.fingerprint)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert read_party(path).fingerprint == party.fingerprint
    other = {"party": "analyzer", "shufflers": 3, "address": "https://evil.example", "key": "ab" * 31 + "00"}
    other["token_sha256"] = "cd" * 32
    assert set(other) == set(Party.__struct_fields__)
    changed = {replace(party, **{name: value}).fingerprint for name, value in other.items()}
    assert len(changed | {party.fingerprint}) == len(other) + 1
    assert command("deploy", "join", first, "--json").returncode == 0


def test_organisations_compare_the_same_fingerprints(tmp_path):
    folders = separate(tmp_path)
    shown = {party: (folder / "HAND-OVER.md").read_text() for party, folder in folders.items()}
    for folder in folders.values():
        joined = command("deploy", "join", folder)
        found = json.loads(command("deploy", "join", folder, "--json").stdout)["fingerprints"]
        assert list(found) == list(PARTIES)
        for party, fingerprint in found.items():
            assert f"Yours is `{fingerprint}`" in shown[party]
            assert re.search(f"^  {party} +{fingerprint}( |$)", joined.stdout, flags=re.M)
            assert (f"{fingerprint}  (your own)" in joined.stdout) == (folder == folders[party])


def rewritten(path, **fields):
    content = json.loads(path.read_text())
    content.update(fields)
    path.write_text(json.dumps({key: value for key, value in content.items() if value is not None}))


@pytest.mark.slow
def test_a_task_with_another_key_is_refused(first):
    """Someone replaced the key of the second shuffler in the task, or in its public file."""
    own = json.loads((first / "public" / "shuffler-1.party.json").read_text())["key"]
    (first / "public" / "asked.task.json").unlink()
    other = json.loads((first / "public" / "shuffler-2.party.json").read_text())["key"]
    strange = secrets.token_bytes(31).hex() + "00"
    create_task(first, first / "public" / "asked.task.json", **{other: strange})
    assert "must have the key of shuffler-2" in refused(first)
    assert own not in refused(first)


@pytest.mark.parametrize(
    ("party", "fields", "message"),
    [
        ("shuffler-1", {"key": "ab" * 31 + "00"}, "must have the key of shuffler-1"),
        (
            "shuffler-1",
            {"address": "https://evil.example"},
            "must have the address of shuffler-1, https://shuffler-1.e",
        ),
        ("shuffler-2", {"shufflers": 3}, "must agree on the number of shufflers"),
        ("shuffler-2", {"address": "https://analyzer.example.org"}, "each party must have its own address"),
        ("shuffler-2", {"address": "no address"}, "shuffler-2.party.json has no public values"),
        ("shuffler-2", {"address": "https://b.example.org/$(touch${IFS}x)"}, "the path in the address of shuffler-2"),
        ("shuffler-2", {"address": "https://[::1];touch${IFS}x"}, "the address of shuffler-2 must be"),
        ("shuffler-2", {"token_sha256": "ab"}, "shuffler-2.party.json has no public values"),
        ("shuffler-2", {"token_sha256": None}, "token_sha256 must be given"),
        ("shuffler-2", {"party": "shuffler-9"}, "party must be one of"),
        ("shuffler-2", {"party": "analyzer"}, "one file for each party"),
        ("shuffler-2", {"kind": "something else"}, "has no public values"),
        ("shuffler-2", {"more": 1}, "unknown field `more`"),
    ],
)
def test_wrong_public_values_are_refused(first, party, fields, message):
    rewritten(first / "public" / f"{party}.party.json", **fields)
    assert message in refused(first)


def test_the_own_public_values_must_arrive_unchanged(tmp_path):
    """Someone replaced the token of a later party on the way back to it, and its address in the task."""
    folder = separate(tmp_path)["shuffler-2"]
    rewritten(folder / "public" / "shuffler-2.party.json", token_sha256="cd" * 32)
    assert "must have the token_sha256 of shuffler-2" in refused(folder)
    assert "cd" * 32 in refused(folder)
    (folder / "shuffler-2" / "party.json").unlink()
    assert "shuffler-2/party.json cannot be read" in refused(folder)


def test_two_parties_with_the_same_token_are_refused(first):
    """Their owner would get the batches of both servers before them."""
    other = json.loads((first / "public" / "analyzer.party.json").read_text())["token_sha256"]
    rewritten(first / "public" / "shuffler-2.party.json", token_sha256=other)
    assert "each party must have its own token_sha256" in refused(first)


@pytest.mark.slow
def test_the_own_private_key_must_be_there(first, tmp_path):
    (first / "shuffler-1" / "server" / "keys" / "first.key").unlink()
    assert command("keys", "new", "--out", first / "shuffler-1" / "server" / "keys" / "other.key").returncode == 0
    assert "must have the public key of shuffler-1, got one whose private key is not in" in refused(first)


def test_a_missing_public_file_is_named(first):
    (first / "public" / "analyzer.party.json").unlink()
    assert "got none of analyzer" in refused(first)


def test_a_folder_without_a_party_is_refused(first, tmp_path):
    (tmp_path / "empty" / "public").mkdir(parents=True)
    assert "got none" in refused(tmp_path / "empty")
    for path in (first / "public").glob("*.party.json"):
        (tmp_path / "empty" / "public" / path.name).write_bytes(path.read_bytes())
    assert "folder must hold the folder of a party" in refused(tmp_path / "empty")


def test_what_an_operator_wrote_is_kept(first):
    path = config(first, "shuffler-1")
    path.write_text(path.read_text() + "workers = 4\n")
    assert command("deploy", "join", first).returncode == 0
    assert "workers = 4\n" in path.read_text()
    path.write_text(re.sub(r'next = ".*"', f'next = "{"ab" * 32}"', path.read_text()))
    assert "next must have" in refused(first)


def test_the_address_at_which_an_operator_reaches_the_party_before_is_kept(tmp_path):
    """It may be one of an internal network."""
    folder = separate(tmp_path)["analyzer"]
    path = config(folder, "analyzer")
    path.write_text(path.read_text() + 'upstream = "http://inside:8000"\n')
    create_task(folder, folder / "public" / "asked.task.json")
    joined = command("deploy", "join", folder)
    assert joined.returncode == 0
    kept = "analyzer: its configuration keeps upstream http://inside:8000, not the address in public"
    assert joined.stderr.splitlines().count(kept) == 1
    assert tomllib.loads(path.read_text())["upstream"] == "http://inside:8000"


@pytest.mark.slow
@pytest.mark.parametrize("admission", ["tokens", "secret"])
def test_admission_of_a_task_is_given_to_the_first_shuffler(tmp_path, admission):
    folders = separate(tmp_path)
    own = folders["shuffler-1"]
    create_task(own, own / "public" / "asked.task.json", **{"tea,coffee": "tea,coffee"})
    task = json.loads((own / "public" / "asked.task.json").read_text())
    (own / "public" / "asked.task.json").write_text(json.dumps({**task, "admission": admission}))
    what = {"tokens": "hashes", "secret": "secret"}[admission]
    message = refused(own)
    assert f"--admission-{what} must be given for shuffler-1" in message
    assert ("create them with `shuffledp keys tokens`" in message) == (admission == "tokens")
    file = tmp_path / "given"
    file.write_text("ab" * 32 + "\n")
    file.chmod(0o600)
    assert command("deploy", "join", own, f"--admission-{what}", file).returncode == 0
    assert f'admission-{what} = "admission.{what}"' in config(own, "shuffler-1").read_text()
    copied = own / "shuffler-1" / "server" / f"admission.{what}"
    assert copied.read_text() == "ab" * 32 + "\n"
    assert (copied.stat().st_mode & 0o077 == 0) == (admission == "secret")
    assert "cannot be read" in refused(own, f"--admission-{what}", tmp_path / "missing")
    file.write_text("")
    assert "admission" in refused(own, f"--admission-{what}", file) or admission == "secret"
    file.write_text("no hash\n")
    expected = {"tokens": "each line of", "secret": "exists with other content"}
    assert expected[admission] in refused(own, f"--admission-{what}", file)


def test_the_ledger_has_the_limit_that_is_given(tmp_path):
    folder = tmp_path / "own"
    given = ["--only", "analyzer", "--address", "https://c.example.org", "--limit", "3,1e-5"]
    init(folder, *given, "--population", "readers")
    shown = json.loads(command("ledger", folder / "analyzer" / "state" / "budget.ledger", "--json").stdout)
    assert shown["population"] == "readers"
    assert (shown["limit"]["epsilon"], shown["limit"]["delta"]) == (3, 1e-5)


def test_the_ledger_of_the_current_folder_names_it(tmp_path, monkeypatch):
    init(tmp_path / "ours")
    monkeypatch.chdir(tmp_path / "ours")
    create_task(Path(), Path("public") / "first.task.json")
    assert command("deploy", "join", ".").returncode == 0
    shown = json.loads(command("ledger", "analyzer/state/budget.ledger", "--json").stdout)
    assert shown["population"] == "people asked by ours"


def test_an_option_without_effect_is_refused(first, everything, tmp_path):
    """Also if its file does not exist."""
    second = tmp_path / "of-shuffler-2"
    assert refused(first, "--limit", "3,1e-5").endswith(f"limit must be left out: the analyzer is not in {first}\n")
    assert refused(everything, "--limit", "3,1e-5").endswith("budget.ledger exists, and its limit is final\n")
    for folder, why in (
        (first, f"the analyzer is not in {first}"),
        (everything, "budget.ledger exists, and its populat"),
    ):
        assert "population must be left out: " in refused(folder, "--population", "others")
        assert why in refused(folder, "--population", "others")
    (tmp_path / "more").mkdir()
    third = separate(tmp_path / "more")["analyzer"]
    assert "population must be left out: there is no task yet" in refused(third, "--population", "others")
    for option, what in (("hashes", "one-time tokens"), ("secret", "a secret")):
        given = (f"--admission-{option}", tmp_path / "missing")
        name = f"admission_{option} must be left out"
        assert f"{name}: no task in {first / 'public'} requires {what}" in refused(first, *given)
        assert f"{name}: shuffler-1 is not in {second}" in refused(second, *given)
    assert "requires one-time tokens" in refused(everything, "--admission-hashes", tmp_path / "missing")


def test_a_repeated_start_needs_no_new_files(tmp_path):
    """`deploy init` leaves the time of the task to the moment of the call, so that it is open at once."""
    init(tmp_path / "collection", *TASK)
    task = read_task(tmp_path / "collection" / "public" / "first.task.json")
    assert task.opens.timestamp() <= time.time() < task.closes.timestamp()
