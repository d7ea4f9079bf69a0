"""Settings of a shuffler: invalid options are refused with a reason."""

import json
import socket
from dataclasses import replace
from functools import partial

import httpx
import pytest

from shuffledp.collect.crypto.keys import KeyPair, write_key, write_secret
from shuffledp.collect.server.auth import Accepted, hash_of, new_token
from shuffledp.collect.server.run import Certificate, listening, serve
from shuffledp.collect.shuffler.app import app_from
from shuffledp.collect.shuffler.ingest import OneTimeTokens, OpenAdmission, SharedSecret
from shuffledp.collect.shuffler.settings import Settings, TaskOptions
from shuffledp.collect.store import Arrival, Outcome, open_report_store
from shuffledp.errors import BrokenPromiseError, DataError, ParameterError, TaskError
from tests.collect.in_process import served as running
from tests.collect.tasks import small_task

HASH = hash_of("next").hex()


class Folder:
    """A folder with the files of a shuffler, and the options that name them."""

    def __init__(self, path, **task):
        self.path = path
        self.kept = small_task(users=5, epsilon=8.0, delta=1e-2, **task)
        self.task = self.kept.task
        (path / "task.json").write_text(self.task.to_json())
        for at, key in enumerate(self.kept.keys):
            write_key(key, path / f"{at}.key")

    def options(self, position=0, **changes):
        """A function that reads the settings."""
        given = {
            "task": [self.path / "task.json"],
            "key": [self.path / f"{position}.key"],
            "store": str(self.path / "store.db"),
            "next": [HASH],
        }
        return partial(Settings.read, **(given | changes))

    def secret(self, name, text):
        return write_secret(self.path / name, text)


def served(options):
    """The only served task, after all checks."""
    settings = options()
    settings.check()
    (one,) = settings.served
    return one


def test_the_key_decides_which_shuffler_it_is(tmp_path):
    folder = Folder(tmp_path, shufflers=2)
    first, second = served(folder.options()), served(folder.options(1, token=folder.secret("token", new_token())))
    assert (first.position, first.upstream) == (0, None)
    assert second.position == 1
    assert second.upstream is not None


def test_the_key_of_a_task_is_found_among_several(tmp_path):
    folder = Folder(tmp_path)
    other = write_key(KeyPair.generate(), tmp_path / "other.key")
    assert served(folder.options(key=[other, tmp_path / "0.key"])).position == 0


def test_an_unrelated_key_is_refused(tmp_path):
    other = write_key(KeyPair.generate(), tmp_path / "other.key")
    with pytest.raises(ParameterError, match="no key belongs to a shuffler of the task"):
        Folder(tmp_path).options(key=[other])().check()


def test_the_key_of_the_analyzer_is_always_refused(tmp_path):
    folder = Folder(tmp_path)
    with pytest.raises(ParameterError, match="got the key of the analyzer"):
        folder.options(1)().check()
    with pytest.raises(ParameterError, match="got the key of the analyzer"):
        folder.options(key=[tmp_path / "0.key", tmp_path / "1.key"])().check()


def test_the_keys_of_two_shufflers_of_one_task_are_refused(tmp_path):
    folder = Folder(tmp_path, shufflers=2)
    with pytest.raises(ParameterError, match="two shufflers"):
        folder.options(key=[tmp_path / "0.key", tmp_path / "1.key"])().check()


def test_a_key_that_others_may_read_is_refused(tmp_path):
    folder = Folder(tmp_path)
    (tmp_path / "0.key").chmod(0o644)
    with pytest.raises(DataError, match="chmod 600"):
        folder.options()().check()


def test_missing_and_invalid_files_are_named(tmp_path):
    folder = Folder(tmp_path)
    with pytest.raises(TaskError, match=r"missing\.json"):
        folder.options(task=[tmp_path / "missing.json"])().check()
    with pytest.raises(DataError, match=r"missing\.key"):
        folder.options(key=[tmp_path / "missing.key"])().check()
    with pytest.raises(DataError, match="no private key"):
        folder.options(key=[folder.secret("something", "else")])().check()
    with pytest.raises(TaskError, match="no task that can be used"):
        folder.options(task=[tmp_path / "0.key"])().check()


