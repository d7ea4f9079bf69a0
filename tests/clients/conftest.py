"""A browser for the tests of the JavaScript client."""

import pytest

from tests.clients.pages import browser_at_pages


@pytest.fixture(scope="module")
def browser():
    with browser_at_pages() as running:
        yield running
