"""The packed npm package in applications of others: esbuild, vite, no bundler at all, and TypeScript.

Each application runs in Chromium and sends a report, which the Python package opens. npm and the bundlers use no
network.
"""

import json
import re
import tarfile

import pytest

import shuffledp
from tests.browser import running_browser
from tests.clients.pages import pages
from tests.clients.scripts import CLIENT, program
from tests.clients.test_hashed import opened

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("npm")]

TOOLS = CLIENT / "node_modules" / ".bin"
MOST_PACKED_BYTES = 160_000
"""Of the tarball: what grows is noticed."""

APPLICATION = """
import { Client } from "shuffledp-client";
window.answer = async (text, pin, value) => {
  const client = await Client.open(text, { pin });
  const { state } = await client.send(value);
  return [state, await client.state(), typeof globalThis.process];
};
"""
PAGE = "<!doctype html><html lang='en'><title>An application</title>{}</html>"


@pytest.fixture(scope="module")
def chromium():
    with running_browser() as browser:
        yield browser


@pytest.fixture
def application(installed):
    """A folder for a small application beside the installed package."""
    folder = installed / "application"
    folder.mkdir(exist_ok=True)
    (folder / "main.js").write_text(APPLICATION)
    return folder


def by_esbuild(folder, *flags):
    """Bundle with esbuild, which must say nothing."""
    command = [TOOLS / "esbuild", "main.js", "--bundle", "--outfile=built/app.js", "--log-level=warning", *flags]
    assert _silent(*command, folder=folder) == ""
    (folder / "built" / "index.html").write_text(PAGE.format("<script defer src='app.js'></script>"))
    return folder / "built"


def by_vite(folder):
    """Build with vite and its defaults, which must say nothing."""
    (folder / "index.html").write_text(PAGE.format("<script type='module' src='/main.js'></script>"))
    assert _silent(TOOLS / "vite", "build", "--logLevel", "warn", folder=folder) == ""
    return folder / "dist"


def by_script(folder, address, *, head=""):
    """Load the client from a file of the package, without a bundler."""
    text = APPLICATION.replace('"shuffledp-client"', f'"{address}"')
    (folder / "index.html").write_text(PAGE.format(f"{head}<script type='module'>{text}</script>"))
    return folder


IMPORT_MAP = '<script type="importmap">{"imports": {"shuffledp-client": "/shuffledp-client/src/index.js"}}</script>'
WAYS = {
    "esbuild": by_esbuild,
    "esbuild for browsers": lambda folder: by_esbuild(folder, "--platform=browser", "--minify"),
    "vite": by_vite,
    "the bundle": lambda folder: by_script(folder, "/shuffledp-client/dist/shuffledp-client.min.js"),
    "an import map": lambda folder: by_script(folder, "shuffledp-client", head=IMPORT_MAP),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_page_that_was_built_this_way_sends_a_report(way, application, chromium, asked, shuffler):
    built, task = WAYS[way](application), asked.task
    scripts = [path.read_text() for path in built.rglob("*.js")]
    assert not [text for text in scripts if re.search(r"""["'`]node:""", text)]
    package = application.parent / "node_modules" / "shuffledp-client"
    with pages(built, **{"shuffledp-client": package}) as address:
        page = chromium.new_context().new_page()
        said, loaded = [], []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: loaded.append(request.url.split("/")[2]))
        page.goto(f"{address}/index.html")
        found = page.evaluate("async (given) => window.answer(...given)", [task.to_json(), task.name, "dark"])
        page.context.close()
    assert found == ["sent", "sent", "undefined"]
    assert said == []
    assert set(loaded) == {address.split("/")[2], shuffler.address.split("/")[2]}
    (report,) = shuffler.bodies
    assert task.bin_of("dark") in opened(asked, report)


def test_esbuild_bundles_for_node_as_well(application, asked, shuffler, tmp_path):
    text = f"""
import {{ Client }} from "shuffledp-client";
Client.open({json.dumps(asked.task.to_json())}, {{ journal: process.argv[2] }})
  .then((client) => client.send("dark")).then(({{ state }}) => console.log(state));
"""
    (application / "program.js").write_text(text)
    flags = ("--bundle", "--platform=node", "--format=esm", "--outfile=program.mjs", "--log-level=warning")
    assert _silent(TOOLS / "esbuild", "program.js", *flags, folder=application) == ""
    assert program("node", "program.mjs", str(tmp_path / "journal"), folder=application) == "sent\n"
    assert [path.stem for path in (tmp_path / "journal").iterdir()] == [asked.task.name]
    assert len(shuffler.bodies) == 1