def test_the_same_task_twice_is_refused(tmp_path):
    folder = Folder(tmp_path)
    with pytest.raises(ParameterError, match="same task twice"):
        folder.options(task=[tmp_path / "task.json"] * 2)().check()


def test_a_task_with_a_false_claim_is_not_served(tmp_path):
    folder = Folder(tmp_path)
    claimed = json.loads(folder.task.to_json())
    claimed["guarantee"]["epsilon"] = "1"
    (tmp_path / "task.json").write_text(json.dumps(claimed))
    with pytest.raises(BrokenPromiseError, match=r"cannot be served: (?!.*do not answer).*, which is weaker"):
        folder.options()().check()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"next": []}, "next must have the hash"),
        ({"next": ["abc"]}, "next must be the hash"),
        ({"key": []}, "at least one task and one key"),
        ({"most_per_second": 0.0}, "most_per_second must be above 0"),
        ({"most_per_second": float("nan")}, "most_per_second must be above 0"),
        ({"upstream": "http://127.0.0.1:9"}, "are for later shufflers"),
        ({"store": "mysql://host/x"}, "the address of a store must be"),
    ],
)
def test_invalid_options_are_refused(changes, words, tmp_path):
    with pytest.raises(ParameterError, match=words):
        Folder(tmp_path).options(**changes)().check()


def test_a_later_shuffler_needs_a_token_and_an_address(tmp_path):
    folder = Folder(tmp_path, shufflers=2)
    with pytest.raises(ParameterError, match="token is missing: the key is of shuffler 2"):
        folder.options(1)().check()
    with pytest.raises(DataError, match="is empty"):
        folder.options(1, token=folder.secret("empty", ""))().check()
    with pytest.raises(ParameterError, match="upstream must be an address"):
        folder.options(1, token=folder.secret("token", "t"), upstream="host:1")().check()
    with pytest.raises(
        ParameterError, match=r"upstream must be .* without a user name and a password, got http://\.\.\.@h"
    ):
        folder.options(1, token=folder.secret("other", "t"), upstream="http://me:secret@h")().check()


def test_admission_is_what_the_task_says(tmp_path):
    assert isinstance(served(Folder(tmp_path).options()).admission, OpenAdmission)


def test_a_task_with_a_secret_needs_it(tmp_path):
    folder = Folder(tmp_path, admission="secret")
    with pytest.raises(ParameterError, match="admission_secret is missing"):
        folder.options()().check()
    admission = served(folder.options(admission_secret=folder.secret("secret", "correct horse"))).admission
    assert isinstance(admission, SharedSecret)
    assert "correct horse" in admission.secret


def test_one_time_tokens_are_given_as_hashes_and_stay_spent(tmp_path):
    folder = Folder(tmp_path, admission="tokens")
    assert isinstance(served(folder.options()).admission, OneTimeTokens)
    (tmp_path / "hashes").write_text(f"{hash_of('one').hex()}\n{hash_of('two').hex()}\n")

    def sent(token, report_id):
        folder.options(admission_hashes=tmp_path / "hashes")().check()  # as at every start
        with open_report_store(tmp_path / "store.db") as store:
            arrival = Arrival(
                task_id=folder.task.id,
                report_id=report_id * 16,
                digest=report_id * 16,
                onions=b"x",
                number=1,
                admission_hash=hash_of(token),
            )
            return store.add([arrival])

    assert sent("one", b"1") == [Outcome.STORED]
    assert sent("one", b"2") == [Outcome.NOT_ADMITTED]
    assert sent("two", b"3") == [Outcome.STORED]
    assert sent("three", b"4") == [Outcome.NOT_ADMITTED]


