"""The commands of docs/how-to/deploy.md: they end with a release, complete folders, and a database with a password."""

import base64
import hashlib
import hmac
import json
import os
import re
import select
import shlex
import shutil
import socket
import socketserver
import subprocess
import tomllib
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import psycopg
import psycopg.conninfo
import pytest

from shuffledp.collect.crypto.keys import read_key
from shuffledp.collect.store import open_report_store
from shuffledp.collect.store.schema import REPORTS
from shuffledp.collect.task import read_task
from tests.cli.commands import command
from tests.collect.chaos import free_port, wait_until
from tests.collect.databases import programs_of
from tests.collect.deploying import PARTIES, config, create_task, everything, init
from tests.collect.test_tutorial import programs

__all__ = ["everything"]  # a fixture

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "deploy.md"


def blocks():
    """The commands of the page, by section."""
    sections = re.split(r"^## (.*)\n", PAGE.read_text(), flags=re.M)[1:]
    return {
        title: re.findall(r"^```sh\n(.*?)^```", text, flags=re.M | re.S)
        for title, text in zip(sections[::2], sections[1::2], strict=True)
    }


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="the page is for a shell")
def test_the_trial_of_the_page_ends_with_a_release(tmp_path):
    """With fewer people, on free ports; servers end with the shell."""
    ports = [free_port() for _ in PARTIES]
    flags = ("--address", "--address", "--analyzer-address")
    addresses = " ".join(f"{flag} http://127.0.0.1:{port}" for flag, port in zip(flags, ports, strict=True))
    fewer = {
        "--users 500": "--users 50",
        "--epsilon 1 ": "--epsilon 4 ",
        "head -300": "head -30",
        "head -200": "head -20",
    }
    fewer |= {"--shufflers 2": f"--shufflers 2 --store sqlite {addresses}", "127.0.0.1:8003": f"127.0.0.1:{ports[-1]}"}
    fewer |= {"127.0.0.1:8001": f"127.0.0.1:{ports[0]}"}
    text = "".join(blocks()["Try it on one machine"])
    for shown, used in fewer.items():
        assert shown in text
        text = text.replace(shown, used)
    text = re.sub(r" &$", ' 2> server-$RANDOM.log &\nservers="$servers $!"', text, flags=re.M)
    (tmp_path / "bin").mkdir()
    environment = os.environ | {"PATH": f"{programs(tmp_path / 'bin')}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", f"set -e\ntrap 'kill $servers; wait' EXIT\n{text}"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "50 simulated people answered" in done.stdout
    table = done.stdout[done.stdout.index("label,count") :].splitlines()
    assert {"tea", "coffee", "neither"} <= {line.split(",")[0] for line in table}


def test_the_three_organisations_of_the_page_end_with_complete_folders(tmp_path):
    (text,) = blocks()["Deploy with three organisations"]
    folders = []
    for at, line in enumerate(text.splitlines()):
        (tmp_path / str(at)).mkdir()
        assert command(*shlex.split(line, comments=True)[1:], cwd=tmp_path / str(at)).returncode == 0
        folders.append(tmp_path / str(at) / "ours")
    assert len(folders) == 3
    for folder in folders:
        for other in folders:
            for path in (folder / "public").glob("*.party.json"):
                (other / "public" / path.name).write_bytes(path.read_bytes())
    task = create_task(folders[0], tmp_path / "first.task.json")
    for folder in folders:
        (folder / "public" / task.name).write_bytes(task.read_bytes())
        assert json.loads(command("deploy", "join", folder, "--json").stdout)["tasks"] == {
            task.name: read_task(task).name
        }


def documented(word):
    """The block of commands of the page that has this word."""
    (commands,) = [
        block for block in re.findall(r"^```text\n(.*?)^```", PAGE.read_text(), flags=re.M | re.S) if word in block
    ]
    return commands


def test_a_later_key_of_the_page_reaches_a_folder_of_another_user(tmp_path):
    """The folders of the server belong to its user, so the operator writes there only with sudo."""
    init(tmp_path / "ours", "--only", "shuffler-1", "--address", "https://mix1.example.org")
    first, owned, moved = documented("second.key").splitlines()
    assert "ours/" not in first
    assert command(*shlex.split(first)[1:], cwd=tmp_path).returncode == 0
    assert owned == "sudo chown 1000:1000 second.key"
    subprocess.run(shlex.split(moved.removeprefix("sudo ")), cwd=tmp_path, check=True)
    read_key(tmp_path / "ours" / "shuffler-1" / "server" / "keys" / "second.key")


@pytest.mark.parametrize("source", ["page", "shuffledp-shuffler@.service", "shuffledp-analyzer.service"])
def test_only_what_the_server_needs_is_copied_to_it(everything, tmp_path, source):
    """Not the token of the operator, and not the password for PostgreSQL itself."""
    text = documented("useradd") if source == "page" else (PAGE.parents[2] / "deploy" / source).read_text()
    lines = [line.removeprefix("#").strip().removeprefix("sudo ") for line in text.splitlines()]
    script = "\n".join(line for line in lines if line.startswith(("mkdir", "cp -R")))
    script = script.replace("/var/lib", str(tmp_path)).replace("ours/", "")
    subprocess.run(["sh", "-e", "-c", script], cwd=everything, check=True)
    (party,) = (tmp_path / "shuffledp").iterdir()
    assert {path.name for path in party.iterdir()} == {"server", "state"}
    assert config(party.parent, party.name).is_file()


@pytest.mark.xdist_group("postgres")
@pytest.mark.slow
def test_the_documented_commands_create_the_role_and_the_database(tmp_path, postgres_server, monkeypatch):
    """The commands of docs/how-to/deploy.md; `sudo` only drops the user, and programs are those of this PostgreSQL."""
    init(tmp_path / "ours", "--only", "shuffler-1", "--shufflers", 2, "--address", "https://mix1.example.org")
    commands = documented("createdb")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "sudo").write_text('#!/bin/sh\nshift 2\nexec "$@"\n')
    (tmp_path / "bin" / "sudo").chmod(0o755)
    programs = [tmp_path / "bin", programs_of(postgres_server.get_uri())]
    monkeypatch.setenv("PATH", ":".join([*map(str, programs), os.environ["PATH"]]))
    for name, value in psycopg.conninfo.conninfo_to_dict(postgres_server.get_uri()).items():
        monkeypatch.setenv({"dbname": "PGDATABASE"}.get(name, f"PG{name.upper()}"), str(value))
    try:
        subprocess.run(["sh", "-e", "-c", commands], cwd=tmp_path, check=True)
        password = (tmp_path / "ours" / "shuffler-1" / "database.password").read_text().strip()
        server = psycopg.conninfo.conninfo_to_dict(postgres_server.get_uri())
        address = f"postgresql://shuffledp@/shuffledp?host={server['host']}"
        with open_report_store(address) as store:
            assert store.database.version == REPORTS.version
        with psycopg.connect(postgres_server.get_uri()) as connection:
            query = "SELECT rolpassword FROM pg_authid WHERE rolname = 'shuffledp' AND rolcanlogin"
            ((stored,),) = connection.execute(query).fetchall()
        assert is_scram_of(stored, password)
        check_login(tmp_path / "ours", "shuffler-1", server, monkeypatch)
    finally:
        with psycopg.connect(postgres_server.get_uri(), autocommit=True) as connection:
            connection.execute("DROP DATABASE IF EXISTS shuffledp")
            connection.execute("DROP ROLE IF EXISTS shuffledp")


