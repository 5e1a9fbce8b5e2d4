"""Lochan: Git for data on an object store."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lochan.connection import connect

__version__ = "0.1.0"
__all__ = ["__version__", "connect"]


def __getattr__(name: str) -> Any:
    """`lochan.connect` imports the engine; a command that lists repositories must not pay for it."""
    if name == "connect":
        from lochan.connection import connect

        return connect
    raise AttributeError(f"module 'lochan' has no attribute {name!r}")
