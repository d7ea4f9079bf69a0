"""All commands: help, examples, exit codes of the entry point, and start time."""

import itertools
import json
import re
import shlex
import subprocess
import sys

import pytest

import shuffledp
from shuffledp import __version__, private_histogram
from shuffledp import collect as collection
from shuffledp.cli.app import COLLECTION, COMMANDS, CommandGroup, app
from shuffledp.cli.options import with_names
from shuffledp.protocols import CATALOGUE
from tests.cli.commands import GUARANTEE, command, real_command

ALL = {**COMMANDS, **COLLECTION}
GROUPS = {name: group for name, group in ALL.items() if isinstance(group, CommandGroup)}
MODULES = {name: module for name, module in ALL.items() if name not in GROUPS}
SUBCOMMANDS = [
    (group, name)
    for group, module in GROUPS.items()
    for name, inside in module.commands.items()
    if not isinstance(inside, CommandGroup)
]
QUICKER = {"compare": ["--protocols", "hist", "--trials", "2"], "simulate": ["--trials", "3"],
           "separate": ["--h", "2"]}  # fmt: skip
NEED_SERVERS = {"analyzer", "count", "crowd", "health", "mix", "send", "shuffler", "up"}
"""Their examples are run with servers, in tests/collection."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("examples")
    (path / "people.csv").write_text("theme\n" + "dark\n" * 1200 + "light\n" * 700 + "system\n" * 100)
    themes = {"column": "theme", "domain": ["dark", "light", "system"], "protocol": "hashed"}
    private_histogram(path / "people.csv", epsilon=1, delta=1e-6, **themes).save(path / "release.json")
    for month in ("january", "february", "march"):
        private_histogram(path / "people.csv", epsilon=1, delta=1e-6, **themes).save(path / f"{month}.json")
    return path


def words(text):
    """Return the words of a help text, without boxes."""
    return re.sub(r"[│╭╮╰╯─,.]", " ", text).split()


def assert_has_example(shown, example):
    """Every line of the example is unbroken, so that it can be copied."""
    assert set(example.splitlines()) <= {line.strip() for line in shown.splitlines()}


@pytest.mark.slow
def test_the_real_command_knows_its_version_and_its_name():
    assert real_command("--version").stdout.strip() == __version__
    assert "Usage: shuffledp [OPTIONS] COMMAND" in real_command("--help").stdout


def test_version_and_help():
    assert command("--version").stdout.strip() == __version__
    assert "demo" in command("--help").stdout
    assert command("-h").stdout == command("--help").stdout
    assert set(MODULES) <= set(words(command("-h").stdout))
    assert {registered.name for registered in app.registered_commands} == set(MODULES)
    assert {registered.name for registered in app.registered_groups} == set(GROUPS)


def test_help_lists_commands_in_order_with_a_panel_for_collections():
    shown = command("--help").stdout
    first = [line.split()[1] for line in shown.splitlines() if re.match(r"│ [a-z]", line)]
    assert first == list(ALL)
    assert shown.index(" verify ") < shown.index("─ Collections") < shown.index(" up ")


@pytest.mark.parametrize("name", MODULES)
def test_help_of_a_command(name):
    shown = command(name, "--help")
    assert shown.returncode == 0
    assert command(name, "-h").stdout == shown.stdout
    assert_has_example(shown.stdout, MODULES[name][1])
    assert not re.search(r"<\w+|FLOAT|INTEGER|TEXT|\{[a-z]\w*\}", shown.stdout)
    assert max(map(len, shown.stdout.splitlines())) <= 80


SERIES_COMMANDS = [("task", "series", name) for name in GROUPS["task"].commands["series"].commands]


@pytest.mark.parametrize("name", [*((name,) for name in MODULES), *SUBCOMMANDS, *SERIES_COMMANDS], ids=" ".join)
def test_no_line_of_a_help_breaks_before_it_is_full(name):
    """The next word of a paragraph would not have fitted in the line."""
    _, _, shown = command(*name, "--help").stdout.partition("Usage: ")
    text, _, _ = shown.partition("╭")
    lines = [line.strip() for line in text.splitlines()[1:]]
    for line, following in itertools.pairwise(lines):
        if line and following:
            assert len(line) + 1 + len(following.split()[0]) > 78, line


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in MODULES if name not in NEED_SERVERS])
def test_the_example_of_a_command_works(name, folder):
    program, *arguments = shlex.split(MODULES[name][1])
    assert (program, arguments[0]) == ("shuffledp", name)
    result = command(*arguments, *QUICKER.get(name, []), cwd=folder)
    assert result.returncode == 0, result.stderr
    assert result.stdout


@pytest.mark.parametrize("group", GROUPS)
def test_help_of_a_group(group):
    shown = command(group, "--help")
    assert shown.returncode == 0
    assert command(group, "-h").stdout == shown.stdout
    assert set(GROUPS[group].commands) <= set(words(shown.stdout))


@pytest.mark.parametrize(("group", "name"), SUBCOMMANDS)
def test_help_of_a_command_in_a_group(group, name):
    shown = command(group, name, "--help")
    assert shown.returncode == 0
    assert command(group, name, "-h").stdout == shown.stdout
    assert_has_example(shown.stdout, GROUPS[group].commands[name][1])
    assert not re.search(r"<\w+|FLOAT|INTEGER|TEXT|\{[a-z]\w*\}", shown.stdout)
    assert max(map(len, shown.stdout.splitlines())) <= 80


@pytest.mark.slow
def test_the_examples_of_keys_and_tasks_work_one_after_another(tmp_path):
    (tmp_path / "themes.txt").write_text("dark\nlight\nsystem\n")
    assert command("keys", "new", "--out", "analyzer.key", cwd=tmp_path).returncode == 0
    ordered = [("keys", "new"), ("keys", "token"), ("keys", "tokens"),
               ("task", "new"), ("task", "show"), ("task", "check"), ("keys", "destroy")]  # fmt: skip
    elsewhere = {("deploy", "init"), ("deploy", "join"), ("keys", "link")}  # in the tests of their own
    operators = {("task", name) for name in ("add", "list", "close", "remove", "tokens")}  # in test_administer.py
    assert set(ordered) == set(SUBCOMMANDS) - elsewhere - operators
    for group, name in ordered:
        program, *arguments = shlex.split(GROUPS[group].commands[name][1].replace("\\\n", " "))
        assert (program, *arguments[:2]) == ("shuffledp", group, name)
        result = command(*arguments, cwd=tmp_path)
        assert result.returncode == 0, result.stderr


def test_a_missing_library_of_collections_names_the_extra(monkeypatch, tmp_path):
    monkeypatch.setattr(shuffledp, "collect", collection)  # so that other tests find it again as it was
    for name in [name for name in sys.modules if name.startswith("shuffledp.collect")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "msgspec", None)
    result = command("task", "show", tmp_path / "t.json")
    assert result == (
        1,
        "",
        "shuffledp task show: this needs msgspec: install it with  pip install 'shuffledp[collect]'\n",
    )


@pytest.mark.slow
def test_help_names_the_protocols():
    for name in ("run", "simulate", "compare"):
        assert "`shuffledp protocols` lists all" in " ".join(words(command(name, "-h").stdout))
    assert {name for name, entry in CATALOGUE.items() if entry.advised} <= set(words(command("run", "-h").stdout))
    assert with_names("nothing to look up") == "nothing to look up"


@pytest.mark.slow
def test_help_loads_no_large_library():
    program = """
