"""The functions of a test module, for another lake."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import pytest

_OF_A_FOLDER = "place"  # a fixture of tests about a lake that is one
_OF_A_LAKE = {"address", "fs", "lake", "main", "options", "pool", "shop"}  # fixtures


def same_tests(module: ModuleType, local: Mapping[str, str]) -> dict[str, Any]:
    """Its tests and fixtures but the lake. `local` are those about what a server does not do, and why: they must
    fail."""
    found = {name: value for name, value in vars(module).items() if name != "lake" and _is_wanted(name, value)}
    missing = local.keys() - found.keys()
    assert not missing, missing
    return {name: _marked(value, local[name]) if name in local else value for name, value in found.items()}


def _is_wanted(name: str, value: Any) -> bool:
    if type(value).__name__ == "FixtureFunctionDefinition":
        return True
    return (
        name.startswith("test_")
        and _OF_A_FOLDER not in _parameters(value)
        and not _OF_A_LAKE.isdisjoint(_parameters(value))
    )


def _parameters(function: Any) -> list[str]:
    return list(inspect.signature(function).parameters)


def _marked(function: Any, why: str) -> Any:
    @functools.wraps(function)
    def marked(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    marked.pytestmark = [*getattr(function, "pytestmark", ())]  # type: ignore[attr-defined]
    return pytest.mark.xfail(strict=True, reason=why)(marked)
