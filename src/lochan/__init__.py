"""Lochan: Git for data on an object store.

    import lochan

    lake = lochan.connect("path/to/lake")

What is listed here is public; everything else may change. `lochan.aio`, `lochan.errors`, `lochan.fsspec` and
`lochan.spark` are public modules.
"""

TYPE_CHECKING = False  # `typing` takes longer to import than the front of the command line, which comes by here
if TYPE_CHECKING:
    from typing import Any

    from lochan import errors
    from lochan.api.blocking import (
        Access,
        Branch,
        DeletedCollection,
        GarbageCollection,
        Lake,
        OpenObject,
        Pool,
        PullRequest,
        Ref,
        RefSnapshot,
        Repository,
        Storage,
        Upload,
        Workspace,
    )
    from lochan.api.conditions import Conditions
    from lochan.api.imports import ImportChange, ImportResult, ImportSource
    from lochan.api.jobs import JobInfo
    from lochan.api.load import LoadOptions
    from lochan.api.object_results import (
        Address,
        Change,
        ChangeCount,
        Conflict,
        DownloadResult,
        FolderResult,
        ObjectDetails,
        ObjectInfo,
        ObjectPage,
        PartInfo,
        PresignedUrl,
        StagedChange,
        UploadInfo,
        UploadResult,
        WorkspaceChange,
    )
    from lochan.api.options import CommitOptions, CopyOptions, EngineOptions, PutOptions
    from lochan.api.parts import NamedPart
    from lochan.api.pull_results import (
        PullCheck,
        PullComment,
        PullRequestInfo,
        PullRequestSummary,
        PullReview,
        Resolution,
    )
    from lochan.api.results import (
        BisectStep,
        BlameResult,
        BranchInfo,
        Commit,
        DeleteResult,
        LoadResult,
        LogEntry,
        PoolInfo,
        PoolSummary,
        ProtectionRule,
        RebaseResult,
        RepositoryInfo,
        StashInfo,
        TagInfo,
        WorkspaceInfo,
    )
    from lochan.api.subscriptions import EventChoice
    from lochan.api.upkeep import CompactOptions
    from lochan.connection import connect
    from lochan.errors import LochanError
    from lochan.versioning.lineage import LineageInput, Trace, trace

__version__ = "0.1.0"
__all__ = [
    "Access",
    "Address",
    "BisectStep",
    "BlameResult",
    "Branch",
    "BranchInfo",
    "Change",
    "ChangeCount",
    "Commit",
    "CommitOptions",
    "CompactOptions",
    "Conditions",
    "Conflict",
    "CopyOptions",
    "DeleteResult",
    "DeletedCollection",
    "DownloadResult",
    "EngineOptions",
    "EventChoice",
    "FolderResult",
    "GarbageCollection",
    "ImportChange",
    "ImportResult",
    "ImportSource",
    "JobInfo",
    "Lake",
    "LineageInput",
    "LoadOptions",
    "LoadResult",
    "LochanError",
    "LogEntry",
    "NamedPart",
    "ObjectDetails",
    "ObjectInfo",
    "ObjectPage",
    "OpenObject",
    "PartInfo",
    "Pool",
    "PoolInfo",
    "PoolSummary",
    "PresignedUrl",
    "ProtectionRule",
    "PullCheck",
    "PullComment",
    "PullRequest",
    "PullRequestInfo",
    "PullRequestSummary",
    "PullReview",
    "PutOptions",
    "RebaseResult",
    "Ref",
    "RefSnapshot",
    "Repository",
    "RepositoryInfo",
    "Resolution",
    "StagedChange",
    "StashInfo",
    "Storage",
    "TagInfo",
    "Trace",
    "Upload",
    "UploadInfo",
    "UploadResult",
    "Workspace",
    "WorkspaceChange",
    "WorkspaceInfo",
    "__version__",
    "connect",
    "errors",
    "trace",
]

_RESULTS = "lochan.api.results"  # where everything is that is not named here
_MODULES = {
    "lochan.api.blocking": (
        "Access",
        "Branch",
        "DeletedCollection",
        "GarbageCollection",
        "Lake",
        "OpenObject",
        "Pool",
        "PullRequest",
        "Ref",
        "RefSnapshot",
        "Repository",
        "Storage",
        "Upload",
        "Workspace",
    ),
    "lochan.api.conditions": ("Conditions",),
    "lochan.api.imports": ("ImportChange", "ImportResult", "ImportSource"),
    "lochan.api.jobs": ("JobInfo",),
    "lochan.api.load": ("LoadOptions",),
    "lochan.api.object_results": (
        "Address",
        "Change",
        "ChangeCount",
        "Conflict",
        "DownloadResult",
        "FolderResult",
        "ObjectDetails",
        "ObjectInfo",
        "ObjectPage",
        "PartInfo",
        "PresignedUrl",
        "StagedChange",
        "UploadInfo",
        "UploadResult",
        "WorkspaceChange",
    ),
    "lochan.api.options": ("CommitOptions", "CopyOptions", "EngineOptions", "PutOptions"),
    "lochan.api.parts": ("NamedPart",),
    "lochan.api.pull_results": (
        "PullCheck",
        "PullComment",
        "PullRequestInfo",
        "PullRequestSummary",
        "PullReview",
        "Resolution",
    ),
    "lochan.api.subscriptions": ("EventChoice",),
    "lochan.api.upkeep": ("CompactOptions",),
    "lochan.connection": ("connect",),
    "lochan.errors": ("LochanError",),
    "lochan.versioning.lineage": ("LineageInput", "Trace", "trace"),
}
_SUBMODULES = ("aio", "errors", "fsspec", "spark")


def __getattr__(name: str) -> "Any":
    """Imported when it is asked for: a command that lists repositories must not pay for the engine."""
    from importlib import import_module

    if name in _SUBMODULES:
        return import_module(f"lochan.{name}")
    if name not in __all__:
        raise AttributeError(f"module 'lochan' has no attribute {name!r}")
    module = next((each for each, names in _MODULES.items() if name in names), _RESULTS)
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return sorted({*__all__, *_SUBMODULES})