def check_login(folder, party, server, monkeypatch):
    """Log in with the created files only: the address in the configuration, and the password in pgpass.

    PostgreSQL asks for the password; a port of this machine stands for the host `database`.
    """
    for name in ("PGHOST", "PGUSER", "PGDATABASE", "PGPASSWORD"):
        monkeypatch.delenv(name, raising=False)
    store = tomllib.loads(config(folder, party).read_text())["store"]
    assert store == "postgresql://shuffledp@database/shuffledp"
    passwords = folder / party / "server" / "pgpass"
    admin = psycopg.conninfo.make_conninfo(**server)
    with asking_for_passwords(admin), forwarding(f"{server['host']}/.s.PGSQL.{server.get('port', 5432)}") as port:
        address = f"{store}?hostaddr=127.0.0.1&port={port}"
        monkeypatch.setenv("PGPASSFILE", str(folder / "none"))
        wait_until(lambda: "no password supplied" in failure_of(address), what="the new authentication")
        monkeypatch.setenv("PGPASSFILE", str(passwords))
        with open_report_store(address) as opened:
            assert opened.database.version == REPORTS.version
        passwords.write_text(passwords.read_text().strip()[:-1] + "\n")
        assert "password authentication failed" in failure_of(address)


def failure_of(address):
    """Why nobody can log in; nothing if one can."""
    try:
        psycopg.connect(address).close()
    except psycopg.OperationalError as error:
        return str(error)
    return ""


@contextmanager
def asking_for_passwords(admin):
    """PostgreSQL wants a password with SCRAM from the user of a shuffler."""
    with psycopg.connect(admin, autocommit=True) as connection:
        rules = Path(connection.execute("SHOW hba_file").fetchone()[0])
        before = rules.read_text()
        try:
            rules.write_text(f"local shuffledp shuffledp scram-sha-256\n{before}")
            connection.execute("SELECT pg_reload_conf()")
            yield
        finally:
            rules.write_text(before)
            connection.execute("SELECT pg_reload_conf()")


@contextmanager
def forwarding(path):
    """A TCP port whose connections go to a Unix socket: the PostgreSQL of the tests listens to no other."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            with socket.socket(socket.AF_UNIX) as inner:
                inner.connect(path)
                others = {self.request: inner, inner: self.request}
                while True:
                    for ready in select.select(list(others), [], [])[0]:
                        if not (part := ready.recv(1 << 16)):
                            return
                        others[ready].sendall(part)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def is_scram_of(stored, password):
    """Whether PostgreSQL has stored a verifier of this password."""
    kind, iterations_and_salt, keys = stored.split("$")
    iterations, salt = iterations_and_salt.split(":")
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), base64.b64decode(salt), int(iterations))
    server_key = hmac.digest(salted, b"Server Key", "sha256")
    return kind == "SCRAM-SHA-256" and base64.b64decode(keys.split(":")[1]) == server_key
