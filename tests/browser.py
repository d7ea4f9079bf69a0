"""A real Chromium for the tests of pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first one is Chromium without its window, which does all that pages ask for with half the work."""

_ARGUMENTS = ("--no-sandbox", "--disable-background-networking", "--disable-component-update", "--no-first-run")
"""A sandbox is not to be had as root, and the browser is to talk to nobody but the pages under test."""


def browser_path() -> str:
    """Return the path of Chromium."""
    found = [path for name in NAMES if (path := shutil.which(name))]
    assert found, f"there is none of {', '.join(NAMES)}: make test installs Chromium or says how"
    return found[0]


@contextmanager
def running_browser() -> Iterator[Browser]:
    """A browser with a new profile, until the end of the `with`."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=[*_ARGUMENTS])
        try:
            yield browser
        finally:
            browser.close()
