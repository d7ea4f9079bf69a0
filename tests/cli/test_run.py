"""`shuffledp run`: output, files, bad input, interrupts."""

import json
import os
import re
import signal
import subprocess
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.cli.commands import GUARANTEE, REAL, command, real_command

SECRET = "top secret value"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a file of 3,000 people, two rows each: 1,500 with page a, 1,000 b, 400 missing, 100 [red]."""
    path = tmp_path_factory.mktemp("files")
    pages = ["a"] * 1500 + ["b"] * 1000 + [None] * 400 + ["[red]"] * 100
    pa.parquet.write_table(pa.table({"page": pages * 2, "who": list(range(3000)) * 2}), path / "people.parquet")
    (path / "pages.txt").write_text("a\nb\n[red]\nnever\n")
    (path / "header only.csv").write_text("page,who\n")
    (path / "damaged.csv").write_text(f"page\n{SECRET}\n{SECRET},1,2\n")
    (path / "empty.csv").write_text("")
    return path


def test_terminal_output(folder):
    result = command("run", "people.parquet", "--column", "page", "--user", "who", *GUARANTEE, cwd=folder)
    assert result.returncode == 0
    assert result.stderr == ""
    for needed in (
        "page of 3,000 people: 4 values shown",
        "95% interval",
        "█",
        "(missing)",
        "[red]",
        "Guarantee: (1, 1e-6)-differential privacy per person.",
        "95% confidence, all values at once: shown counts are within ±",
        "any value not shown is counted for at most",
        "Intervals cover these capped counts.",
        "Protocol: ",
    ):
        assert needed in result.stdout
    assert result.stdout.endswith("Details: --explain\n")
    assert len(result.stdout.split("shaded above", 1)[1].strip().splitlines()) <= 7
    assert "Rows without a person are left out" not in result.stdout
    assert "NOT PRIVATE" not in result.stdout
    assert max(map(len, result.stdout.splitlines()[1:10])) <= 80


def test_explain_prints_the_paragraphs(folder):
    result = command("run", "people.parquet", "--column", "page", *GUARANTEE, "--explain", cwd=folder)
    for needed in ("per row (each row counts as one person)", "Each row counts as one person", "exact distribution"):
        assert needed in result.stdout
    assert "Not protected: " in result.stdout
    assert "Details: --explain" not in result.stdout


@pytest.mark.slow
def test_json_and_evaluation(folder):
    result = command("run", "people.parquet", "--column", "page", *GUARANTEE, "--json", "--evaluate", cwd=folder)
    release = json.loads(result.stdout)
    assert release["people"] == 6000
    assert release["histogram"][0]["label"] == "a"
    assert release["not_private_evaluation"]["occupied"] == 4
    shown = command("run", "people.parquet", "--column", "page", *GUARANTEE, "--evaluate", cwd=folder)
    assert "NOT PRIVATE, do not publish" in shown.stdout
    assert "true" in shown.stdout


def test_files(folder, tmp_path):
    outputs = [tmp_path / f"result.{ending}" for ending in ("html", "csv", "parquet", "json")]
    flags = [part for path in outputs for part in ("--out", path)]
    result = command("run", "people.parquet", "--column", "page", *GUARANTEE, *flags, cwd=folder)
    assert result.returncode == 0
    assert result.stderr.count("wrote ") == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in outputs)
    page, csv, parquet, plain = outputs
    rows = json.loads(plain.read_text())["histogram"]
    assert pa.parquet.read_table(parquet).to_pylist()[0]["count"] == rows[0]["count"]
    assert csv.read_text().splitlines()[1].startswith(f"a,{rows[0]['count']}")
    assert any(line.startswith(",") for line in csv.read_text().splitlines())  # the missing value
    text = page.read_text()
    assert text.count('class="bar"') == len(rows)
    assert text.count("<svg") == text.count("</svg>") == len(rows) + 2  # a bar each, their scale, and the promise
    for needed in (
        "(1, 1e-6)-differential privacy",
        "(missing)",
        "[red]",
        "Not protected",
        "people with the same value",
    ):
        assert needed in text
    assert not re.search(r'(src|href)="?https?:|@import|<script|url\(http', text.replace("xlink:href", ""))


def test_an_output_that_is_given_twice_is_refused(folder, tmp_path):
    twice = ["--out", tmp_path / "d.html", "--out", tmp_path / ".." / tmp_path.name / "d.html"]
    result = command("run", "people.parquet", "--column", "page", *GUARANTEE, *twice, cwd=folder)
    assert result.returncode == 2
    assert "is given twice as an output" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_labels_cannot_smuggle_markup_into_the_page(tmp_path):
    label = '<script>alert("$x$")</script>'
    pa.parquet.write_table(pa.table({"<b>": [label] * 1000}), tmp_path / "people.parquet")
    result = command("run", "people.parquet", "--column", "<b>", *GUARANTEE, "--out", "page.html", cwd=tmp_path)
    assert result.returncode == 0
    text = (tmp_path / "page.html").read_text()
    assert "<script>" not in text
    assert "<h1><b>" not in text
    assert "&lt;script&gt;" in text


def test_messages_and_domain(folder):
    result = command(
        "run", "people.parquet", "--column", "page", *GUARANTEE, "--domain", "pages.txt", "--messages", "--json",
        "--protocol", "sparse", cwd=folder,
    )  # fmt: skip
    release = json.loads(result.stdout)
    assert release["bins"] == 5
    assert release["messages"] > 6000
    assert "never" not in {row["label"] for row in release["histogram"]}


def test_a_domain_may_be_a_table(folder, tmp_path):
    pa.parquet.write_table(pa.table({"page": ["a", "b", "[red]"]}), tmp_path / "pages.parquet")
    arguments = ["people.parquet", "--column", "page", *GUARANTEE, "--domain", tmp_path / "pages.parquet", "--json"]
    assert json.loads(command("run", *arguments, cwd=folder).stdout)["bins"] == 4


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (["people.parquet", "--column", "pages", *GUARANTEE], 3, "there is no column 'pages': there are page, who"),
        (["people.parquet", "--column", "page", "--user", "whom", *GUARANTEE], 3, "there is no column 'whom'"),
        (["nobody.parquet", "--column", "page", *GUARANTEE], 3, "there is no file nobody.parquet"),
        (["nobody*.parquet", "--column", "page", *GUARANTEE], 3, "no file with content matches"),
        (["empty.csv", "--column", "page", *GUARANTEE], 3, "empty.csv is empty"),
        (["header only.csv", "--column", "page", *GUARANTEE], 3, "data must have at least one row, got none"),
        (["damaged.csv", "--column", "page", *GUARANTEE], 3, "cannot be read as csv"),
        (["people.parquet", "--column", "page", "--epsilon", "0", "--delta", "1e-6"], 2, "epsilon must be above 0"),
        (["people.parquet", "--column", "page", "--epsilon", "x", "--delta", "1e-6"], 2, "epsilon"),
        (["people.parquet", "--column", "page", "--epsilon", "1", "--delta", "0"], 2, "delta must lie"),
        (["people.parquet", "--column", "page", "--epsilon", "1"], 2, "delta"),
        (["people.parquet", *GUARANTEE], 2, "column"),
        (["people.parquet", "--column", "page", "--epsilon", "0.01", "--delta", "1e-9", "--protocol", "hist"], 2,
         "needs at least"),
        (["people.parquet", "--column", "page", *GUARANTEE, "--out", "/nowhere/report.html"], 3, "cannot write"),
        (["people.parquet", "--column", "page", *GUARANTEE, "--out", "report.pdf"], 2, "must end in"),
        (["people.parquet", "--column", "page", *GUARANTEE, "--domain", "none.txt"], 3, "cannot read the domain"),
        (["people.parquet", "--column", "page", *GUARANTEE, "--domain", "pages.txt", "--seed", "1"], 2, "--seed"),
        (["people.parquet", "--column", "page", *GUARANTEE, "--domain", "people.parquet"], 2, "publicly known"),
        (["people.parquet", "--column", "page", *GUARANTEE, "--out", "people.parquet"], 2, "same file as an input"),
        (["people.parquet", "--column", "page", *GUARANTEE, "--messages"], 2, "needs a domain"),
        (["people.parquet", "--column", "page", *GUARANTEE, "--estimator", "unbiased"], 2, "give the domain"),
        (["people.parquet", "--column", "page", *GUARANTEE, "--engine", "flink"], 2, "local or spark"),
        (["people.parquet", "--column", "page", *GUARANTEE, "--top", "0"], 2, "top"),
    ],
)  # fmt: skip
def test_bad_input_is_one_clear_line(folder, arguments, code, reason):
    result = command("run", *arguments, cwd=folder)
    assert result.returncode == code
    assert reason in result.stderr
    assert "Traceback" not in result.stderr
    assert SECRET not in result.stderr
    assert result.stdout == ""
    if result.stderr.startswith("shuffledp run:"):
        assert result.stderr.count("\n") == 1


def test_a_value_outside_the_domain_is_refused_without_a_count(folder, tmp_path):
    (tmp_path / "some.txt").write_text("a\n")
    result = command(
        "run", "people.parquet", "--column", "page", *GUARANTEE, "--domain", tmp_path / "some.txt", cwd=folder
    )
    assert result.returncode == 3
    assert "not in the domain" in result.stderr
    assert not re.search(r"\d", result.stderr)


@pytest.mark.slow
def test_a_large_delta_is_a_warning(folder):
    result = command("run", "people.parquet", "--column", "page", "--epsilon", "1", "--delta", "0.01", cwd=folder)
    assert result.returncode == 0
    assert result.stderr.startswith("warning: delta=0.01 is larger than 1 / people")


@pytest.mark.slow
def test_outputs_are_written_despite_a_broken_pipe(folder, tmp_path):
    asked = ["run people.parquet --column page", *GUARANTEE, "--force --out", str(tmp_path / "r.json")]
    shell = " ".join([*REAL, *asked])
    for more in ("", "--json"):
        gone = ["bash", "-c", f"{shell} {more} | true; exit ${{PIPESTATUS[0]}}"]
        left = subprocess.run(gone, cwd=folder, capture_output=True, check=False)
        assert (left.returncode, left.stderr) == (141, b"")
        assert (tmp_path / "r.json").exists()
        (tmp_path / "r.json").unlink()
    full = subprocess.run(f"{shell} --json > /dev/full", shell=True, cwd=folder, capture_output=True, check=False)
    assert full.returncode == 3
    assert b"cannot write to stdout" in full.stderr
    assert b"Traceback" not in full.stderr
    closed = subprocess.run(f"{shell} 2>&-", shell=True, cwd=folder, capture_output=True, check=False)
    assert b"page of 6,000 people" in closed.stdout


def test_a_page_without_any_reported_value(tmp_path):
    (tmp_path / "rare.csv").write_text("v\n" + "\n".join(map(str, range(3000))) + "\n")
    result = command("run", "rare.csv", "--column", "v", *GUARANTEE, "--out", "none.html", cwd=tmp_path)
    assert result.returncode == 0
    assert "No value is frequent enough" in result.stdout
    assert "No value is frequent enough" in (tmp_path / "none.html").read_text()


@pytest.mark.slow
def test_labels_of_any_script(tmp_path):
    family = "\U0001f469\u200d\U0001f467"
    (tmp_path / "pages.csv").write_text("v\n" + f"北京\n{family}\n" * 1000, encoding="utf-8")
    result = command("run", "pages.csv", "--column", "v", *GUARANTEE, "--out", "page.html", cwd=tmp_path)
    assert result.stderr == "wrote page.html\n"
    assert "北京" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert family in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_domain_with_a_byte_order_mark_and_windows_lines(folder, tmp_path):
    (tmp_path / "pages.txt").write_bytes(b"\xef\xbb\xbfa\r\nb\r\n[red]\r\n")
    result = command(
        "run", "people.parquet", "--column", "page", *GUARANTEE, "--domain", tmp_path / "pages.txt", cwd=folder
    )
    assert result.returncode == 0


def test_an_output_that_exists_survives_a_failed_run(folder, tmp_path):
    (tmp_path / "report.html").write_text("before")
    result = command(
        "run", "damaged.csv", "--column", "page", *GUARANTEE, "--out", tmp_path / "report.html", "--force", cwd=folder
    )
    assert result.returncode == 3
    assert (tmp_path / "report.html").read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize("others", [[], ["--out", "new.csv"]])
def test_an_earlier_release_is_not_overwritten_without_force(folder, tmp_path, others, monkeypatch):
    """Refused before data is read or noise is sampled, because each release costs privacy."""
    for name in ("people.parquet", "report.html"):
        (tmp_path / name).write_bytes(b"before" if name == "report.html" else (folder / name).read_bytes())
    asked = ["run", "people.parquet", "--column", "page", *GUARANTEE, "--out", "report.html", *others]
    with monkeypatch.context() as nothing_is_done:
        nothing_is_done.setattr("shuffledp.release.private_histogram.private_histogram", None)
        result = command(*asked, cwd=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert "report.html already exists: use another name, or --force to overwrite" in result.stderr
    assert (tmp_path / "report.html").read_bytes() == b"before"
    assert not (tmp_path / "new.csv").exists()
    assert command(*asked, "--force", cwd=tmp_path).returncode == 0
    assert (tmp_path / "report.html").read_bytes() != b"before"


@pytest.mark.parametrize(("wrong", "meant"), [("histt", "hist"), ("sparse_best", "sparse-best"), ("dumy", "dummy")])
def test_a_misspelt_protocol_is_guessed(folder, wrong, meant):
    result = command("run", "people.parquet", "--column", "page", *GUARANTEE, "--protocol", wrong, cwd=folder)
    assert result.returncode == 2
    assert result.stderr.endswith(f"got '{wrong}': did you mean {meant}?\n")


@pytest.fixture(scope="module")
def many_people(tmp_path_factory):
    """Write enough rows to have time for an interrupt."""
    path = tmp_path_factory.mktemp("many") / "people.parquet"
    values = np.random.default_rng(0).integers(0, 10**7, 10**7)
    pa.parquet.write_table(pa.table({"value": values}), path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_leaves_no_half_written_file(tmp_path, many_people, kind):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    process = subprocess.Popen(
        [*REAL, "run", str(many_people), "--column", "value", *GUARANTEE, "--out", "report.html"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(scratch)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not any(scratch.glob("shuffledp-*")):  # it has begun to read
        time.sleep(0.01)
        assert process.poll() is None
    process.send_signal(kind)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.strip() == "interrupted"
    assert output == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["scratch"]
    assert list(scratch.iterdir()) == []


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_on_spark(folder):
    spark = ["--engine", "spark", "--master", "local[2]"]
    result = real_command(
        "run", "people.parquet", "--column", "page", "--user", "who", *GUARANTEE, *spark, "--json", cwd=folder
    )
    assert result.returncode == 0
    assert result.stderr == ""
    release = json.loads(result.stdout)
    assert release["people"] == 3000
    assert {row["label"] for row in release["histogram"]} == {"a", "b", None, "[red]"}


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_on_spark_errors_are_one_line_too(folder):
    path = folder / "damaged.csv"  # a session that runs already, of other tests, has a working folder of its own
    result = command("run", path, "--column", "page", *GUARANTEE, "--engine", "spark")
    assert result.returncode == 3
    assert result.stderr.startswith(f"shuffledp run: {path} cannot be read as csv")
    assert SECRET not in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.slow
def test_a_curator_is_asked_for_by_name(folder):
    asked = ["run", "people.parquet", "--column", "page", "--user", "who", *GUARANTEE, "--json"]
    usual, curated = (json.loads(command(*asked, *more, cwd=folder).stdout) for more in ([], ["--trust", "curator"]))
    assert curated["protocol"] == "stability-based [BNS16]"
    assert usual["curator_error"] == curated["error"] < usual["error"]
    assert curated["curator_error"] is None
    named = command(*asked, "--trust", "curator", "--protocol", "laplace", "--domain", "pages.txt", cwd=folder)
    assert json.loads(named.stdout)["protocol"] == "discrete Laplace [DMNS06]"
    shown = command(*asked[:-1], cwd=folder).stdout
    message = (
        "`--trust curator` gives the same guarantee with a smaller planned error "
        f"({round(curated['error'])} instead of {round(usual['error'])} people)"
    )
    assert message in " ".join(shown.split())


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (["--messages", "--domain", "pages.txt"], "messages must be False with trust='curator'"),
        (["--protocol", "hist"], "with trust=curator there are stability and laplace"),
        (["--trust", "nobody"], "trust must be one of shuffler, curator; got 'nobody'"),
    ],
)
def test_what_a_curator_cannot_do_is_one_clear_error(folder, more, reason):
    asked = ["run", "people.parquet", "--column", "page", *GUARANTEE, "--trust", "curator", *more]
    result = command(*asked, cwd=folder)
    assert result.returncode == 2
    assert reason in result.stderr


def test_an_interval_below_zero_can_be_read(folder):
    """The interval of an unbiased estimate: a dash would look like a subtraction."""
    more = ["--domain", "pages.txt", "--other", "--protocol", "dummy", "--user", "who"]
    out = command("run", "people.parquet", "--column", "page", *more, *GUARANTEE, cwd=folder).stdout
    rows = [line for line in out.splitlines() if line.startswith("│")]
    assert len(rows) == 6
    assert all(re.search(r"│ +-?[\d,]+ to -?[\d,]+ │", line) for line in rows)
