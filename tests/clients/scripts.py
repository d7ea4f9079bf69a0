"""Modules of the client in JavaScript, run by Node and by a real Chromium."""

import json
import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from shuffledp.collection.pages.assets import client_folder
from tests.browser import running_browser
from tests.node import node_path

CLIENT = client_folder()
SECONDS = 120
"""After which a program that runs on and on is ended."""

_CALL = """
import { text } from "node:stream/consumers";
const { path, name, given } = JSON.parse(await text(process.stdin));
const found = await (await import(path))[name](...given);
process.stdout.write(JSON.stringify(found ?? null));
"""


def environment(**more):
    """Of a program that starts here: Node is found, and nothing is asked of anybody."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    quiet = {"npm_config_update_notifier": "false", "npm_config_fund": "false", "npm_config_audit": "false"}
    return os.environ | {"PATH": path, "npm_config_offline": "true"} | quiet | more


def program(*words, folder=CLIENT, given="", fails=False, **more):
    """Runs a program to its end; its output, or what it said if it `fails`."""
    finished = subprocess.run(
        words, cwd=folder, env=environment(**more), input=given, capture_output=True, text=True, timeout=SECONDS,
        check=False
    )  # fmt: skip
    assert (finished.returncode != 0) == fails, finished.stdout + finished.stderr
    return finished.stdout + (finished.stderr if fails else "")


def in_node(module, name, *given):
    """What an exported function of a module of the client gives."""
    asked = {"path": (CLIENT / module).as_uri(), "name": name, "given": given}
    return json.loads(program(node_path(), "--input-type=module", "-e", _CALL, given=json.dumps(asked)))


@contextmanager
def node_calling(module, name, *given):
    """The same as a process that runs meanwhile, and is ended at the end."""
    asked = {"path": (CLIENT / module).as_uri(), "name": name, "given": given}
    command = [node_path(), "--input-type=module", "-e", _CALL]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            process.stdin.write(json.dumps(asked))
            process.stdin.close()
            yield process
        finally:
            process.kill()


def in_page(page, module, name, *given):
    """The same in a page of `pages`."""
    call = "async ([module, name, given]) => (await import(module))[name](...given)"
    return page.evaluate(call, [f"/{module}", name, given])


class _Files(SimpleHTTPRequestHandler):
    """The files of the client, and an empty page."""

    extensions_map = SimpleHTTPRequestHandler.extensions_map | {".js": "text/javascript", ".mjs": "text/javascript"}

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
def pages(folder=CLIENT):
    """The address of a server that has the files of the client, and of nothing else."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Files, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def browser_at_pages():
    """A browser, and the address of a server with the files of the client."""
    with pages() as address, running_browser() as browser:
        yield browser, address


def new_page(browser, address):
    """An empty page of that server, of a person whom nobody knows yet."""
    page = browser.new_context().new_page()
    page.goto(f"{address}/")
    return page
