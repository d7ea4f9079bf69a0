"""Timeouts, server errors, retries and refusals are distinguished; requests reveal nothing about the sender."""

import contextlib
import socket
import ssl
import threading
import traceback
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from starlette.responses import Response

from shuffledp.collect import Client, Reason, send_crowd
from shuffledp.collect.client import transport as sending
from shuffledp.errors import ParameterError, RefusedError, ShuffledpError, UnreachableError
from tests.collect.client.conftest import task_at
from tests.collect.client.servers import breaking_server, problem

DAY = timedelta(days=1)
OF_REPORTS = [
    reason
    for reason in Reason
    if reason not in ("no-token", "unknown-batch", "no-release", "not-a-message", "repeated", "replayed")
]


def sent(task, **more):
    sending.post(task, b"sealed", **more)


@pytest.mark.parametrize("reason", OF_REPORTS)
def test_every_reason_is_final_or_asks_to_try_again(kept, shuffler, reason):
    shuffler.script.append(problem(reason, reason.status))
    with pytest.raises(UnreachableError if reason.try_again else RefusedError) as caught:
        sent(kept.task)
    assert caught.value.reason == reason
    assert reason.meaning in str(caught.value) or reason.status >= 500


@pytest.mark.parametrize("reason", Reason)
def test_a_server_error_is_not_a_refusal(kept, shuffler, reason):
    shuffler.script.append(problem(reason, 500))
    with pytest.raises(UnreachableError, match="status 500"):
        sent(kept.task)


@pytest.mark.parametrize(
    "answer",
    [
        Response("welcome, please log in", 200),
        Response(status_code=202),
        Response(status_code=204),
        Response(status_code=429),
        Response(status_code=502),
        Response("no such page", 404),
        Response(status_code=413),  # of a proxy
        Response("gone", 410),
        Response("not JSON {", 400, media_type="application/problem+json"),
        Response('["closed"]', 410, media_type="application/problem+json"),
        Response('{"reason": "a reason of later days"}', 400, media_type="application/problem+json"),
        Response('{"reason": ["closed"]}', 410, media_type="application/problem+json"),
        Response("[" * 60_000, 400, media_type="application/problem+json"),
        Response("x" * 100_000, 400),
    ],
)
def test_other_responses_lose_nothing(kept, shuffler, answer):
    shuffler.script.append(answer)
    with pytest.raises(UnreachableError, match="nothing is lost") as caught:
        sent(kept.task)
    assert caught.value.reason is None


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(kept, shuffler, status):
    shuffler.script.append(Response(status_code=status, headers={"Location": f"{shuffler.address}/elsewhere"}))
    with pytest.raises(UnreachableError, match=str(status)):
        sent(kept.task)
    assert len(shuffler.paths) == 1


@pytest.mark.slow
def test_a_server_that_does_not_answer_in_time_can_be_tried_again(kept, shuffler, tmp_path):
    shuffler.script.append(None)
    with pytest.raises(UnreachableError, match="in time"):
        Client(kept.task, journal=tmp_path, timeout=0.2).send("dark")
    assert Client(kept.task, journal=tmp_path).send("dark").state == "sent"
    assert shuffler.bodies[0] == shuffler.bodies[1]


def test_a_spent_token_and_a_full_disk_are_named():
    spent = sending.failure(Reason.NOT_ADMITTED, "https://a")
    assert "A one-time token may have been used already. The report is kept" in str(spent)
    assert "used already" not in str(sending.failure(Reason.CLOSED, "https://a"))
    with pytest.raises(UnreachableError, match=r"^https://a cannot store reports now \(status 503\): nothing is lost"):
        sending.judge("https://a", 503, b'{"reason": "unavailable"}')
    with pytest.raises(UnreachableError, match="answered with status 502"):
        sending.judge("https://a", 502, b"bad gateway")


def test_a_closed_port_is_unreachable():
    with breaking_server() as address:
        pass
    with pytest.raises(UnreachableError, match="cannot be reached: it refuses connections"):
        sent(task_at(address).task)


def test_a_connection_cut_in_the_middle_of_the_answer_can_be_tried_again(tmp_path):
    """Even if the response begins as an acknowledgement: sending the same bytes again is safe."""
    whole = b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}"
    with breaking_server(b"", whole[:20], whole[:-1], b"nonsense\r\n\r\n", whole) as address:
        client = Client(task_at(address).task, journal=tmp_path)
        for _ in range(4):
            with pytest.raises(UnreachableError, match=r"cannot be reached: .*Nothing is lost, send it again later"):
                client.send("dark")
            assert client.journal.read(client.task).state == "ready"
        assert client.send("dark").state == "sent"


