"""A real PostgreSQL for the tests that ask for one. Imported in one place, since each would start one of its own."""

import pytest

from shuffledp.collect.server.observability import LIMIT
from tests.collect.databases import empty_postgres, postgres_database, postgres_server, postgres_url

__all__ = ["empty_postgres", "postgres_database", "postgres_server", "postgres_url"]


@pytest.fixture(autouse=True)
def _no_lines_of_earlier_tests():
    """Log lines are limited per minute; each test starts anew."""
    LIMIT.reset()
