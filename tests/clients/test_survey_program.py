"""The program of the survey page: committed files, which are what the sources give, and small."""

import gzip
import json
import re

import pytest

from shuffledp.collect.web import survey
from tests.clients.scripts import CLIENT, program
from tests.collect.test_wire_format import PAGE as WIRE_FORMAT
from tests.node import node_path

MOST_BYTES = 30_000
"""Of the program as browsers fetch it (gzip)."""

MOST_PART_BYTES = 3_000
"""Of each part of it that only some tasks need."""

MOST_PARTS_BYTES = 5_000
"""Of all parts of the task that needs the most: a round of a series that asks for a text."""

MOST_STYLE_BYTES = 5_000


@pytest.mark.slow
def test_the_committed_program_is_what_the_sources_give():
    program("npm", "run", "--silent", "survey", "--", "--check")


_PAUSES = """
const asked = %s;
const words = JSON.stringify({ next_try: "", trying: "" });
globalThis.document = {
  documentElement: { lang: "en" },
  getElementById: () => ({ content: { textContent: words } }),
};
const { Retrying } = await import(asked.module);
const found = [];
globalThis.setTimeout = (_, pause) => found.push(pause);
for (const share of [0, 1]) {
  Math.random = () => share;
  const retrying = new Retrying(() => {}, () => {});
  for (let failure = 0; failure < asked.failures; failure += 1) retrying.later();
}
process.stdout.write(JSON.stringify(found));
"""


def test_the_survey_page_waits_as_the_wire_format_says():
    text = " ".join(WIRE_FORMAT.read_text().split())
    (rule,) = re.findall(
        r"wait (\d+) seconds, and after each further one twice as long, up to (\d+) seconds\. "
        r"Multiply each pause by a random factor from ([\d.]+) to ([\d.]+),",
        text,
    )
    first, longest, smallest, largest = map(float, rule)
    failures = 8
    module = (CLIENT / "survey" / "retrying.js").as_uri()
    given = json.dumps({"module": module, "failures": failures})
    found = json.loads(program(node_path(), "--input-type=module", "-e", _PAUSES % given))
    pauses = [1000 * min(first * 2**at, longest) for at in range(failures)]
    assert pauses[-1] == 1000 * longest
    assert found == [share * pause for share in (smallest, largest) for pause in pauses]


_PLURALS = """
const words = JSON.stringify({ missing: { one: "one: {number}", other: "other: {number}" } });
globalThis.document = { documentElement: { lang: "%s" }, getElementById: () => ({ content: { textContent: words } }) };
const { t } = await import("%s");
process.stdout.write([1, 2, 5, 1000000].map((number) => t("missing", { number }).split(":")[0]).join(" "));
"""


_FIGURES = """
globalThis.document = { documentElement: { lang: "%s" }, getElementById: () => ({ content: { textContent: "{}" } }) };
const { marked } = await import("%s");
process.stdout.write(marked("delta 0.00001 at epsilon 1.5. Then 9.99e-07."));
"""


@pytest.mark.parametrize(
    ("language", "shown"),
    [("en", "delta 0.00001 at epsilon 1.5. Then 9.99e-07."), ("de", "delta 0,00001 at epsilon 1,5. Then 9,99e-07.")],
)
def test_figures_have_the_decimal_mark_of_the_page(language, shown):
    code = _FIGURES % (language, (CLIENT / "survey" / "words.js").as_uri())
    assert program(node_path(), "--input-type=module", "-e", code) == shown


@pytest.mark.parametrize("language", ["en", "fr", "pl"])
def test_a_language_with_more_plural_forms_has_a_text_for_every_number(language):
    """Polish has its own forms for 2 and 5, and French one for a million; catalogues have two forms."""
    code = _PLURALS % (language, (CLIENT / "survey" / "words.js").as_uri())
    assert program(node_path(), "--input-type=module", "-e", code) == "one other other other"


def test_a_page_loads_one_small_program_and_one_style_sheet():
    files = {name: len(gzip.compress(content)) for name, (_, content) in survey._assets().files.items()}
    parts = {f"/page/{name}" for name in survey._PARTS.values()}
    assert set(files) == {"/page/survey.js", "/page/survey.css", "/page/survey.svg", "/page/licence.txt", *parts}
    assert files["/page/survey.js"] < MOST_BYTES
    assert max(files[part] for part in parts) < MOST_PART_BYTES
    assert sum(files[f"/page/{survey._PARTS[each]}"] for each in ("text", "hashed", "series")) < MOST_PARTS_BYTES
    assert sum(files[f"/page/{survey._PARTS[each]}"] for each in ("numbers", "series")) < MOST_PARTS_BYTES
    assert files["/page/survey.css"] < MOST_STYLE_BYTES
