"""Settings for all tests that need a JVM: JVMs start quickly, also those that our own commands start."""

import os

import pytest

from tests.spark import java


def pytest_collection_finish(session: pytest.Session) -> None:
    """Runs before the first test. A process that only hands tests out to others needs none."""
    if session.config.pluginmanager.hasplugin("dsession") or session.config.option.collectonly:
        return
    java.prepare()
    os.environ.update(java.environment())
