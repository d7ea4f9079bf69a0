"""The npm package of the JavaScript client: it packs, installs from its tarball and answers a task.

npm uses no network.
"""

import gzip
import json
import re
import subprocess

import numpy as np
import pytest

import shuffledp
from shuffledp.collect.task.report import open_report
from tests.browser import running_browser
from tests.clients.pages import pages
from tests.clients.scripts import CLIENT, environment, program
from tests.clients.test_hashed import opened
from tests.collect.tasks import small_task
from tests.node import node_path

MOST_BYTES = 40_000
"""Of the whole client with its library, as browsers fetch it (gzip)."""

MOST_MINIFIED_BYTES = 100_000
"""Of the same before it is packed for its way: what grows is noticed."""

pytestmark = pytest.mark.xdist_group("npm")  # one worker packs and installs the package once


def test_its_version_is_the_version_of_the_project():
    manifest, lock = (json.loads((CLIENT / f"package{name}.json").read_text()) for name in ("", "-lock"))
    assert manifest["version"] == lock["version"] == shuffledp.__version__
    assert "dependencies" not in manifest


def test_its_files_need_nothing_but_each_other():
    """A page can load them without a build step."""
    for path in CLIENT.glob("src/**/*.js"):
        for name in _imports(path):
            if path.name != "journal_node.js":
                assert name.startswith("."), f"{path.name} imports {name}"
            if name.startswith("."):
                assert (path.parent / name).is_file(), f"{path.name} imports {name}"


@pytest.mark.parametrize(
    ("entry", "needed"), [("index.js", set()), ("node.js", {"node:fs/promises", "node:os", "node:path"})]
)
def test_only_the_entry_for_node_reaches_parts_of_node(entry, needed):
    reached, waiting = set(), [CLIENT / "src" / entry]
    while waiting:
        path = waiting.pop()
        reached.add(path)
        found = [(path.parent / name).resolve() for name in _imports(path) if name.startswith(".")]
        waiting += [each for each in found if each not in reached and each not in waiting]
    assert {name for path in reached for name in _imports(path) if not name.startswith(".")} == needed
    assert (CLIENT / "src" / "journal_node.js" in reached) == bool(needed)


def test_its_readme_leads_nowhere_outside_of_it():
    """It is read where the rest of the repository is not, and names what a call gives."""
    readme, types = ((CLIENT / name).read_text() for name in ("README.md", "types/index.d.ts"))
    assert not re.findall(r"\]\((?!https://|#)[^)]*\)", readme)
    (receipt,) = re.findall(r"export interface Receipt \{(.*?)^\}", types, flags=re.DOTALL | re.MULTILINE)
    (row,) = re.findall(r"^\| `await client\.send\(value\)`.*", readme, flags=re.MULTILINE)
    for name in re.findall(r"^ +(?:readonly )?(\w+):", receipt, flags=re.MULTILINE):
        assert name in row


def _imports(path):
    """Return the names of the modules that a file imports, at its beginning or later."""
    return re.findall(r'(?:\bfrom|^import|\bimport\()\s*"([^"]+)"', path.read_text(), flags=re.MULTILINE)


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