def test_invalid_hashes_are_refused(tmp_path):
    folder = Folder(tmp_path, admission="tokens")
    (tmp_path / "hashes").write_text("\n")
    with pytest.raises(DataError, match="at least one hash, got none"):
        folder.options(admission_hashes=tmp_path / "hashes")().check()
    (tmp_path / "hashes").write_text("a token itself\n")
    with pytest.raises(ParameterError, match="must be the hash of a token"):
        folder.options(admission_hashes=tmp_path / "hashes")().check()
    with pytest.raises(DataError, match="cannot be read"):
        folder.options(admission_hashes=tmp_path / "missing")().check()


@pytest.mark.parametrize("name", ["admission_secret", "admission_hashes"])
def test_unneeded_admission_options_are_refused(name, tmp_path):
    folder = Folder(tmp_path)
    with pytest.raises(ParameterError, match="no task of this shuffler asks for"):
        folder.options(**{name: folder.secret("file", "x")})().check()


def test_the_limit_is_shared_by_the_processes(tmp_path):
    settings = Folder(tmp_path).options(workers=4, most_per_second=100.0, background=False)()
    assert settings.most_per_second == 25.0
    assert not settings.background
    settings.store.close()


def test_a_used_port_is_refused(tmp_path):
    with listening("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        words = f"^cannot listen at port {port} of 127.0.0.1: Address already in use; choose another port"
        with pytest.raises(ParameterError, match=words):
            serve(partial(app_from, Folder(tmp_path).options()), port=port)


@pytest.mark.parametrize(("host", "port"), [("127.0.0.1", 70_000), ("192.0.2.1", 0), ("127.0.0.1", -1)])
def test_an_invalid_host_or_port_is_refused(host, port):
    with pytest.raises(ParameterError, match="cannot listen"), listening(host, port):
        pass


def test_an_unknown_host_is_refused():
    words = "^cannot listen at port 0 of no-such-host.invalid: the host name cannot be resolved; choose"
    with pytest.raises(ParameterError, match=words), listening("no-such-host.invalid", 0):
        pass


@pytest.mark.skipif(not socket.has_ipv6, reason="needs IPv6")
def test_ipv6_hosts_are_supported():
    try:
        with listening("::1", 0) as listener:
            assert listener.family == socket.AF_INET6
    except ParameterError:
        pytest.skip("this machine has no address of that kind")


@pytest.mark.parametrize("workers", [0, 65])
def test_invalid_numbers_of_workers_are_refused(workers):
    with pytest.raises(ParameterError, match="workers must be from 1 to 64"):
        serve(print, port=0, workers=workers)


def test_an_invalid_certificate_is_refused(tmp_path):
    (tmp_path / "certificate").write_text("none")
    certificate = Certificate(certificate=tmp_path / "certificate", key=tmp_path / "missing")
    with pytest.raises(DataError, match="must be a certificate and its private key"):
        serve(print, port=0, certificate=certificate)


def two_tasks(tmp_path, *addresses, **task):
    """Options of a shuffler of two tasks with these addresses, each with its own keys."""
    files, keys = [], []
    for at, places in enumerate(addresses):
        folder = tmp_path / str(at)
        folder.mkdir()
        one = Folder(folder, addresses=places, shufflers=len(places) - 1, **task)
        files += one.options().keywords["task"]
        keys.append(one.options().keywords["key"][0])
    return partial(Settings.read, task=files, key=keys, store=str(tmp_path / "both.db"), next=[HASH])


MIX, COUNT, OTHER = "http://127.0.0.1:9", "http://127.0.0.1:10", "http://127.0.0.1:11"


def test_tasks_with_different_next_servers_are_refused(tmp_path):
    options = two_tasks(tmp_path, (MIX, COUNT), (MIX, OTHER))
    with pytest.raises(ParameterError, match="shuffler for each next server"):
        options().check()
    with pytest.raises(ParameterError, match="different next servers"):
        Settings(
            served=[served(partial(options, task=[each])) for each in options.keywords["task"]],
            store=None,
            next_servers=Accepted(()),
        )


def test_several_tasks_of_the_same_next_server_are_served(tmp_path, capsys):
    two_tasks(tmp_path, (MIX, COUNT), (OTHER, COUNT))().check()
    assert "key-shared" not in capsys.readouterr().err


def test_a_token_is_not_shown_to_two_servers_upstream(tmp_path):
    options = two_tasks(tmp_path, (MIX, MIX, COUNT), (OTHER, MIX, COUNT))
    keys = [path.parent / "1.key" for path in options.keywords["key"]]
    options = partial(options, key=keys, token=write_secret(tmp_path / "token", new_token()))
    with pytest.raises(ParameterError, match="each shuffler upstream learns the token"):
        options().check()
    partial(options, upstream=MIX)().check()


def test_the_position_in_an_earlier_task_is_that_of_the_key(tmp_path):
    """The first shuffler of an earlier task may be a later one now."""
    folder = Folder(tmp_path, shufflers=2, addresses=(MIX, OTHER, COUNT))
    first = small_task(users=5, epsilon=8.0, delta=1e-2, shufflers=2, addresses=(OTHER, COUNT, MIX))
    keys = [tmp_path / "1.key", write_key(first.keys[0], tmp_path / "first.key")]
    options = TaskOptions(key=keys, token=write_secret(tmp_path / "token", new_token()))
    options.served([folder.task], earlier=[first.task, folder.task], added=True)
    with pytest.raises(ParameterError, match="must be that of earlier tasks"):
        replace(options, key=keys[:1]).served([folder.task], earlier=[first.task], added=True)


def test_a_longer_chain_shows_the_token_to_no_other_shuffler(tmp_path):
    """The author of a task chooses the position of this shuffler."""
    folder = Folder(tmp_path, shufflers=4, addresses=(OTHER, OTHER, OTHER, MIX, COUNT))
    options = TaskOptions(key=[tmp_path / "3.key"], token=write_secret(tmp_path / "token", new_token()))
    for shufflers, addresses in ((2, (MIX, OTHER, COUNT)), (3, (MIX, COUNT, OTHER, COUNT))):
        earlier = small_task(users=5, epsilon=8.0, delta=1e-2, shufflers=shufflers, addresses=addresses)
        with pytest.raises(ParameterError, match="must be that of earlier tasks"):
            options.served([folder.task], earlier=[earlier.task], added=True)


def test_a_later_shuffler_has_one_process(tmp_path):
    folder = Folder(tmp_path, shufflers=2)
    with pytest.raises(ParameterError, match="workers must be 1 for a later shuffler"):
        folder.options(1, token=folder.secret("token", "t"), workers=2)().check()


def test_a_key_shared_by_two_tasks_is_logged(tmp_path, capsys):
    folder = Folder(tmp_path)
    other = json.loads(folder.task.to_json())
    other["question"] = "Another?"
    (tmp_path / "other.json").write_text(json.dumps(other))
    folder.options(task=[tmp_path / "task.json", tmp_path / "other.json"])().check()
    assert "key-shared" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("tokens", [(), ("one",)])
def test_missing_tokens_are_logged_and_public(tmp_path, tokens, capsys):
    folder = Folder(tmp_path, admission="tokens")
    (tmp_path / "hashes").write_text("".join(f"{hash_of(token).hex()}\n" for token in tokens))
    options = folder.options(**({"admission_hashes": tmp_path / "hashes"} if tokens else {}))
    options().check()
    with running(app_from(options, True)) as address:
        reported = httpx.get(f"{address}/v1/tasks/{folder.task.name}/status").json()["problems"]
    assert len(reported) == (0 if tokens else 1)
    assert ("tokens-spent" in capsys.readouterr().err) == (not tokens)
