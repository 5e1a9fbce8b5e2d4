"""Debian's Chromium, for tests of the web page."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

# Root must run it without its sandbox; and it must ask nothing of the world outside.
_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def install() -> str:
    """Its path; Debian's package is installed if it is not there."""
    found = shutil.which("chromium")
    if found is None:
        subprocess.run(["apt-get", "update", "-qq"], check=True)
        subprocess.run(["apt-get", "install", "-y", "-qq", "chromium"], check=True, stdout=subprocess.DEVNULL)
        found = shutil.which("chromium")
    assert found, "Debian's package chromium has no program of that name"
    return found


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=install(), args=_FLAGS)
        try:
            yield browser
        finally:
            browser.close()
