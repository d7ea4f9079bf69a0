"""`shuffledp analyzer`: errors before the server starts. tests/collect tests the server itself."""

import pytest

from shuffledp import Ledger
from shuffledp.collect.crypto.keys import read_word, write_key, write_secret
from shuffledp.collect.server.auth import hash_of, new_token
from tests.cli.commands import command
from tests.collect.tasks import small_task


@pytest.mark.slow
@pytest.mark.parametrize("which", ["token", "other"])
def test_the_token_for_batches_differs_from_the_operator_token(tmp_path, which):
    """Several machines know the token for batches. With another operator token, the small ledger is refused."""
    kept = small_task()
    (tmp_path / "t.json").write_text(kept.task.to_json())
    write_key(kept.keys[-1], tmp_path / "a.key")
    for name in ("token", "other"):
        write_secret(tmp_path / name, new_token())
    Ledger.create(tmp_path / "small.ledger", epsilon=0.5, delta=1e-9, population="people")
    given = ["--task", "t.json", "--key", "a.key", "--store", "a.db", "--port", "0", "--ledger", "small.ledger"]
    operator = hash_of(read_word(tmp_path / which)).hex()
    result = command("analyzer", *given, "--token", "token", "--operator", operator, cwd=tmp_path)
    assert result.returncode == 2
    assert ("operator must be the hash of another token" in result.stderr) == (which == "token")
    assert ("exceeds the limit" in result.stderr) == (which == "other")
    assert len(result.stderr.splitlines()) == 1
