"""For every test: the long forms are left out unless FULL is set."""

import os

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("FULL"):
        return
    long = [item for item in items if item.get_closest_marker("full")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if item not in long]
