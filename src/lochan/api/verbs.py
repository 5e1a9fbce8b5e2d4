"""The table of verbs: what each noun can do, whether it changes anything, and the command that does it.

Tests compare it with the classes and with the command line, so that no verb is without a row and no row without a verb.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    READ = "read"
    WRITE = "write"  # takes an idempotency key
    HANDLE = "handle"  # makes a handle, and asks nobody


class Verb(NamedTuple):
    noun: str
    name: str
    kind: Kind
    command: str = ""  # of the command line; empty: there is none


_R, _W, _H = Kind.READ, Kind.WRITE, Kind.HANDLE

VERBS = (
    Verb("Lake", "repository", _H),
    Verb("Lake", "pool", _H),
    Verb("Lake", "repositories", _R, "ls"),
    Verb("Lake", "pools", _R, "ls"),
    Verb("Lake", "create_repository", _W, "repo create"),
    Verb("Lake", "create_pool", _W, "create"),
    Verb("Lake", "query", _W, "query"),  # it may end in `load`
    Verb("Lake", "diff_rows", _R, "diff"),
    Verb("Lake", "events", _R, "events"),
    Verb("Lake", "new_key", _H),
    Verb("Repository", "ref", _H),
    Verb("Repository", "branch", _H),
    Verb("Repository", "workspace", _H),
    Verb("Repository", "show", _R, "repo show"),
    Verb("Repository", "branches", _R, "branch list"),
    Verb("Repository", "create_branch", _W, "branch create"),
    Verb("Repository", "delete_branch", _W, "branch delete"),
    Verb("Repository", "restore_branch", _W, "branch restore"),
    Verb("Repository", "tags", _R, "tag list"),
    Verb("Repository", "create_tag", _W, "tag create"),
    Verb("Repository", "delete_tag", _W, "tag delete"),
    Verb("Repository", "merge_base", _R, "merge-base"),
    Verb("Repository", "workspaces", _R, "workspace list"),
    Verb("Repository", "rename", _W, "rename"),
    Verb("Repository", "delete", _W, "repo delete"),
    Verb("Pool", "load", _W, "load"),
    Verb("Pool", "query", _R, "query"),
    Verb("Ref", "resolve", _R, "show"),
    Verb("Ref", "log", _R, "log"),
    Verb("Ref", "diff", _R, "diff"),
    Verb("Ref", "blame", _R, "blame"),
    Verb("Ref", "list", _R, "fs ls"),
    Verb("Ref", "list_page", _R, "fs ls"),
    Verb("Ref", "stat", _R, "fs stat"),
    Verb("Ref", "stream", _R, "fs cat"),
    Verb("Ref", "read", _R, "fs cat"),
    Verb("WritableRef", "put", _W, "fs upload"),
    Verb("WritableRef", "delete", _W, "fs rm"),
    Verb("WritableRef", "delete_if", _W),
    Verb("WritableRef", "delete_folder", _W, "fs rm"),
    Verb("WritableRef", "copy", _W, "fs cp"),
    Verb("WritableRef", "copy_folder", _W, "fs cp"),
    Verb("WritableRef", "move", _W, "fs mv"),
    Verb("WritableRef", "move_folder", _W, "fs mv"),
    Verb("Branch", "status", _R, "status"),
    Verb("Branch", "commit", _W, "commit"),
    Verb("Branch", "reset", _W, "reset"),
    Verb("Branch", "merge", _W, "merge"),
    Verb("Branch", "revert", _W, "revert"),
    Verb("Branch", "cherry_pick", _W, "cherry-pick"),
    Verb("Branch", "rebase", _W, "rebase"),
    Verb("Branch", "rename", _W, "branch rename"),
    Verb("Branch", "workspace", _W, "workspace create"),
    Verb("Branch", "transaction", _W),
    Verb("Workspace", "show", _R, "workspace show"),
    Verb("Workspace", "path", _R, "workspace path"),
    Verb("Workspace", "commit", _W, "workspace commit"),
    Verb("Workspace", "drop", _W, "workspace drop"),
)
