"""Pages with the JavaScript client, from a local server, in a real Chromium."""

import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

from tests.browser import running_browser
from tests.clients.scripts import CLIENT


class _Files(SimpleHTTPRequestHandler):
    """Serves the files of a folder, other folders under their names, and an empty page."""

    extensions_map = SimpleHTTPRequestHandler.extensions_map | {".js": "text/javascript", ".mjs": "text/javascript"}

    def __init__(self, *arguments, others, **more):
        self._others = others
        super().__init__(*arguments, **more)

    def translate_path(self, path):
        first, _, rest = path.lstrip("/").partition("/")
        if first not in self._others:
            return super().translate_path(path)
        return str(self._others[first] / rest) if ".." not in rest else "/nowhere"

    def do_GET(self):
        if self.path != "/":
            super().do_GET()
            return
        content = b"<!doctype html><html lang='en'><title>A page</title></html>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@contextmanager
def pages(folder=None, **others):
    """Yield the address of a server of the client's files, or of another folder, with `others` under their names."""
    files = partial(_Files, directory=str(folder or CLIENT), others=others)
    with ThreadingHTTPServer(("127.0.0.1", 0), files) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def browser_at_pages():
    """Yield a browser, and the address of a server with the client's files."""
    with pages() as address, running_browser() as browser:
        yield browser, address


def new_page(browser, address):
    """Open an empty page of that server in a new browser context."""
    page = browser.new_context().new_page()
    page.goto(f"{address}/")
    return page


def in_page(page, module, name, *given):
    """Call an exported function of a module of the client in the page."""
    call = "async ([module, name, given]) => (await import(module))[name](...given)"
    return page.evaluate(call, [f"/{module}", name, given])
