"""Series in the JavaScript client: the checks of their vectors fail if an expectation is wrong."""

import json
import shutil

import pytest

from tests.clients.running import VECTORS, failed, in_node


@pytest.mark.slow
def test_a_wrong_expectation_fails(tmp_path):
    """The negative control: with a few wrong expectations, exactly those checks fail."""
    folder = tmp_path / "vectors"
    shutil.copytree(VECTORS, folder)
    vectors = json.loads((folder / "series.json").read_text(encoding="utf-8"))
    valid = {vector["name"]: vector for vector in vectors["valid"]}
    corrupted = {vector["name"]: vector for vector in vectors["corrupted"]}
    valid["weeks"]["tasks"][2]["id"] = valid["weeks"]["tasks"][1]["id"]
    valid["hist"]["open_round_at"][3]["round"] -= 1
    valid["texts"]["limits"][0]["allowed"] ^= True
    corrupted["one-round-more"]["content"] = (VECTORS / "series" / "weeks.json").read_text(encoding="utf-8")
    corrupted["a-period-of-nothing"]["says"] = "something else"
    (folder / "series.json").write_text(json.dumps(vectors), encoding="utf-8")
    wrong = {"weeks", "hist", "limits of texts", "one-round-more", "a-period-of-nothing"}
    assert set(failed(in_node("series.js", folder))) == {f"series.json: {name}" for name in wrong}