import json, sys
from shuffledp.cli import main
sys.argv = ["shuffledp", *sys.argv[1:]]
try:
    main()
finally:
    print(json.dumps([name for name in ("matplotlib", "duckdb", "pyarrow", "scipy") if name in sys.modules]))
"""
    for arguments in (["--help"], ["run", "--help"]):
        result = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
        assert "Usage: shuffledp" in result.stdout
        assert json.loads(result.stdout.splitlines()[-1]) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (["run", "nobody.csv", "--column", "v", *GUARANTEE], 3, "shuffledp run: there is no file nobody.csv\n"),
        (["plan", "--users", "0", "--bins", "2", *GUARANTEE], 2, "shuffledp plan: users must be at least 1, got 0\n"),
    ],
)
def test_exit_codes_of_the_real_command(arguments, code, reason, tmp_path):
    assert real_command(*arguments, cwd=tmp_path) == (code, "", reason)


def test_without_typer_the_install_command_is_named():
    program = "import sys; sys.modules['typer'] = None; from shuffledp.cli import main; main()"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "pip install 'shuffledp[cli]'" in result.stderr


@pytest.mark.slow
def test_a_missing_library_has_an_exit_code(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = command("plan", "--users", "1000", "--bins", "5", *GUARANTEE, "--figure", tmp_path / "plan.svg")
    assert result.returncode == 1
    assert "shuffledp[plot]" in result.stderr


def test_an_interrupt_has_an_exit_code(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("shuffledp.release.plan.plan", interrupted)
    assert command("plan", "--users", "1000", "--bins", "5", *GUARANTEE) == (130, "", "interrupted\n")


def test_only_an_error_without_a_file_is_about_stdout(monkeypatch):
    def fails(*_, **__):
        raise FileNotFoundError(2, "No such file or directory", "/gone/plan.txt")

    monkeypatch.setattr("shuffledp.release.plan.plan", fails)
    result = command("plan", "--users", "1000", "--bins", "5", *GUARANTEE)
    assert result == (3, "", "shuffledp plan: cannot use /gone/plan.txt: No such file or directory\n")


def test_an_interrupt_while_typer_imports_its_libraries(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("typer.core.TyperGroup.parse_args", interrupted)
    assert command("protocols") == (130, "", "interrupted\n")


AFTER_SIGNALS = {
    "not caught": "",
    "library taken for missing": "raise shuffledp.errors.MissingExtraError('duckdb', extra='files')",
    "import failed": "raise ImportError('numpy.core.multiarray failed to import')",
}
"""What imports in C raise instead of KeyboardInterrupt."""


@pytest.mark.slow
@pytest.mark.parametrize("error", AFTER_SIGNALS.values(), ids=AFTER_SIGNALS)
@pytest.mark.parametrize("kind", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_signals_end_the_real_command_like_an_interrupt(kind, error, tmp_path):
    program = f"""
import signal, sys, shuffledp.cli, shuffledp.errors, shuffledp.release.plan
def interrupted(*_, **__):
    try:
        signal.raise_signal(signal.{kind})
    except KeyboardInterrupt:
        {error or "raise"}
shuffledp.release.plan.plan = interrupted
sys.argv = ["shuffledp", "plan", "--users", "1000", "--bins", "5", *{GUARANTEE}]
shuffledp.cli.main()
"""
    (tmp_path / "program.py").write_text(program)
    words = [sys.executable, "-m", "program"]
    result = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "interrupted\n")