def test_the_tarball_has_what_programs_need_and_nothing_else(packed):
    with tarfile.open(packed) as archive:
        names = {name.removeprefix("package/") for name in archive.getnames()}
    sources = {path.relative_to(CLIENT).as_posix() for path in CLIENT.glob("src/**/*.js")}
    examples = {f"examples/answer.{kind}" for kind in ("html", "js", "mjs")}
    vendor = {"vendor/hpke.js", "vendor/hpke.LICENSE.md"}
    rest = {"package.json", "README.md", "LICENSE", "types/index.d.ts", "dist/shuffledp-client.min.js"}
    assert names == sources | examples | vendor | rest
    manifest = json.loads((CLIENT / "package.json").read_text())
    targets = re.findall(r'"\./([^"]+)"', json.dumps(list(manifest["exports"].values())))
    assert set(targets) < names
    assert packed.stat().st_size < MOST_PACKED_BYTES


def test_it_could_be_published(packed):
    """npm checks the manifest as it would before an upload, and has nothing to correct."""
    said = _silent("npm", "publish", "--dry-run", str(packed), folder=packed.parent)
    assert f"+ shuffledp-client@{shuffledp.__version__}" in said
    assert "auto-corrected" not in said


TYPED = """
import { AT_MOST, BudgetError, Client, IndexedDBJournal, UnreachableError, readTask } from "shuffledp-client";
import type { Journal, Options, Receipt, Task } from "shuffledp-client";
import { Client as Bundled } from "shuffledp-client/bundle";

export async function answer(text: string, pin: string, journal: Journal): Promise<Receipt | null> {
  const options: Options = { pin, atMost: [1, 1e-6], journal, budget: [3, 1e-5] };
  const task: Task = await readTask(text);
  try {
    return await (await Client.open(task, options)).send(["chess"]);
  } catch (error) {
    if (error instanceof UnreachableError && error.reason === "unavailable") return null;
    if (error instanceof BudgetError) return null;
    throw error;
  }
}
export const limit: number = AT_MOST[0];
export const same: typeof Client = Bundled;
export const browser: Journal = new IndexedDBJournal("name");
export const inNode: Promise<Client> = Client.open("", { journal: "folder" });
export const number: Promise<number> = Client.open(""); // wrong
export const misspelt = Client.open("", { Pin: "" }); // wrong
export const single: Options = { atMost: [1] }; // wrong
export const without = (client: Client) => client.send(); // wrong
export const unchecked = new Client(); // wrong
export const journal: Options = { journal: { read() {} } }; // wrong
export { FolderJournal } from "shuffledp-client"; // wrong
export * from "shuffledp-client/src/client.js"; // wrong
"""
OPTIONS = {"strict": True, "noEmit": True, "target": "es2022", "lib": ["es2022", "dom"], "types": []}


@pytest.mark.parametrize(
    "resolution",
    [
        {"module": "esnext", "moduleResolution": "bundler"},
        {"module": "esnext", "moduleResolution": "bundler", "customConditions": ["browser"]},
        {"module": "nodenext", "moduleResolution": "nodenext"},
    ],
    ids=["bundler", "browser", "nodenext"],
)
def test_programs_in_typescript_are_checked_against_its_types(resolution, installed):
    (installed / "program.ts").write_text(TYPED)
    options = {"compilerOptions": OPTIONS | resolution, "files": ["program.ts"]}
    (installed / "tsconfig.json").write_text(json.dumps(options))
    said = program(TOOLS / "tsc", folder=installed, fails=True)
    found = {int(line) for line in re.findall(r"^program\.ts\((\d+),", said, flags=re.MULTILINE)}
    wrong = {at for at, line in enumerate(TYPED.splitlines(), start=1) if line.endswith("// wrong")}
    assert found == wrong, said
    assert "node_modules" not in said


def _silent(*command, folder):
    """Run a program that must succeed; return what it says, also its warnings."""
    return program("sh", "-c", 'exec "$@" 2>&1', "sh", *map(str, command), folder=folder)
