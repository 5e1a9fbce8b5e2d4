"""What the companion learns from a command: the modules that it imported, if none of them may start threads."""

import sys

import msgspec
import pytest

from lochan.cli.companion.warmth import CommandTrace, Warmth


def _follow(*modules: str) -> None:
    for _ in Warmth().follow(msgspec.msgpack.encode(CommandTrace(list(modules), []))):
        pass


@pytest.fixture
def unknown(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.delitem(sys.modules, "this", raising=False)
    return "this"  # of the standard library, and nobody imports it


def test_modules_are_imported(unknown: str) -> None:
    _follow(unknown)
    assert unknown in sys.modules


def test_what_cython_puts_among_the_modules_is_no_package(unknown: str) -> None:
    """One that was written with another release of it than those that are there brings a name of its own."""
    _follow("_cython_9_9_9", "cython_runtime", unknown)
    assert unknown in sys.modules


def test_a_package_that_may_start_threads_is_left_to_commands(unknown: str) -> None:
    _follow("polars", unknown)
    assert unknown not in sys.modules
