"""Settings for every test: long forms run only if FULL is set, and `--update-golden` rewrites expected output."""

import os
import signal

import pytest
from hypothesis import settings

from lochan.config.origin import VARIABLES
from tests.file_schedule import pytest_xdist_make_scheduler as pytest_xdist_make_scheduler

# A busy machine is not a bug. And the quick lanes play the same examples each time, so that what fails is what was
# changed; the long forms look for new ones.
settings.register_profile("lochan", deadline=None, derandomize=not os.environ.get("FULL"))
settings.load_profile("lochan")


# No test runs in the companion of whoever tests, or leaves one behind; those of the companion say so themselves.
os.environ["LOCHAN_COMPANION"] = "0"
# And no commit of a test says which run of a CI it is from.
for _name in VARIABLES:
    os.environ.pop(_name, None)
# A shell lets what it starts in the background ignore Ctrl-C, and so would every command that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write down what golden scripts and lakes say now")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("FULL"):
        return
    long = [item for item in items if item.get_closest_marker("full")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if item not in long]
