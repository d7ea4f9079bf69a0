"""A real PostgreSQL for the tests that ask for one. Imported in one place, since each would start one of its own."""

from tests.collect.databases import empty_postgres, postgres_database, postgres_server, postgres_url

__all__ = ["empty_postgres", "postgres_database", "postgres_server", "postgres_url"]
