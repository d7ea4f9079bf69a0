"""The npm package of the JavaScript client: it packs, installs from its tarball and answers a task.

npm uses no network.
"""

import gzip
import json
import re
import subprocess

import numpy as np
import pytest
from starlette.applications import Starlette
from starlette.routing import Route

import shuffledp
from shuffledp.collect.shuffler.app import CrossOrigin
from shuffledp.collect.task.report import open_report
from tests.browser import running_browser
from tests.clients.pages import pages
from tests.clients.scripts import CLIENT, environment, program
from tests.clients.test_hashed import opened
from tests.collect.client.servers import Recorder
from tests.collect.in_process import served
from tests.collect.tasks import small_task
from tests.node import node_path

MOST_BYTES = 40_000
"""Of the whole client with its library, as browsers fetch it (gzip)."""

MOST_MINIFIED_BYTES = 96_000
"""Of the same before it is packed for its way: what grows is noticed."""

TSC = str(CLIENT / "node_modules" / ".bin" / "tsc")
PROGRAM = """
import { Client, UnreachableError, type Receipt } from "shuffledp-client";
export async function answer(text: string, pin: string): Promise<Receipt | null> {
  try {
    return await (await Client.open(text, { pin, atMost: [1, 1e-6] })).send("dark");
  } catch (error) {
    if (error instanceof UnreachableError && error.reason === "unavailable") return null;
    throw error;
  }
}
"""
WRONG = 'import { Client } from "shuffledp-client";\nexport const wrong: Promise<number> = Client.open("");\n'
OPTIONS = {"strict": True, "noEmit": True, "target": "es2022", "lib": ["es2022", "dom"], "types": []}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A new folder in which the tarball is installed."""
    folder = tmp_path_factory.mktemp("elsewhere")
    program("npm", "pack", "--silent", "--pack-destination", str(folder))
    (tarball,) = folder.glob("*.tgz")
    program("npm", "install", "--silent", f"./{tarball.name}", folder=folder)
    return folder


@pytest.fixture(scope="module")
def shuffler():
    recorder = Recorder()
    app = Starlette(routes=[Route("/{rest:path}", recorder.answer, methods=["POST"])])
    with served(CrossOrigin(app)) as recorder.address:
        yield recorder


@pytest.fixture
def asked(shuffler):
    """A new task and its keys."""
    shuffler.reset()
    return small_task.__wrapped__(addresses=(shuffler.address, "http://127.0.0.1:9"))


def test_its_version_is_the_version_of_the_project():
    manifest, lock = (json.loads((CLIENT / f"package{name}.json").read_text()) for name in ("", "-lock"))
    assert manifest["version"] == lock["version"] == shuffledp.__version__
    assert "dependencies" not in manifest


def test_its_files_need_nothing_but_each_other():
    """A page can load them without a build step."""
    found = set()
    for path in CLIENT.glob("src/**/*.js"):
        text = path.read_text()
        names = re.findall(r'(?:\bfrom|^import|\bimport\()\s*"([^"]+)"', text, flags=re.MULTILINE)
        if path.name == "journal_node.js":
            found |= {name for name in names if name.startswith("node:")}
            assert not re.search(r'^import.*"node:', text, flags=re.MULTILINE)
            names = [name for name in names if not name.startswith("node:")]
        for name in names:
            assert name.startswith("."), f"{path.name} imports {name}"
            assert (path.parent / name).is_file(), f"{path.name} imports {name}"
    assert found == {"node:fs/promises", "node:os", "node:path"}


@pytest.mark.slow
def test_the_library_in_it_is_the_one_of_npm():
    program("npm", "run", "--silent", "vendor", "--", "--check")
    assert "node_modules" not in (CLIENT / "vendor" / "hpke.js").read_text()


@pytest.mark.slow
def test_its_types_hold_in_all_of_it():
    program("npm", "run", "--silent", "types")


@pytest.mark.slow
def test_it_is_small(installed):
    content = (installed / "node_modules" / "shuffledp-client" / "dist" / "shuffledp-client.min.js").read_bytes()
    packed = len(gzip.compress(content))
    print(f"{len(content)} bytes in one file, {packed} with gzip")
    assert packed < MOST_BYTES
    assert len(content) < MOST_MINIFIED_BYTES


@pytest.mark.slow
def test_it_installs_and_answers_from_node(installed, asked, shuffler, tmp_path):
    task = asked.task
    (tmp_path / "my.task.json").write_text(task.to_json())
    command = ("node", "node_modules/shuffledp-client/examples/answer.mjs", str(tmp_path / "my.task.json"))
    kept = {"XDG_DATA_HOME": str(tmp_path), "LOCALAPPDATA": str(tmp_path), "HOME": str(tmp_path)}
    for state in ("sent", "already sent"):
        said = program(*command, task.name, "dark", folder=installed, **kept)
        assert said == f"Which theme do you use?\n{state}\n"
    (report,) = shuffler.bodies
    assert open_report(task, report, asked.keys[0]).number
    said = program(*command, "0" * 64, "dark", folder=installed, fails=True, **kept)
    assert "the one that is pinned: do not answer" in said
    names = [path.name for path in tmp_path.rglob(f"{task.name}*")]
    assert names == [f"{task.name}.json"]
    assert len(shuffler.bodies) == 1


@pytest.mark.slow
def test_the_example_says_in_one_line_what_is_wrong(installed, asked, shuffler, tmp_path):
    """A missing argument must not be sent as an empty answer, which could not be taken back."""
    (tmp_path / "my.task.json").write_text(asked.task.to_json())
    path, kept = str(tmp_path / "my.task.json"), {"XDG_DATA_HOME": str(tmp_path), "HOME": str(tmp_path)}
    usage = "usage: node answer.mjs TASK.json ID ANSWER\n"
    for given, code, line in (
        ((), 2, usage),
        ((path, asked.task.name), 2, usage),
        ((path, asked.task.name, "dark", "light"), 2, usage),
        ((path, "0" * 64, "dark"), 1, "answer.mjs: "),
        (("none.json", asked.task.name, "dark"), 1, "answer.mjs: "),
    ):
        finished = _finished(installed, "node_modules/shuffledp-client/examples/answer.mjs", *given, **kept)
        assert (finished.returncode, finished.stdout) == (code, "")
        assert finished.stderr.startswith(line)
        assert len(finished.stderr.splitlines()) == 1
    assert shuffler.bodies == []


@pytest.mark.slow
def test_bundling_without_esbuild_says_how_to_install_it(tmp_path):
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "bundle.mjs").write_text((CLIENT / "scripts" / "bundle.mjs").read_text())
    finished = _finished(tmp_path, "scripts/bundle.mjs")
    said = "bundle.mjs: esbuild is missing: run npm ci first\n"
    assert (finished.returncode, finished.stdout, finished.stderr) == (1, "", said)


def _finished(folder, *words, **more):
    """Run a Node script; return its result, whatever its exit code."""
    return subprocess.run(
        [node_path(), *words],
        cwd=folder,
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.slow
def test_the_program_of_its_readme_runs(installed, asked, shuffler, tmp_path):
    first = re.search(r"```js\n(.*?)```", (CLIENT / "README.md").read_text(), flags=re.DOTALL)[1]
    given = {"text": asked.task.to_json(), "pin": asked.task.name}
    (installed / "readme.mjs").write_text(f"const {{ text, pin }} = {json.dumps(given)};\n{first}")
    program("node", "readme.mjs", folder=installed, XDG_DATA_HOME=str(tmp_path), HOME=str(tmp_path))
    assert len(shuffler.bodies) == 1


@pytest.mark.slow
def test_programs_in_typescript_are_checked_against_its_types(installed):
    for name, text, fails, module in (("right", PROGRAM, False, "nodenext"), ("wrong", WRONG, True, "esnext")):
        (installed / f"{name}.ts").write_text(text)
        options = OPTIONS | {"module": module, "moduleResolution": "bundler" if module == "esnext" else module}
        (installed / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "files": [f"{name}.ts"]}))
        said = program(TSC, folder=installed, fails=fails)
        assert ("not assignable" in said) == fails


@pytest.mark.slow
def test_a_page_answers_with_the_files_as_they_are_and_with_the_one_file(installed, asked, shuffler):
    """The example page, operated by keyboard; then the bundled client with the same journal."""
    folder, task = installed / "node_modules" / "shuffledp-client", asked.task
    (folder / "my.task.json").write_text(task.to_json())
    with pages(folder) as address, running_browser() as browser:
        page = browser.new_context().new_page()
        loaded = []
        page.on("request", lambda request: loaded.append(request.url))
        page.goto(f"{address}/examples/answer.html?task=../my.task.json#{task.name}")
        page.wait_for_function("document.querySelectorAll('option').length === 3")
        assert page.get_by_role("heading").inner_text() == "Which theme do you use?"
        for key in ("Tab", "ArrowDown", "Tab", "Enter"):
            page.keyboard.press(key)
        page.get_by_text("Sent, once and for all.").wait_for()
        assert len(shuffler.bodies) == 1
        assert {url.split("/")[2] for url in loaded} == {address.split("/")[2], shuffler.address.split("/")[2]}
        assert not [url for url in loaded if "journal_node" in url]
        page.reload()
        page.get_by_text("You have answered before.").wait_for()

        call = "async ([text]) => (await (await import('/dist/shuffledp-client.min.js')).Client.open(text)).state()"
        assert page.evaluate(call, [task.canonical.decode()]) == "sent"
        other = small_task.__wrapped__(addresses=(shuffler.address, "http://127.0.0.1:9"))
        send = call.replace(".state()", ".send('dark')")
        assert page.evaluate(send, [other.task.canonical.decode()])["state"] == "sent"
        page = browser.new_page()
        page.goto(f"{address}/examples/answer.html?task=../my.task.json#{'0' * 64}")
        page.get_by_text("the one that is pinned: do not answer").wait_for()
    assert len(shuffler.bodies) == 2


@pytest.mark.slow
def test_a_page_answers_with_a_text(installed, shuffler):
    """The example page shows what is counted of a text, and every level of it is in the report."""
    shuffler.reset()
    folder = installed / "node_modules" / "shuffledp-client"
    kept = small_task.__wrapped__(addresses=(shuffler.address, "http://127.0.0.1:9"), texts=True, users=500)
    task, family = kept.task, kept.task.protocol.family
    (folder / "my.task.json").write_text(task.to_json())
    with pages(folder) as address, running_browser() as browser:
        page = browser.new_page()
        page.goto(f"{address}/examples/answer.html?task=../my.task.json#{task.name}")
        field = page.get_by_role("textbox", name="Your answer")
        field.fill("a page")
        page.get_by_text("It will be counted as “other”.").wait_for()
        field.fill(" Home ")
        page.get_by_text("It will be counted as “home”.").wait_for()
        field.press("Enter")
        page.get_by_text("Sent, once and for all.").wait_for()
    (report,) = shuffler.bodies
    messages = task.protocol.tally(opened(kept, report))
    for level, value in enumerate(task.values_of("home")):
        assert family.count(task.protocol.level(messages, level).symbols, np.array([value])) >= 1