def test_an_endless_response_is_cut_off(kept):
    endless = httpx.Response(201, stream=httpx.ByteStream(b"x" * 70_000))
    with pytest.raises(httpx.ReadTimeout):
        sending._whole(endless, most=1 << 16, ends=float("inf"))
    slow = httpx.Response(201, stream=httpx.ByteStream(b"x"))
    with pytest.raises(httpx.ReadTimeout):
        sending._whole(slow, most=1 << 16, ends=0.0)


def test_certificates_are_checked():
    assert sending.settings(1.0)["verify"] is sending.certificates()
    assert sending.certificates().verify_mode == ssl.CERT_REQUIRED
    assert sending.certificates().check_hostname


def test_an_untrusted_server_gets_nothing(tmp_path):
    """With a self-signed certificate."""
    key, certificate = made_itself(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    received = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve():
            for _ in range(2):
                connection, _ = listening.accept()
                with contextlib.suppress(OSError), context.wrap_socket(connection, server_side=True) as secure:
                    received.append(secure.recv(1 << 16))

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        asked = task_at(f"https://127.0.0.1:{listening.getsockname()[1]}").task
        with pytest.raises(UnreachableError, match="certificate is not trusted"):
            sent(asked)
        assert send_crowd(asked, ["dark"], patience=0.01).unreachable == 1
        thread.join(30)
    assert received in ([], [b""], [b"", b""])


def made_itself(folder):
    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, private.public_key(), x509.random_serial_number(), now, now + DAY)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(private, hashes.SHA256())
    )
    (folder / "key.pem").write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    (folder / "certificate.pem").write_bytes(certificate.public_bytes(Encoding.PEM))
    return folder / "key.pem", folder / "certificate.pem"


# Content of requests ----------------------------------------------------------------------------------------------


def test_all_requests_have_the_same_headers(kept, shuffler, tmp_path):
    shuffler.script.append(Response(status_code=201, headers={"Set-Cookie": "person=17; Path=/"}))
    for name in ("one", "other"):
        Client(kept.task, journal=tmp_path / name).send("dark")
    for headers in shuffler.headers:
        del headers["content-length"]
    assert shuffler.headers[0] == shuffler.headers[1]
    assert shuffler.headers[0] == {
        "host": shuffler.address.removeprefix("http://"),
        "user-agent": "shuffledp",
        "accept": "*/*",
        "accept-encoding": "identity",
        "connection": "keep-alive",
        "content-type": "application/octet-stream",
    }


def test_cookies_are_forgotten(kept):
    def answer(request):
        assert "cookie" not in request.headers
        return httpx.Response(201, headers={"Set-Cookie": "person=17; Path=/"})

    with httpx.Client(**sending.settings(1.0), transport=httpx.MockTransport(answer)) as client:
        for _ in range(2):
            assert client.post("http://shuffler.example/v1").status_code == 201
        assert len(client.cookies.jar) == 0


@pytest.mark.parametrize("admission", ["secret", "tokens"])
def test_an_admission_is_sent_if_the_task_requires_it(shuffler, tmp_path, admission):
    asked = task_at(shuffler.address, admission=admission).task
    with pytest.raises(ParameterError, match="only with"):
        Client(asked)
    for wrong in ("", " ", "-", "..", "=", "with spaces", "new\nline", "\xe4", 5, b"bytes"):
        with pytest.raises(ParameterError, match="admission must be") as caught:
            Client(asked, admission=wrong)
        assert len(str(wrong)) < 3 or repr(wrong) not in str(caught.value)
    client = Client(asked, admission="sesame-17", journal=tmp_path)
    client.send("dark")
    assert shuffler.headers[0]["authorization"] == "Bearer sesame-17"
    assert "sesame" not in repr(client)
    assert not [path for path in tmp_path.iterdir() if b"sesame" in path.read_bytes()]


def test_no_admission_is_sent_to_an_open_task(kept, shuffler, tmp_path):
    Client(kept.task, admission="sesame-17", journal=tmp_path).send("dark")
    assert "authorization" not in shuffler.headers[0]


@pytest.mark.slow
def test_errors_show_neither_answer_nor_admission(shuffler, tmp_path):
    asked = task_at(shuffler.address, admission="secret").task
    shuffler.script.extend([problem(Reason.NOT_ADMITTED, 403), problem(Reason.UNAVAILABLE, 503), None])
    for _ in range(3):
        with pytest.raises(ShuffledpError) as caught:
            Client(asked, admission="sesame-17", journal=tmp_path, timeout=0.3).send("light")
        shown = "".join(traceback.format_exception_only(caught.value))
        assert "sesame" not in shown
        assert "light" not in shown
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__ or caught.value.__context__ is None
