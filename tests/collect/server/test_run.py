"""Servers: the headers they send, TLS, workers, and a stop that finishes the requests in flight."""

import contextlib
import socket
import ssl
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from urllib.parse import urlsplit

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from shuffledp.collect.server.run import Certificate, _lock
from shuffledp.errors import DataError
from tests.collect.in_process import served


class Application:
    """Count starts and stops, and read a whole body before responding."""

    def __init__(self):
        self.started = self.ended = 0
        self.reading = threading.Event()
        self.app = Starlette(routes=[Route("/", self.answer, methods=["GET", "POST"])], lifespan=self.lifespan)

    @contextlib.asynccontextmanager
    async def lifespan(self, app):
        self.started += 1
        yield
        self.ended += 1

    async def answer(self, request: Request):
        self.reading.set()
        body = await request.body()
        return PlainTextResponse(f"{len(body)} {self.ended}")


@pytest.mark.slow
def test_responses_have_minimal_headers():
    application = Application()
    with served(application.app) as address:
        headers = httpx.get(address).headers
    assert set(headers) == {"content-length", "content-type"}
    assert (application.started, application.ended) == (1, 1)


def self_signed(path):
    """A self-signed certificate of 127.0.0.1."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "tests")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (path / "certificate.pem").write_bytes(signed.public_bytes(Encoding.PEM))
    content = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (path / "key.pem").write_bytes(content)
    return Certificate(certificate=path / "certificate.pem", key=path / "key.pem")


@pytest.mark.slow
def test_with_a_certificate_only_tls_is_served(tmp_path):
    certificate = self_signed(tmp_path)
    certificate.check()
    trusted = ssl.create_default_context(cafile=certificate.certificate)
    with served(Application().app, certificate=certificate) as address:
        assert address.startswith("https://127.0.0.1:")
        assert httpx.get(address, verify=trusted).status_code == 200
        with pytest.raises(httpx.TransportError):
            httpx.get(address.replace("https", "http"))
        with pytest.raises(httpx.ConnectError):
            httpx.get(address)  # a client that does not trust the certificate


@pytest.mark.slow
def test_a_stop_finishes_the_requests_in_flight_and_then_the_application():
    application = Application()
    server = served(application.app)
    place = urlsplit(server.__enter__())
    with socket.create_connection((place.hostname, place.port)) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nhost: here\r\ncontent-length: 10\r\n\r\n01234")
        assert application.reading.wait(20)
        stopping = threading.Thread(target=server.__exit__, args=(None, None, None))
        stopping.start()
        while _answers(place):  # until it accepts no more connections
            pass
        time.sleep(0.5)  # far longer than idle connections take to close
        assert stopping.is_alive()
        connection.sendall(b"56789")
        answer = b"".join(iter(lambda: connection.recv(1000), b""))
    stopping.join(20)
    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert answer.endswith(b"10 0")  # the body was read before the application ended
    assert application.ended == 1


def _answers(place):
    try:
        with socket.create_connection((place.hostname, place.port)):
            return True
    except OSError:
        return False


def test_a_mismatched_certificate_and_key_are_refused(tmp_path):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    one, other = self_signed(tmp_path / "one"), self_signed(tmp_path / "other")
    with pytest.raises(DataError, match=r"the private key belongs to another certificate$"):
        Certificate(certificate=one.certificate, key=other.key).check()
    with pytest.raises(DataError, match=r"not in PEM format, or they are swapped$"):
        Certificate(certificate=one.key, key=one.certificate).check()


@pytest.mark.slow
def test_workers_that_cannot_start_end_the_server():
    program = (
        "from functools import partial\n"
        "from shuffledp.collect.server.run import serve\n"
        "if __name__ == '__main__':\n"
        "    serve(partial(int, 'no application'), port=0, workers=2)\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 1
    assert '"event": "cannot-start", "error": "ValueError"' in result.stderr
    assert "a worker process could not start" in result.stderr
    assert '"ready"' not in result.stderr
    assert "no application" not in result.stderr.partition("Traceback")[0]


@pytest.mark.slow
def test_one_worker_runs_the_background_work_until_it_ends(tmp_path):
    path = tmp_path / "lock"
    path.touch()
    program = "import sys; from shuffledp.collect.server.run import _lock, Path; sys.exit(not _lock(Path(sys.argv[1])))"
    assert subprocess.run([sys.executable, "-c", program, path], check=False).returncode == 0
    assert _lock(path)  # the first worker has ended
    assert not _lock(path)
