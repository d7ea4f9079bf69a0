"""The checks of the JavaScript client in a real browser."""

import pytest

from tests.browser import running_browser
from tests.clients.running import failed, in_browser
from tests.clients.test_vectors_in_node import FEWEST


@pytest.mark.slow
def test_checks_in_a_browser():
    with running_browser() as browser:
        for module, fewest in FEWEST.items():
            results = in_browser(browser, module)
            assert failed(results) == {}, module
            assert len(results) >= fewest
