"""The TLS proxy of deploy/: a real Caddy with the Caddyfile as it is, its own certificate authority, and a server."""

import json
import os
import shutil
import ssl
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from shuffledp.collect.client.making import new_report
from tests.collect.chain import shufflers
from tests.collect.chaos import free_port, wait_until
from tests.collect.in_process import served
from tests.collect.tasks import small_task

CADDYFILE = Path(__file__).parents[2] / "deploy" / "Caddyfile"
CADDY = shutil.which("caddy", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")

pytestmark = pytest.mark.slow


@contextmanager
def proxied(address, folder, kind="shuffler"):
    """A client of a server behind the proxy, which trusts the proxy's own certificate authority only."""
    port, admin = free_port(), free_port()
    server = httpx.URL(address)
    own = {"SITE": f"localhost:{port}", "KIND": kind, "SERVER": server.host, "SERVER_PORT": str(server.port)}
    places = {"XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "HOME": str(folder)}
    with (folder / "caddy.log").open("wb") as log:
        process = subprocess.Popen(
            [CADDY, "run", "--config", CADDYFILE, "--adapter", "caddyfile"],
            env={**own, **places, "HTTP_PORT": str(free_port()), "CADDY_ADMIN": f"127.0.0.1:{admin}"},
            stdout=subprocess.DEVNULL,
            stderr=log,
        )
    root = folder / "caddy" / "pki" / "authorities" / "local" / "root.crt"
    try:
        wait_until(lambda: root.exists() and is_open(root, port), what="the proxy")
        with httpx.Client(
            base_url=f"https://localhost:{port}", verify=ssl.create_default_context(cafile=root), trust_env=False
        ) as client:
            yield client
    finally:
        process.terminate()
        process.wait(20)


def is_open(root, port):
    """Whether the proxy answers with a certificate of its authority."""
    try:
        context = ssl.create_default_context(cafile=root)
        httpx.get(f"https://localhost:{port}/health", verify=context, trust_env=False)
    except (httpx.TransportError, ssl.SSLError):
        return False
    return True


def test_a_report_reaches_the_shuffler_through_tls(tmp_path):
    kept = small_task()
    with (
        shufflers(kept, tmp_path, only_first=True) as (first,),
        proxied(str(first.base_url), tmp_path) as client,
    ):
        reports = f"/v1/tasks/{kept.task.name}/reports"
        assert client.post(reports, content=new_report(kept.task, kept.task.answers.values[0])).status_code == 201
        assert client.get(f"/v1/tasks/{kept.task.name}/status").json()["waiting"] == 1
        for inside in ("/health", "/metrics", "/v1/admin/tasks", "/v1/tasks/../admin/tasks", "/%68ealth", "//metrics"):
            assert client.get(inside).status_code == 404
        for inside in ("/operator", "/operator/manage", "/operator/login", "/console/look.css", "/page/../operator"):
            assert client.get(inside).status_code == 404
        assert first.get("/health").status_code == 200
    lines = [json.loads(line) for line in (tmp_path / "caddy.log").read_text().splitlines()]
    assert not [line for line in lines if kept.task.name in json.dumps(line)]


def test_the_server_does_not_learn_who_sent_a_request(tmp_path):
    async def show(request):
        await request.body()
        return JSONResponse(dict(request.headers))

    app = Starlette(routes=[Route("/v1/tasks", show), Route("/v1/tasks/x/reports", show, methods=["POST"])])
    with served(app) as address, proxied(address, tmp_path) as client:
        seen = client.get("/v1/tasks", headers={"x-forwarded-for": "192.0.2.7", "x-real-ip": "192.0.2.7"}).json()
        assert {"x-forwarded-for", "x-real-ip"}.isdisjoint(seen)
        assert "192.0.2.7" not in str(seen)
        assert "httpx" not in str(seen)  # the user agent is the proxy's
        assert "127.0.0.1" not in str({name: value for name, value in seen.items() if name != "host"})
        assert client.post("/v1/tasks/x/reports", content=bytes(9_000_000)).status_code == 200  # it fits some tasks


@pytest.mark.parametrize(("site", "host"), [("mix.example.org", "mix.example.org"), ("[2001:db8::1]", "2001:db8::1")])
@pytest.mark.parametrize("tls", ["", "tls /tls/cert.pem /tls/key.pem"])
def test_the_values_of_the_compose_file_fit_the_caddyfile(site, host, tls):
    """The compose file sets TLS to nothing unless the operator has a certificate."""
    own = {"SITE": site, "KIND": "shuffler", "SERVER": "shuffler-1", "TLS": tls}
    command = [CADDY, "adapt", "--config", CADDYFILE]
    adapted = json.loads(subprocess.check_output(command, env=own, stderr=subprocess.DEVNULL))["apps"]
    (server,) = adapted["http"]["servers"].values()
    assert server["listen"] == [":443"]
    assert [route["match"] for route in server["routes"]] == [[{"host": [host]}]]
    files = adapted.get("tls", {}).get("certificates", {}).get("load_files", [])
    assert [each["certificate"] for each in files] == ["/tls/cert.pem"] * bool(tls)


def test_a_report_that_no_server_answers_is_not_logged(tmp_path):
    with proxied(f"http://127.0.0.1:{free_port()}", tmp_path) as client:
        assert client.post("/v1/tasks/x/reports", content=bytes(100)).status_code == 502
    lines = (tmp_path / "caddy.log").read_text()
    assert '"level":"info"' in lines  # it logs what is not about people
    for part in ("remote_ip", "httpx", "/v1/tasks/x", "Content-Length"):
        assert part not in lines


def test_the_proxy_of_an_analyzer_forwards_its_pages(tmp_path):
    async def show(request):
        return JSONResponse(request.url.path)

    app = Starlette(routes=[Route("/{path:path}", show)])
    with served(app) as address, proxied(address, tmp_path, kind="analyzer") as client:
        for path in ("/", "/tasks/x", "/operator", "/operator/login", "/console/look.css", "/v1/tasks/x/releases/1"):
            assert client.get(path).json() == path
        for inside in ("/health", "/metrics", "/v1/admin/tasks", "/ask/x"):
            assert client.get(inside).status_code == 404
