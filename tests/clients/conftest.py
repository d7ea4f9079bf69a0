"""A browser for the tests of the JavaScript client, and its npm package, packed and installed elsewhere."""

import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from shuffledp.collect.shuffler.app import CrossOrigin
from tests.clients.pages import browser_at_pages
from tests.clients.scripts import program
from tests.collect.client.servers import Recorder
from tests.collect.in_process import served
from tests.collect.tasks import small_task


@pytest.fixture(scope="module")
def browser():
    with browser_at_pages() as running:
        yield running


@pytest.fixture(scope="session")
def packed(tmp_path_factory):
    """The tarball of the package."""
    folder = tmp_path_factory.mktemp("packed")
    program("npm", "pack", "--silent", "--pack-destination", str(folder))
    (tarball,) = folder.glob("*.tgz")
    return tarball


@pytest.fixture(scope="session")
def installed(packed, tmp_path_factory):
    """A new folder in which the tarball is installed, without a network."""
    folder = tmp_path_factory.mktemp("elsewhere")
    (folder / packed.name).write_bytes(packed.read_bytes())
    program("npm", "install", "--silent", f"./{packed.name}", folder=folder)
    return folder


@pytest.fixture(scope="module")
def shuffler():
    """A server that records reports, which pages of any origin may send."""
    recorder = Recorder()
    app = Starlette(routes=[Route("/{rest:path}", recorder.answer, methods=["POST"])])
    with served(CrossOrigin(app)) as recorder.address:
        yield recorder


@pytest.fixture
def asked(shuffler):
    """A new task and its keys."""
    shuffler.reset()
    return small_task.__wrapped__(addresses=(shuffler.address, "http://127.0.0.1:9"))
