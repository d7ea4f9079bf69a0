"""Static files: only scripts, styles and drawings of the given folders, with their types and entity tags."""

import anyio
import httpx
import pytest
from starlette.applications import Starlette

from shuffledp.collect.web.pages import Assets


class Asking:
    """Send requests to an application in this process."""

    def __init__(self, app):
        self.app = app

    def get(self, path, headers=None):
        async def ask():
            async with httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url="http://pages") as client:
                return await client.get(path, headers=headers)

        return anyio.run(ask)


@pytest.fixture
def browser(tmp_path):
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "a.js").write_text("export {};")
    (tmp_path / "b.css").write_text("p {}")
    (tmp_path / "secret.key").write_text("private")
    (tmp_path / "page.py").write_text("")
    return Asking(Starlette(routes=Assets.of("/x", tmp_path).routes()))


def test_files_have_their_types(browser):
    script, style = browser.get("/x/part/a.js"), browser.get("/x/b.css")
    assert script.text == "export {};"
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"
    assert style.headers["content-type"] == "text/css; charset=utf-8"
    assert script.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/x/secret.key", "/x/page.py", "/x/", "/x/part", "/x/part/..%2fsecret.key"])
def test_other_files_of_a_folder_are_not_served(browser, path):
    answer = browser.get(path)
    assert answer.status_code == 404
    assert "private" not in answer.text


def test_a_cached_copy_is_revalidated(browser):
    first = browser.get("/x/b.css")
    assert first.headers["cache-control"] == "no-cache"
    again = browser.get("/x/b.css", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert browser.get("/x/b.css", headers={"if-none-match": '"other"'}).status_code == 200
    assert browser.get("/x/part/a.js").headers["etag"] != first.headers["etag"]


def test_files_are_compressed_if_accepted(browser):
    plain = browser.get("/x/b.css", headers={"accept-encoding": "identity"})
    packed = browser.get("/x/b.css", headers={"accept-encoding": "br, gzip"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert plain.content == packed.content == b"p {}"  # httpx has decompressed it
    assert plain.headers["etag"] != packed.headers["etag"]
    assert plain.headers["vary"] == packed.headers["vary"] == "accept-encoding"
    known = {"accept-encoding": "gzip", "if-none-match": packed.headers["etag"]}
    assert browser.get("/x/b.css", headers=known).status_code == 304
