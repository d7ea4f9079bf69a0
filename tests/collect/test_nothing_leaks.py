"""Search every byte that servers write for values, senders, tokens and keys.

Clients use an address, a user agent, cookies and forwarded addresses that occur nowhere else.
"""

import base64
import http.client
import socket

import pytest

from shuffledp.collect.server.auth import hash_of, new_token
from tests.collect.chaos import status_over, wait_until
from tests.collect.servers import Collection

SENDER, FORWARDED = "127.0.0.77", "203.0.113.99"
AGENT, COOKIE, MARK = "Leaky-Browser/9.7", "session=crumbs-4711", "marked-by-the-sender"
ANSWERS = ("teal-and-orange", "mauve-with-stripes", "plain-vermilion")
OTHER_ANSWER = "an-answer-nobody-listed"
USERS = 12


def sent(port, path, body, *, token=None, method="POST"):
    """Send a request from the sender's address; return the status, or None if the server ended it."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10, source_address=(SENDER, 0))
    headers = {
        "User-Agent": AGENT,
        "Cookie": COOKIE,
        "X-Forwarded-For": FORWARDED,
        "Forwarded": f"for={FORWARDED}",
        "Referer": f"http://{MARK}/",
    } | ({"Authorization": f"Bearer {token}"} if token else {})
    return status_over(connection, method, path, body=body, headers=headers)


def send_nonsense(port, name):
    """Send invalid requests, some not HTTP; their content must not reach a log."""
    mark = MARK.encode()
    assert sent(port, f"/v1/tasks/{name}/reports", mark * 5, token=MARK) == 400
    assert sent(port, f"/v1/tasks/{MARK}/reports", mark) == 404
    assert sent(port, f"/{MARK}", mark) == 404
    assert sent(port, f"/v1/tasks/{name}/batches/{MARK}", None, method="GET", token=MARK) == 401
    assert sent(port, f"/v1/tasks/{name}/reports", mark * 200_000) in (413, None)
    for words in (
        b"GET / HTTP/9.9 " + mark + b"\r\n\r\n",
        mark * 1000,
        b"POST /" + mark + b" HTTP/1.1\r\nX: \x00\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", port), timeout=5, source_address=(SENDER, 0)) as raw:
            raw.sendall(words)


def forms(text):
    """Encodings of a text."""
    return [text.encode(), text.encode().hex().encode(), base64.b64encode(text.encode()), text.encode("utf-16-le")]


def secrets_of(collection, tokens, reports):
    """The secrets to search for, by name."""
    found = {f"the {what}": forms(text) for what, text in (("agent", AGENT), ("cookie", COOKIE), ("mark", MARK))}
    for what, address in (("sender", SENDER), ("forwarded address", FORWARDED)):
        found[f"the {what}"] = [*forms(address), socket.inet_aton(address)]
    for at, token in enumerate((*tokens, *collection.tokens)):
        found[f"token {at}"] = [*forms(token), base64.urlsafe_b64decode(token + "=")]
    for at, key in enumerate(collection.keys):
        found[f"key {at}"] = [key.private_bytes, key.private_bytes.hex().encode()]
    for at, report in enumerate(reports):
        found[f"report {at} as it was sent"] = [report[:32], report[-32:]]
    return found


VALUES = {f"the value {value}": forms(value) for value in (*ANSWERS, OTHER_ANSWER)}


def leaks(folder, pattern, secrets):
    """The files with any of the secrets."""
    files = sorted(folder.glob(pattern))
    assert files
    assert sum(file.stat().st_size for file in files) > 0
    return [
        (what, file.name)
        for file in files
        for what, ways in secrets.items()
        for way in ways
        if way in file.read_bytes()
    ]


@pytest.mark.slow
def test_nothing_personal_is_on_a_disk_or_in_a_log(tmp_path):
    collection = Collection(tmp_path, users=USERS, answers=ANSWERS, epsilon=8.0, delta=1e-2, admission="tokens")
    tokens = [new_token() for _ in range(USERS)]
    (tmp_path / "hashes.txt").write_text("\n".join(hash_of(token).hex() for token in tokens))
    collection.servers[0] = collection.server(0, more=["--admission-hashes", tmp_path / "hashes.txt"])
    values = [*ANSWERS, OTHER_ANSWER, None] * 3
    reports = [collection.report(value)[0] for value, _ in zip(values, tokens, strict=False)]
    secrets = secrets_of(collection, tokens, reports)
    port, at = collection.ports[0], f"/v1/tasks/{collection.task.name}/reports"
    with collection:
        for report, token in zip(reports[:-1], tokens[:-1], strict=True):
            assert sent(port, at, report, token=token) == 201
        send_nonsense(port, collection.task.name)
        send_nonsense_to_the_analyzer(collection)
        wait_for_looks(collection)
        # one report is missing: the analyzer has nothing at all, and the shuffler no value
        for pattern in ("shuffler-0.db*", "analyzer.db*", "*.log"):
            assert leaks(tmp_path, pattern, secrets | VALUES) == []
        assert collection.tallies() == []
        assert sent(port, at, reports[-1], token=tokens[-1]) == 201
        wait_until(lambda: len(collection.tallies()) == 1, what="the batch to be counted")
        # the release names the answers, since they are public; the shuffler still knows none
        for pattern, what in (
            ("shuffler-0.db*", secrets | VALUES),
            ("analyzer.db*", secrets),
            ("*.log", secrets | VALUES),
        ):
            assert leaks(tmp_path, pattern, what) == []
    assert leaks(tmp_path, "*.log", secrets | VALUES) == []  # and nothing was logged at the end
    assert leaks(tmp_path, "*.db*", secrets) == []
    assert leaks(tmp_path, "*.ledger*", secrets) == []


def send_nonsense_to_the_analyzer(collection):
    port, name = collection.ports[-1], collection.task.name
    assert sent(port, f"/v1/tasks/{MARK}/status", None, method="GET") == 404
    assert sent(port, f"/v1/tasks/{name}/releases/{MARK}", None, method="GET") == 404
    assert sent(port, f"/{MARK}", MARK.encode()) == 404


def wait_for_looks(collection):
    """Wait until the analyzer has polled for batches, which it does at least once a second."""
    import time

    time.sleep(1.5)


@pytest.mark.slow
def test_the_search_finds_every_secret(tmp_path):
    """The negative control: the search finds every secret in every encoding."""
    collection = Collection(tmp_path, users=USERS, epsilon=8.0, delta=1e-2)
    report, token = collection.report("dark")[0], new_token()
    secrets = secrets_of(collection, [token], [report]) | VALUES
    for ways in secrets.values():
        for way in ways:
            (tmp_path / "some.log").write_bytes(b"before" + way + b"after")
            assert leaks(tmp_path, "some.log", secrets)
