"""For all that needs a JVM: also those that a command of ours starts are to start soon."""

import os

import pytest

from tests.spark import java


def pytest_collection_finish(session: pytest.Session) -> None:
    """Before the first test; whoever only hands tests out to others needs none."""
    if session.config.pluginmanager.hasplugin("dsession") or session.config.option.collectonly:
        return
    java.prepare()
    os.environ.update(java.environment())
