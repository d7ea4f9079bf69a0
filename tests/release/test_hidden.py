"""Blocked words are counted but not shown."""

import numpy as np
import pytest

from shuffledp import private_histogram
from shuffledp.errors import DataError, ParameterError
from shuffledp.histogram.labels import HIDDEN
from shuffledp.protocols import SparseHistogram
from shuffledp.release.free_text import NOTE, Blocklist, _together, hide
from shuffledp.release.release import Release

WORDS = {"badword": 4000, "so BadWord!": 3000, "bad": 2500, "fine": 2000, "scunthorpe": 1500}


@pytest.fixture(scope="module")
def release():
    data = [word for word, number in WORDS.items() for _ in range(number)]
    return private_histogram(data, epsilon=1.0, delta=1e-6)


@pytest.mark.parametrize(
    ("entry", "label", "hides"),
    [
        ("badword", "badword", True),
        ("badword", "My BADWORD.", True),
        ("badword", "bad word", False),
        ("BadWord", "badword", True),
        ("badword", "\uff42adword", True),  # a full-width letter
        ("badword", "bad\u00adwo\u200brd", True),  # a soft hyphen and a zero-width space
        ("bad\u00adword", "badword", True),
        ("\u200b", "a\u200b", False),  # an empty entry
        ("stra\u00dfe", "STRASSE", True),
        ("=cunt", "scunthorpe", False),
        ("=cunt", "Cunt", True),
        ("= cunt", "cunt", True),
        ("  badword  ", "badword", True),
        ("", "anything", False),
        ("=", "anything", False),
        ("=", "=", False),
        ("1", 1, False),
        ("x", None, False),
        ("x", ("a", "x"), True),
        (".*", "badword", False),
    ],
)
def test_an_entry_is_a_part_of_the_text_in_any_case(entry, label, hides):
    assert Blocklist.of([entry]).hides(label) == hides


def test_hidden_texts_are_one_row_with_the_sum_of_their_counts(release):
    shown = hide(release, Blocklist.of(["badword", "=bad"]))
    assert set(shown) == {"fine", "scunthorpe", HIDDEN}
    parts = [label for label in WORDS if label.startswith("bad") or "BadWord" in label]
    assert shown[HIDDEN] == pytest.approx(sum(release[label] for label in parts))
    assert shown.interval(HIDDEN) == tuple(map(sum, zip(*(release.interval(label) for label in parts), strict=True)))
    assert shown.interval(HIDDEN, simultaneous=False) == shown.interval(HIDDEN)
    low, high = shown.interval(HIDDEN)
    assert low <= 9500 <= high
    for label in ("fine", "scunthorpe"):
        assert shown[label] == release[label]
        assert shown.interval(label) == release.interval(label)
    assert shown.estimate.values_shown == 2
    assert shown.notes[-1] == NOTE
    assert shown.privacy.guarantee == release.privacy.guarantee


def test_no_bound_is_stated_for_hidden_texts(release):
    hidden = hide(release, Blocklist.of(["badword"]))
    assert "any value not shown has at most" in release.explain()
    assert "any value neither shown nor hidden has at most" in hidden.explain()
    assert "A value that is not shown is held by at most" in release.to_html()
    assert "A value that is neither shown nor hidden is held by at most" in hidden.to_html()


def test_nothing_that_is_written_has_a_blocked_word(release, tmp_path):
    shown = hide(release, Blocklist.of(["BADWORD"]))
    texts = [str(shown), repr(shown), shown.explain(), shown.to_json(), shown.to_csv(), shown.to_html()]
    texts += [shown._repr_html_(), str(shown.to_pandas()), str(shown.to_arrow().to_pydict()), str(shown.asked)]
    texts += [shown.save(tmp_path / "shown.parquet").read_bytes().decode(errors="replace")]
    for text in texts:
        assert "badword" not in text.lower()
    assert all("fine" in texts[at] for at in (0, 3, 4, 5, 6, 7, 8, 10))
    assert "badword" in release.to_json()
    again = Release.from_json(shown.to_json())
    assert again.to_json() == shown.to_json()
    assert again[HIDDEN] == shown[HIDDEN]


def test_a_longer_blocklist_can_be_used_later(release):
    once = hide(release, Blocklist.of(["badword", "fine"]))
    stored = Release.from_json(hide(release, Blocklist.of(["badword"])).to_json())
    later = hide(stored, Blocklist.of(["badword", "fine"]))
    assert set(later) == set(once)
    assert later.interval(HIDDEN) == once.interval(HIDDEN)
    assert later.notes.count(NOTE) == 1
    assert hide(later, Blocklist.of(["badword", "fine"])) is later
    assert hide(release, Blocklist.of(["nothing like it"])) is release
    assert hide(release, None) is release


def test_a_public_list_is_not_hidden():
    listed = private_histogram(["badword", "fine"] * 2000, epsilon=1.0, delta=1e-6, domain=["badword", "fine"])
    assert listed.estimate.reports_all
    assert hide(listed, Blocklist.of(["badword"])) is listed


@pytest.mark.slow
def test_the_sum_of_intervals_holds_with_all_others():
    """In 300 releases the interval of the hidden row fails no more often than 1 - beta allows.

    The false failure rate is below 1e-6: with a failure probability of 0.2, more than 95 failures have one of 1e-7.
    """
    protocol = SparseHistogram.calibrate(users=3000, bins=2**20, epsilon=1.0, delta=1e-6)
    rng, failures = np.random.default_rng(3), 0
    for _ in range(300):
        tally = protocol.sample_tally({1: 1000, 2: 900, 3: 600, 4: 500}, rng=rng)
        estimate = protocol.estimate(tally, beta=0.2, reports=3000)
        merged = _together(estimate, np.isin(estimate.labels, [1, 2, 3]))
        low, high = merged.interval(HIDDEN)
        failures += not (low <= 2500 <= high and estimate.interval(4)[0] <= 500 <= estimate.interval(4)[1])
    assert failures <= 95


def test_an_evaluation_is_refused():
    evaluated = private_histogram(["a", "b", "c"] * 700, epsilon=1.0, delta=1e-6, evaluate=True)
    with pytest.raises(ParameterError, match="blocklist must be left out"):
        hide(evaluated, Blocklist.of(["a"]))


@pytest.mark.slow
def test_bad_files_are_one_clear_error(tmp_path):
    path = tmp_path / "blocked.txt"
    with pytest.raises(DataError, match=r"blocked\.txt cannot be read"):
        Blocklist.read(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="must be UTF-8 text"):
        Blocklist.read(path)
    path.write_text("\ufeffbadword\r\n\r\n=whole\n", encoding="utf-8")
    assert Blocklist.read(path) == Blocklist(("badword",), frozenset({"whole"}))
    path.write_text("\n".join(map(str, range(100_001))))
    with pytest.raises(ParameterError, match="at most 100,000 entries"):
        Blocklist.read(path)
