"""For every test: the long forms are left out unless FULL is set."""

import os

import pytest
from hypothesis import settings

settings.register_profile("lochan", deadline=None)  # a busy machine is not a bug
settings.load_profile("lochan")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("FULL"):
        return
    long = [item for item in items if item.get_closest_marker("full")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if item not in long]
