"""The protocol that docs/how-to/add-a-protocol.md adds in one file and one line keeps the contract of all protocols."""

import re
from pathlib import Path

import pytest

from shuffledp.paper import protocol_checks
from shuffledp.protocols import CATALOGUE, DummyHistogram, Entry
from shuffledp.release.compare import compare
from shuffledp.release.plan import plan
from shuffledp.release.private_histogram import private_histogram
from tests.protocols import test_contract

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "add-a-protocol.md"
NOT_OF_ONE = {
    "test_an_error_about_honest_people_names_them",
    "test_published_parameters_need_honest_users_only",
}
CONTRACT = {
    name: check for name, check in vars(test_contract).items() if name.startswith("test_") and name not in NOT_OF_ONE
}


@pytest.fixture
def added(monkeypatch):
    """The class of the page's first program, entered in the catalogue as the page says."""
    program = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)[0]
    page = {"__name__": "a_page"}
    exec(compile(program, str(PAGE), "exec"), page)
    monkeypatch.setitem(CATALOGUE, "clustered", Entry(title="ClusteredDummies", kind=page["ClusteredDummies"]))
    monkeypatch.setitem(__import__("sys").modules, "a_page", type("Page", (), page))  # so that it can be pickled
    return "clustered"


@pytest.mark.slow
@pytest.mark.parametrize("check", CONTRACT)
def test_it_keeps_the_contract(check, added):
    CONTRACT[check](added)


def test_every_command_knows_it(added):
    values = ["dark"] * 1200 + ["light"] * 700
    release = private_histogram(values, epsilon=1, delta=1e-6, domain=["dark", "light"], protocol=added)
    assert release.title == "ClusteredDummies"
    assert release.estimate["dark"] == pytest.approx(1200, abs=release.protocol.error(1e-6).simultaneous)
    (row,) = compare(users=[1900], bins=[2], epsilon=1, delta=1e-6, trials=2, protocols=[added])
    assert not row.problem
    assert added not in {row.name for row in plan(users=1900, bins=2, epsilon=1, delta=1e-6).rows}


def test_it_is_verified_once_there_is_something_to_compare_it_with(added, monkeypatch):
    assert protocol_checks.catalogue_check(added).problem == "no oracle"
    kind = CATALOGUE[added].kind
    monkeypatch.setitem(protocol_checks.ORACLES, kind, protocol_checks.ORACLES[DummyHistogram])
    assert protocol_checks.catalogue_check(added).holds


def test_advised_it_is_planned(added, monkeypatch):
    entry = CATALOGUE[added]
    monkeypatch.setitem(CATALOGUE, added, Entry(title=entry.title, kind=entry.kind, advised=True))
    assert added in {row.name for row in plan(users=1900, bins=2, epsilon=1, delta=1e-6).rows}
