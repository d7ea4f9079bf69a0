"""A recording server and its task; the environment is isolated."""

import pytest

from tests.collect.client.servers import recording_server
from tests.collect.tasks import small_task


@pytest.fixture(scope="package")
def recorder():
    with recording_server() as running:
        yield running


@pytest.fixture
def shuffler(recorder):
    """The server, with an empty record."""
    return recorder.reset()


@pytest.fixture
def kept(shuffler):
    """A task of this shuffler, and its keys."""
    return task_at(shuffler.address)


def task_at(address, **more):
    """A task at an address, with more messages of noise than one answer."""
    return small_task(addresses=(address, "http://127.0.0.1:9"), **more)


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch, tmp_path):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
