"""Every test that takes `address` runs on SQLite and on PostgreSQL."""

import pytest

from shuffledp.collect.store import open_report_store, open_tally_store
from tests.collect.databases import ON_POSTGRES


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=ON_POSTGRES)])
def address(request, tmp_path):
    if request.param == "postgres":
        return request.getfixturevalue("postgres_url")
    return f"sqlite:///{tmp_path}/store.db"


@pytest.fixture
def reports(address):
    with open_report_store(address) as store:
        yield store


@pytest.fixture
def tallies(address):
    with open_tally_store(address) as store:
        yield store
