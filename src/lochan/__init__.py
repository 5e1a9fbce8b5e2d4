"""Lochan: Git for data on an object store.

    import lochan

    lake = lochan.connect("path/to/lake")

What is listed here is public; everything else may change.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lochan.api.blocking import Access, Branch, Lake, Pool, Ref, Repository, Upload, Workspace
    from lochan.api.conditions import Conditions
    from lochan.api.imports import ImportSource
    from lochan.api.load import LoadOptions
    from lochan.api.object_results import (
        Change,
        FolderResult,
        ObjectInfo,
        ObjectPage,
        PartInfo,
        StagedChange,
        UploadInfo,
    )
    from lochan.api.options import CommitOptions, CopyOptions, EngineOptions, PutOptions
    from lochan.api.parts import NamedPart
    from lochan.api.results import BranchInfo, Commit, LoadResult, RepositoryInfo, TagInfo, WorkspaceInfo
    from lochan.api.upkeep import CompactOptions
    from lochan.connection import connect
    from lochan.errors import LochanError

__version__ = "0.1.0"
__all__ = [
    "Access",
    "Branch",
    "BranchInfo",
    "Change",
    "Commit",
    "CommitOptions",
    "CompactOptions",
    "Conditions",
    "CopyOptions",
    "EngineOptions",
    "FolderResult",
    "ImportSource",
    "Lake",
    "LoadOptions",
    "LoadResult",
    "LochanError",
    "NamedPart",
    "ObjectInfo",
    "ObjectPage",
    "PartInfo",
    "Pool",
    "PutOptions",
    "Ref",
    "Repository",
    "RepositoryInfo",
    "StagedChange",
    "TagInfo",
    "Upload",
    "UploadInfo",
    "Workspace",
    "WorkspaceInfo",
    "__version__",
    "connect",
]

_MODULES = {
    "lochan.api.blocking": ("Access", "Branch", "Lake", "Pool", "Ref", "Repository", "Upload", "Workspace"),
    "lochan.api.upkeep": ("CompactOptions",),
    "lochan.api.conditions": ("Conditions",),
    "lochan.api.imports": ("ImportSource",),
    "lochan.api.load": ("LoadOptions",),
    "lochan.api.object_results": (
        "Change",
        "FolderResult",
        "ObjectInfo",
        "ObjectPage",
        "PartInfo",
        "StagedChange",
        "UploadInfo",
    ),
    "lochan.api.options": ("CommitOptions", "CopyOptions", "EngineOptions", "PutOptions"),
    "lochan.api.parts": ("NamedPart",),
    "lochan.connection": ("connect",),
    "lochan.errors": ("LochanError",),
}


def __getattr__(name: str) -> Any:
    """Imported when it is asked for: a command that lists repositories must not pay for the engine."""
    if name not in __all__:
        raise AttributeError(f"module 'lochan' has no attribute {name!r}")
    module = next((each for each, names in _MODULES.items() if name in names), "lochan.api.results")
    return getattr(import_module(module), name)
