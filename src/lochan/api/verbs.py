"""The table of verbs: what each noun can do, whether it changes anything, the command that does it, the route that
serves it, and the rights that a user needs.

Tests compare it with the classes and with the command line, so that no verb is without a row and no row without a verb.
`wrappers/` reads it to check rights and to record use, so that no verb checks rights by itself.

A right is an action and a resource, such as `fs:ReadObject {self}/object/{path}`. In a resource

    {self}            is the resource of the handle: a repository, or a branch, a tag or a commit of one
    {object}          is the resource of the object of an upload
    {default}         is the default branch of the handle's repository
    {source}          at the beginning is a ref of the same repository that the verb is given: its name, or a handle
    {source.ref}      at the beginning is a ref of any repository: a handle
    {pull.target}     at the beginning is a branch of the pull request that the handle names
    {path}            further on is the text of an argument; for several texts each of them is checked
    {source.prefix}   further on is a field of an argument
    {path?}           is only checked for an argument that is given
    *                 at the end is everything that begins like that; so is an argument that may be anything
    sources           are those of a query, each checked while it is planned
    journal:, rows:, stash:, owner:, deleted:, subscriber:, signed-in:   are explained in `wrappers/resources.py`

and ` if commit_staged` behind it means that the right is only needed where that argument is not None.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    READ = "read"
    WRITE = "write"  # takes an idempotency key
    STREAM = "stream"  # continues where it was if repeated, and so takes no key
    HANDLE = "handle"  # makes a handle, without a request


class Verb(NamedTuple):
    noun: str
    name: str
    kind: Kind
    command: str = ""  # of the command line; empty if there is none
    route: str = ""  # method and path below that of the noun; empty if it is not served
    needs: tuple[str, ...] = ()  # rights that are checked before it is called; it needs all of them
    shows: tuple[str, ...] = ()  # rights to each item of its result; an item without them is left out
    # The argument that may name files of this machine, which no user of a server may do. `*` is for a verb of this
    # process alone, because its arguments or its results are.
    local: str = ""
    own: bool = False  # whether it is about what belongs to the caller alone, and needs no right

    @property
    def path(self) -> str:
        """The full path of its route, after the method."""
        method, _, path = self.route.partition(" ")
        return f"{method} {NOUN_PATHS[self.noun]}{path and '/'}{path}" if self.route else ""


_REPOSITORY = "/api/v1/repos/{repository}"
NOUN_PATHS = {
    "Lake": "/api/v1",
    "Repository": _REPOSITORY,
    "GarbageCollection": f"{_REPOSITORY}/gc",
    "Storage": f"{_REPOSITORY}/storage",
    "DeletedCollection": "/api/v1/gc/deleted",
    "Pool": "/api/v1/pool/{pool}",
    "Ref": f"{_REPOSITORY}/refs/{{ref}}",
    "WritableRef": f"{_REPOSITORY}/refs/{{ref}}",
    "Branch": f"{_REPOSITORY}/branches/{{branch}}",
    "Workspace": f"{_REPOSITORY}/workspaces/{{workspace}}",
    "PullRequest": f"{_REPOSITORY}/pulls/{{pull}}",
    "Upload": f"{_REPOSITORY}/refs/{{ref}}/uploads/{{upload}}",  # its object is in the query: see `wire/call.py`
    "Access": "/api/v1/access",
    "Frames": "/api/v1/frames",
    "Checkout": "",  # a folder of the user's machine
}

_R, _W, _S, _H = Kind.READ, Kind.WRITE, Kind.STREAM, Kind.HANDLE

# Rights that several verbs need.
_READ_REPOSITORY = ("fs:ReadRepository {self}",)
_READ_ALL = (*_READ_REPOSITORY, "fs:ReadObject {self}/*")  # the output of hooks may reveal any object
_COLLECT = ("fs:CollectGarbage {self}",)
_DROP = ("fs:DeleteObject {self}/branch/*", "fs:CreateCommit {self}/branch/*")
_RESTORE_HISTORY = (
    *("fs:ReadRepository repository/{source}", "fs:ReadCommit repository/{source}/*"),
    *("fs:ReadObject repository/{source}/*", "fs:WriteObject {self}/*", "fs:CreateCommit {self}/branch/*"),
    *("fs:CreateBranch {self}/branch/*", "fs:CreateTag {self}/tag/*"),
)
_MAINTAIN = ("lake:Maintain lake",)
_AUDIT = ("lake:ReadEvents lake", "fs:ReadEvents repository/*", "fs:ReadObject repository/*")  # rows name objects
_ERASE = ("fs:CollectGarbage deleted:names", "fs:DeleteRepository deleted:names")
_ERASE_ALL = "fs:DeleteRepository repository/*"
_PROTECT = ("fs:ProtectBranch {self}",)
_OVERVIEW = (*_READ_REPOSITORY, "fs:ReadCommit {default}", "fs:ReadObject {default}/object/*")
_READ_COMMIT = ("fs:ReadCommit {self}",)
_READ_COMMITS = ("fs:ReadCommit {left}", "fs:ReadCommit {right}")
_LOG = (*_READ_COMMIT, "fs:ReadObject {self}/object/{path?}", "fs:ReadObject {self}/object/{prefix?}*")
_DIFF = (*_READ_COMMIT, "fs:ReadCommit {right}")
_COUNT_DIFF = (*_DIFF, "fs:ReadObject {self}/object/{prefix}*", "fs:ReadObject {right}/object/{prefix}*")
_LIST = ("fs:ListObjects {self}/object/{prefix}",)
_READ = ("fs:ReadObject {self}/object/{path}",)
_WRITE = ("fs:WriteObject {self}/object/{path}",)
_VISIBLE = ("objects {self}",)  # what a list shows of the objects at a ref
_READ_BRANCH = ("fs:ReadBranch {self}",)
_COUNT_STAGED = (*_READ_BRANCH, "fs:ReadObject {self}/object/{prefix}*")
_STASH = ("fs:StashChanges {self}",)
_STASHED = (*_STASH, "fs:StashChanges stash:id")
_COMMIT_STAGED = "fs:CreateCommit {self} if commit_staged"
_TRY_MERGE = ("fs:MergeBranch {self}", "fs:ReadCommit {source}")
_MERGE = (*_TRY_MERGE, _COMMIT_STAGED)
_REPLAY = ("fs:RevertCommit {self}", "fs:ReadCommit {ref}", _COMMIT_STAGED)
_IMPORT = ("fs:Import {self}",)
_READ_WORKSPACE = ("fs:ReadWorkspace {self}",)
_CREATE_WORKSPACE = ("fs:CreateWorkspace {self}",)
_READ_ROWS = ("fs:ReadObject {branch}/object/",)
_WRITE_ROWS = ("fs:WriteObject {branch}/object/", "fs:CreateCommit {branch}")
_DELETE_ROWS = ("fs:DeleteObject {branch}/object/", "fs:CreateCommit {branch}")
_QUERY = ("fs:ReadObject sources",)
_READ_UPLOAD = ("fs:ReadObject {object}",)
_WRITE_UPLOAD = ("fs:WriteObject {object}",)
_SEE_UPLOAD = ("fs:ListObjects {self}/branch/{item.branch}/object/{item.path}",)
_SEE_REPOSITORY = ("fs:ListRepositories repository/{item.name}",)
_SEE_TAG = ("fs:ReadTag {self}/tag/{item.name}",)  # the name of a tag reveals its commit
_READ_PULL = ("fs:ReadPullRequest {pull.target}", "fs:ReadBranch {pull.source}")
_WRITE_PULL = (*_READ_PULL, "fs:WritePullRequest {pull.target}")
_DIFF_PULL = (*_READ_PULL, "fs:ReadCommit {pull.target}", "fs:ReadCommit {pull.source}")
_SEE_PULL = ("fs:ReadPullRequest {self}/branch/{item.target}", "fs:ReadBranch {self}/branch/{item.source}")
_PULL_OBJECTS = ("objects {pull.target}", "objects {pull.source}")
_CREATE = ("fs:CreateRepository repository/{name}", "fs:AttachStorage repository/{name} if storage")
_READ_USER = ("auth:ReadUser user/{user}",)
_SUBSCRIBER = ("lake:ManageEvents subscriber:id",)

VERBS = (
    Verb("Lake", "repository", _H),
    Verb("Lake", "pool", _H),
    Verb("Lake", "checkout", _H),
    Verb("Lake", "repositories", _R, "ls", "GET repos", shows=_SEE_REPOSITORY),
    Verb("Lake", "pools", _R, "ls", "GET pool", shows=_SEE_REPOSITORY),
    Verb("Lake", "create_repository", _W, "repo create", "POST repos", _CREATE, local="storage"),
    Verb("Lake", "create_pool", _W, "create", "POST pool", _CREATE, local="storage"),
    Verb("Lake", "deleted_repositories", _R, "repo list", "GET deleted", shows=_SEE_REPOSITORY),
    Verb(
        "Lake",
        "restore_repository",
        _W,
        "repo restore",
        "POST deleted/{name}/restore",
        ("fs:DeleteRepository deleted:name", "fs:CreateRepository repository/{to?}"),
    ),
    Verb("Lake", "deleted", _H),
    Verb("Lake", "query", _W, "query", "POST query/rows", _QUERY),  # it may end in `load`
    Verb("Lake", "load_sources", _R, "load", local="*"),
    # The bytes are the caller's, and nothing of the lake is read.
    Verb("Lake", "preview_load", _R, "", "POST load/preview", local="body", own=True),
    Verb("Lake", "explain", _R, "explain", "POST query/explain", _QUERY),
    # Everybody may save queries of their own. What a query reads is checked when it runs.
    Verb("Lake", "saved_queries", _R, "", "GET saved_queries", own=True),
    Verb("Lake", "save_query", _W, "", "PUT saved_queries/{name}", own=True),
    Verb("Lake", "delete_query", _W, "", "DELETE saved_queries/{name}", own=True),
    Verb("Lake", "diff_rows", _R, "diff", "POST query/diff", ("fs:ReadObject rows:left", "fs:ReadObject rows:right")),
    Verb("Lake", "events", _R, "events", "GET events/lines", ("fs:ReadEvents journal:repository",)),
    Verb(
        "Lake",
        "subscriptions",
        _R,
        "subscription list",
        "GET subscriptions",
        shows=("lake:ManageEvents subscriber:item",),
    ),
    Verb(
        "Lake",
        "create_subscription",
        _W,
        "subscription create",
        "POST subscriptions",
        ("fs:ReadEvents journal:repository",),
    ),
    Verb("Lake", "delete_subscription", _W, "subscription delete", "DELETE subscriptions/{id}", _SUBSCRIBER),
    Verb("Lake", "dead_letters", _R, "subscription dead-letters", "GET subscriptions/{id}/dead_letters", _SUBSCRIBER),
    Verb("Lake", "redeliver", _W, "subscription redeliver", "POST subscriptions/{id}/redeliver", _SUBSCRIBER),
    Verb(
        "Lake",
        "upkeep",
        _W,
        "manage",
        "POST upkeep",
        ("fs:CollectGarbage repository/{pools}", "fs:WriteObject repository/{pools}/*"),
    ),
    Verb("Lake", "upkeep_status", _R, "upkeep status", "GET upkeep", ("lake:ReadEvents lake",)),
    Verb(
        "Lake",
        "run_upkeep",
        _S,
        "upkeep run",
        "POST upkeep/run",
        ("fs:CollectGarbage repository/*", "fs:WriteObject repository/*"),
    ),
    Verb("Lake", "default_rules", _R, "gc rules show", "GET gc/rules", ("fs:ReadRepository repository/*",)),
    Verb("Lake", "set_default_rules", _W, "gc rules set", "PUT gc/rules", ("fs:SetRetention repository/*",)),
    Verb("Lake", "usage", _R, "usage show", "GET usage", ("lake:ManageUsage lake",)),
    Verb("Lake", "compact_usage", _S, "usage compact", "POST usage/compact", ("lake:ManageUsage lake",)),
    Verb("Lake", "audit", _R, "audit", "GET audit", _AUDIT),
    Verb("Lake", "doctor", _R, "doctor", local="*"),
    Verb("Lake", "fsck", _S, "fsck", "POST fsck", _MAINTAIN),
    Verb("Lake", "rebuild", _S, "rebuild", "POST rebuild", _MAINTAIN, local="to"),
    Verb("Lake", "scrub", _S, "scrub", "POST scrub", _MAINTAIN),
    Verb("Lake", "backup", _S, "backup", local="*"),
    Verb("Lake", "lakefs_repositories", _R, "import", local="*"),
    Verb("Lake", "import_lakefs", _S, "import", local="*"),
    Verb("Lake", "jobs", _R, "jobs list", "GET jobs", ("lake:ReadEvents lake",)),
    Verb("Lake", "job", _R, "jobs show", "GET jobs/{id}", ("lake:ReadEvents lake",)),
    Verb("Lake", "access", _H),
    Verb("Lake", "frames", _H),
    Verb("Lake", "new_key", _H),
    Verb("Repository", "ref", _H),
    Verb("Repository", "branch", _H),
    Verb("Repository", "workspace", _H),
    Verb("Repository", "gc", _H),
    Verb("Repository", "storage", _H),
    Verb("Repository", "show", _R, "repo show", "GET", _READ_REPOSITORY),
    Verb("Repository", "overview", _R, "", "GET overview", _OVERVIEW),
    Verb(
        "Repository",
        "compare_branches",
        _R,
        "",
        "GET comparison",
        ("fs:ListBranches {self}", "fs:ReadCommit {base}"),
        ("fs:ReadBranch {self}/branch/{item.name}", "fs:ReadObject {self}/branch/{item.name}/object/*"),
    ),
    Verb("Repository", "branches", _R, "branch list", "GET branches", ("fs:ListBranches {self}",)),
    Verb(
        "Repository",
        "create_branch",
        _W,
        "branch create",
        "POST branches",
        ("fs:CreateBranch {self}/branch/{name}", "fs:ReadCommit {source}"),
    ),
    Verb(
        "Repository",
        "delete_branch",
        _W,
        "branch delete",
        "DELETE branches/{name}",
        ("fs:DeleteBranch {self}/branch/{name}",),
    ),
    Verb(
        "Repository",
        "restore_branch",
        _W,
        "branch restore",
        "POST branches/{name}/restore",
        ("fs:CreateBranch {self}/branch/{name}",),
    ),
    Verb("Repository", "tags", _R, "tag list", "GET tags", ("fs:ListTags {self}",), _SEE_TAG),
    Verb("Repository", "is_bare", _R, "", "GET bare", _READ_REPOSITORY),
    Verb("Repository", "restore_history", _W, "", "POST history", _RESTORE_HISTORY),
    Verb("Repository", "show_tag", _R, "", "GET tags/{name}", ("fs:ReadTag {self}/tag/{name}",)),
    Verb(
        "Repository",
        "create_tag",
        _W,
        "tag create",
        "POST tags",
        ("fs:CreateTag {self}/tag/{name}", "fs:ReadCommit {target}"),
    ),
    Verb("Repository", "delete_tag", _W, "tag delete", "DELETE tags/{name}", ("fs:DeleteTag {self}/tag/{name}",)),
    Verb("Repository", "merge_base", _R, "merge-base", "GET merge_base", _READ_COMMITS),
    Verb("Repository", "merge_bases", _R, "merge-base", "GET merge_bases", _READ_COMMITS),
    Verb(
        "Repository",
        "bisect",
        _R,
        "bisect start",
        "POST bisect",
        ("fs:ReadCommit {good}", "fs:ReadCommit {bad}", "fs:ReadCommit {skipped?}"),
    ),
    Verb("Repository", "render_lifecycle", _R, "lifecycle render", "GET lifecycle", _READ_REPOSITORY),
    Verb("Repository", "render_policy", _R, "policy render", "GET policy", _READ_REPOSITORY),
    Verb("Repository", "protections", _R, "branch protection", "GET protections", _READ_REPOSITORY),
    Verb("Repository", "protect", _W, "branch protect", "POST protections", _PROTECT),
    Verb("Repository", "set_protections", _W, "", "PUT protections", _PROTECT),
    Verb("Repository", "unprotect", _W, "branch unprotect", "DELETE protections", _PROTECT),
    Verb("Repository", "is_read_only", _R, "repo show", "GET read_only", _READ_REPOSITORY),
    Verb("Repository", "set_read_only", _W, "repo read-only", "PUT read_only", ("fs:UpdateRepository {self}",)),
    Verb("Repository", "set_metadata", _W, "repo describe", "POST metadata", ("fs:UpdateRepository {self}",)),
    Verb(
        "Repository", "stashes", _R, "stash list", "GET stashes", shows=("fs:ReadBranch {self}/branch/{item.branch}",)
    ),
    Verb(
        "Repository",
        "workspaces",
        _R,
        "workspace list",
        "GET workspaces",
        shows=("fs:ReadWorkspace {self}/branch/{item.branch}",),
    ),
    Verb("Repository", "pull", _H),
    Verb("Repository", "pulls", _R, "pr list", "GET pulls", shows=_SEE_PULL),
    Verb(
        "Repository",
        "create_pull",
        _W,
        "pr create",
        "POST pulls",
        ("fs:WritePullRequest {target}", "fs:ReadBranch {source}", "fs:ReadCommit {source}"),
    ),
    Verb(
        "Repository",
        "rename",
        _W,
        "rename",
        "POST rename",
        ("fs:DeleteRepository {self}", "fs:CreateRepository repository/{to}"),
    ),
    Verb("Repository", "delete", _W, "repo delete", "DELETE", ("fs:DeleteRepository {self}",)),
    Verb("Repository", "hooks", _R, "hooks list", "GET hooks", _READ_ALL),
    Verb("Repository", "check_hooks", _R, "hooks check", "POST hooks/check", _READ_REPOSITORY),
    Verb(
        "Repository",
        "run_hooks",
        _W,
        "hooks run",
        "POST hooks/run",
        (*_READ_ALL, "fs:CreateCommit {branch}"),
    ),
    Verb("Repository", "hook_runs", _R, "hooks runs", "GET hooks/runs", _READ_ALL),
    Verb("Repository", "hook_run", _R, "hooks show", "GET hooks/runs/{id}", _READ_ALL),
    Verb("Repository", "hook_secret", _R, "hooks secret", "POST hooks/secret", ("fs:UpdateRepository {self}",)),
    Verb("Repository", "uploads", _R, route="GET uploads", needs=_READ_REPOSITORY, shows=_SEE_UPLOAD),
    Verb("Repository", "snapshots", _R, local="*"),
    Verb("Repository", "is_empty", _R, route="GET is_empty", needs=("fs:ListObjects {self}/branch/*",)),
    Verb("Storage", "duplicates", _R, "dedupe", "POST duplicates", _COLLECT),
    Verb("Storage", "dedupe", _S, "dedupe", "POST dedupe", _COLLECT),
    Verb("Storage", "sparse_files", _R, "gc repack", "POST sparse_files", _COLLECT),
    Verb("Storage", "repack", _S, "gc repack", "POST repack", _COLLECT),
    Verb("Storage", "coalesce", _S, "fs coalesce", "POST coalesce", _COLLECT),
    Verb("Storage", "dangling", _R, "gc dangling", "POST dangling", _COLLECT),
    Verb("GarbageCollection", "rules", _R, "gc rules show", "GET rules", _READ_REPOSITORY),
    Verb("GarbageCollection", "set_rules", _W, "gc rules set", "PUT rules", ("fs:SetRetention {self}",)),
    Verb("GarbageCollection", "check_rules", _R, "gc rules check", "POST rules/check", _READ_REPOSITORY),
    Verb("GarbageCollection", "expire", _S, "gc expire", "POST expire", _COLLECT),
    Verb("GarbageCollection", "preview", _R, "gc plan", "POST preview", _COLLECT),
    Verb("GarbageCollection", "plan", _S, "gc plan", "POST plan", _COLLECT),
    Verb("GarbageCollection", "sweep", _S, "gc sweep", "POST sweep", _COLLECT),
    Verb("GarbageCollection", "abandon", _S, "gc abandon", "POST abandon", _COLLECT),
    Verb("GarbageCollection", "held_jobs", _R, "gc jobs", "GET jobs", _READ_REPOSITORY),
    Verb("GarbageCollection", "abandon_jobs", _S, "gc abandon-jobs", "POST jobs/abandon", _COLLECT),
    Verb("GarbageCollection", "status", _R, "gc report", "GET", _READ_REPOSITORY),
    Verb("GarbageCollection", "drop", _S, "gc drop", "POST drop", (*_COLLECT, *_DROP)),
    Verb(
        "GarbageCollection",
        "run",
        _S,
        "gc run",
        "POST run",
        (*_COLLECT, *(f"{each} if drops" for each in _DROP)),
    ),
    Verb("DeletedCollection", "status", _R, "gc report", "GET", ("fs:CollectGarbage deleted:names",)),
    Verb("DeletedCollection", "plan", _S, "gc plan", "POST plan", _ERASE),
    Verb("DeletedCollection", "sweep", _S, "gc sweep", "POST sweep", _ERASE),
    Verb("DeletedCollection", "run", _S, "gc run", "POST run", ("fs:CollectGarbage repository/*", _ERASE_ALL)),
    Verb("Pool", "load", _W, "load", "POST rows", _WRITE_ROWS, local="rows"),
    Verb("Pool", "load_engine", _R, "load", local="*"),
    Verb("Pool", "load_files", _W, "load", local="*"),
    Verb("Pool", "load_body", _W, "load", "POST load", _WRITE_ROWS, local="body"),
    Verb("Pool", "ingest_stream", _S, "ingest stream", local="*"),
    Verb("Pool", "query", _R, "query", "POST query", _QUERY),
    Verb("Pool", "fields", _R, "shell", "GET fields", ("fs:ReadObject {default}/object/",)),
    Verb("Pool", "summary", _R, "status", "GET summary", _READ_ROWS),
    Verb("Pool", "delete_rows", _W, "delete", "POST rows/delete", (*_DELETE_ROWS, *_READ_ROWS)),
    Verb("Pool", "delete_objects", _W, "delete", "POST objects/delete", _DELETE_ROWS),
    Verb("Pool", "compact", _W, "compact", "POST compact", _WRITE_ROWS),
    Verb("Pool", "try_compact", _R, "compact", "POST compact/try", _READ_ROWS),
    Verb("Ref", "resolve", _R, "show", "GET", _READ_COMMIT),
    Verb("Ref", "log", _R, "log", "GET commits", _LOG),
    Verb("Ref", "log_graph", _R, "log", "GET commits/graph", _LOG),
    Verb("Ref", "diff", _R, "diff", "GET diff/{right}", _DIFF, ("objects {self}", "objects {right}")),
    Verb("Ref", "diff_tables", _R, local="*"),
    Verb("Ref", "diff_count", _R, "diff", "GET diff/{right}/count", _COUNT_DIFF),
    Verb("Ref", "diff_folders", _R, "diff", "GET diff/{right}/folders", _COUNT_DIFF),
    Verb(
        "Ref",
        "diff_objects",
        _R,
        "diff",
        "GET diff/{right}/objects",
        (*_DIFF, "fs:ReadObject {self}/object/", "fs:ReadObject {right}/object/"),
    ),
    Verb("Ref", "blame", _R, "blame", "GET blame", (*_READ_COMMIT, *_READ)),
    Verb("Ref", "blame_folder", _R, "blame", "GET blame/folder", (*_READ_COMMIT, *_LIST), _VISIBLE),
    Verb("Ref", "list", _R, "fs ls", "GET objects", _LIST, _VISIBLE),
    Verb("Ref", "list_page", _R, "fs ls", "GET objects/page", _LIST, _VISIBLE),
    Verb("Ref", "list_pages", _R, "fs ls", "GET objects/pages", _LIST, _VISIBLE),
    Verb("Ref", "list_table", _R, local="*"),
    Verb("Ref", "snapshot", _R, local="*"),
    Verb("Ref", "open", _R, route="GET objects/open", needs=_READ),
    Verb("Ref", "stat", _R, "fs stat", "GET objects/stat", _READ),
    Verb("Ref", "presign", _R, "fs presign", "GET objects/presigned", _READ),
    Verb("Ref", "stat_many", _R, "fs stat", "POST objects/stat_many", ("fs:ReadObject {self}/object/{paths}",)),
    Verb("Ref", "details", _R, "fs stat", "GET objects/details", _READ),
    Verb("Ref", "stream", _R, "fs cat", "GET objects/stream", _READ),
    Verb("Ref", "read", _R, "fs cat", "GET objects/body", _READ),
    Verb("Ref", "download", _R, "fs download", needs=_READ, local="*"),
    Verb("Ref", "download_folder", _R, "fs download", needs=("fs:ReadObject {self}/object/{prefix}*",), local="*"),
    Verb("Ref", "checkout", _R, "checkout", needs=("fs:ReadObject {self}/object/{prefix}*",), local="*"),
    Verb("Ref", "export", _R, "export", needs=("fs:ReadObject {self}/object/{prefix}*",), local="*"),
    Verb("WritableRef", "status", _R, "status", "GET status", _READ_BRANCH, _VISIBLE),
    Verb("WritableRef", "status_table", _R, "status", "GET status/table", _READ_BRANCH, _VISIBLE),
    Verb("WritableRef", "status_count", _R, "diff", "GET status/count", _COUNT_STAGED),
    Verb("WritableRef", "status_folders", _R, "diff", "GET status/folders", _COUNT_STAGED),
    Verb("WritableRef", "put", _W, "fs upload", "PUT objects", _WRITE, local="body"),
    Verb("WritableRef", "upload", _W, "fs upload", needs=("fs:WriteObject {self}/object/{to}*",), local="*"),
    Verb(
        "WritableRef",
        "upload_archive",
        _W,
        "fs upload",
        "POST objects/archive",
        ("fs:WriteObject {self}/object/{to}*",),
        local="body",
    ),
    Verb("WritableRef", "delete", _W, "fs rm", "POST objects/delete", ("fs:DeleteObject {self}/object/{paths}",)),
    Verb("WritableRef", "delete_if", _W, "", "POST objects/delete_if", ("fs:DeleteObject {self}/object/{path}",)),
    Verb(
        "WritableRef",
        "delete_folder",
        _W,
        "fs rm",
        "POST objects/delete_folder",
        ("fs:DeleteObject {self}/object/{prefix}*",),
    ),
    Verb(
        "WritableRef",
        "copy",
        _W,
        "fs cp",
        "POST objects/copy",
        ("fs:ReadObject {source.ref}/object/{path}", "fs:WriteObject {self}/object/{to}"),
    ),
    Verb(
        "WritableRef",
        "copy_folder",
        _W,
        "fs cp",
        "POST objects/copy_folder",
        ("fs:ReadObject {source.ref}/object/{prefix}*", "fs:WriteObject {self}/object/{to}*"),
    ),
    Verb(
        "WritableRef",
        "move",
        _W,
        "fs mv",
        "POST objects/move",
        (*_READ, "fs:DeleteObject {self}/object/{path}", "fs:WriteObject {self}/object/{to}"),
    ),
    Verb(
        "WritableRef",
        "move_folder",
        _W,
        "fs mv",
        "POST objects/move_folder",
        (
            "fs:ReadObject {self}/object/{prefix}*",
            "fs:DeleteObject {self}/object/{prefix}*",
            "fs:WriteObject {self}/object/{to}*",
        ),
    ),
    Verb("WritableRef", "create_upload", _W, route="POST uploads", needs=_WRITE),
    Verb("WritableRef", "open_upload", _H),
    Verb("Branch", "show", _R, "status", "GET", _READ_BRANCH),
    Verb("Branch", "commit", _W, "commit", "POST commits", ("fs:CreateCommit {self}",)),
    Verb("Branch", "reset", _W, "reset", "POST reset", ("fs:ResetBranch {self}", "fs:ReadCommit {to?}")),
    Verb("Branch", "address", _W, "fs address", "POST objects/address", _WRITE),
    Verb("Branch", "put_address", _S, "", "PUT objects/address/body", _WRITE, local="body"),
    Verb("Branch", "link", _W, "fs link", "POST objects/link", (*_IMPORT, *_WRITE), local="url"),
    Verb("Branch", "link_address", _W, "fs link", "PUT objects/address", _WRITE),
    Verb(
        "Branch",
        "import_files",
        _W,
        "import",
        "POST import",
        (*_IMPORT, "fs:WriteObject {self}/object/{sources.prefix}*"),
        local="sources",
    ),
    Verb(
        "Branch",
        "try_import",
        _R,
        "import",
        "POST import/try",
        (*_IMPORT, "fs:ReadObject {self}/object/{sources.prefix}*"),
        local="sources",
    ),
    Verb(
        "Branch",
        "ingest",
        _W,
        "ingest commit",
        "POST ingest",
        (*_IMPORT, "fs:WriteObject {self}/object/{source.prefix}*", "fs:DeleteObject {self}/object/{source.prefix}*"),
        local="source",
    ),
    Verb(
        "Branch",
        "ingest_diff",
        _R,
        "ingest diff",
        "POST ingest/diff",
        (*_IMPORT, "fs:ReadObject {self}/object/{source.prefix}*"),
        local="source",
    ),
    Verb(
        "Branch",
        "ingest_watch",
        _S,
        "ingest watch",
        needs=(
            *_IMPORT,
            "fs:WriteObject {self}/object/{source.prefix}*",
            "fs:DeleteObject {self}/object/{source.prefix}*",
        ),
        local="*",
    ),
    Verb("Branch", "stash", _W, "stash push", "POST stashes", _STASH),
    Verb("Branch", "pop_stash", _W, "stash pop", "POST stashes/pop", _STASHED),
    Verb("Branch", "drop_stash", _W, "stash drop", "POST stashes/drop", _STASHED),
    Verb("Branch", "merge", _W, "merge", "POST merge", _MERGE),
    Verb("Branch", "try_merge", _R, "merge", "POST merge/try", _TRY_MERGE),
    Verb("Branch", "revert", _W, "revert", "POST revert", _REPLAY),
    Verb("Branch", "cherry_pick", _W, "cherry-pick", "POST cherry_pick", _REPLAY),
    Verb("Branch", "rebase", _W, "rebase", "POST rebase", ("fs:ResetBranch {self}", "fs:ReadCommit {onto}")),
    Verb(
        "Branch",
        "rename",
        _W,
        "branch rename",
        "POST rename",
        ("fs:DeleteBranch {self}", "fs:CreateBranch {repository}/branch/{to}"),
    ),
    Verb("Branch", "workspace", _W, "workspace create", "POST workspaces", _CREATE_WORKSPACE),
    Verb("Branch", "transaction", _W, needs=(*_CREATE_WORKSPACE, "fs:CreateCommit {self}")),
    Verb("Workspace", "show", _R, "workspace show", "GET", _READ_WORKSPACE),
    Verb("Workspace", "path", _R, "workspace path", "GET path", _READ_WORKSPACE),
    Verb("Workspace", "changes", _R, "workspace diff", "GET changes", _READ_WORKSPACE, _VISIBLE),
    Verb("Workspace", "changes_table", _R, "workspace diff", "GET changes/table", _READ_WORKSPACE, _VISIBLE),
    Verb("Workspace", "add", _W, "workspace add", "POST add", _CREATE_WORKSPACE),
    Verb("Workspace", "all", _W, "workspace add", "POST all", _CREATE_WORKSPACE),
    Verb("Workspace", "revert", _W, "workspace revert", "POST revert", _CREATE_WORKSPACE),
    Verb("Workspace", "commit", _W, "workspace commit", "POST commits", ("fs:CreateCommit {self}",)),
    Verb("Workspace", "drop", _W, "workspace drop", "DELETE", _CREATE_WORKSPACE),
    Verb("PullRequest", "show", _R, "pr show", "GET", _READ_PULL),
    Verb(
        "PullRequest",
        "comments",
        _R,
        "pr show",
        "GET comments",
        _READ_PULL,
        ("fs:ReadObject {pull.source}/object/{item.path?}",),
    ),
    Verb("PullRequest", "checks", _R, "pr checks", "GET checks", _READ_PULL),
    Verb("PullRequest", "diff", _R, "pr diff", "GET diff", _DIFF_PULL, _PULL_OBJECTS),
    Verb("PullRequest", "conflicts", _R, "pr resolve", "GET conflicts", _DIFF_PULL, _PULL_OBJECTS),
    Verb("PullRequest", "update", _W, "pr edit", "PUT", _WRITE_PULL),
    Verb("PullRequest", "close", _W, "pr close", "POST close", _WRITE_PULL),
    Verb("PullRequest", "reopen", _W, "pr reopen", "POST reopen", _WRITE_PULL),
    Verb(
        "PullRequest",
        "review",
        _W,
        "pr review",
        "POST reviews",
        (*_DIFF_PULL, "fs:ReviewPullRequest {pull.target}"),
    ),
    Verb(
        "PullRequest",
        "dismiss_review",
        _W,
        "pr review",
        "POST reviews/dismiss",
        (*_READ_PULL, "fs:DismissReview {pull.target}"),
    ),
    Verb("PullRequest", "comment", _W, "pr comment", "POST comments", _WRITE_PULL),
    Verb("PullRequest", "edit_comment", _W, "pr comment", "PUT comments/{comment}", _WRITE_PULL),
    Verb("PullRequest", "resolve_thread", _W, "pr comment", "POST comments/{thread}/resolve", _WRITE_PULL),
    Verb("PullRequest", "check", _W, "pr check", "POST checks", (*_READ_PULL, "fs:ReportCheck {pull.target}")),
    Verb(
        "PullRequest",
        "resolve",
        _W,
        "pr resolve",
        "POST resolve",
        (
            *_DIFF_PULL,
            "fs:MergeBranch {pull.source}",
            "fs:CreateCommit {pull.source}",
            "fs:WriteObject {pull.source}/object/{choices.path}",
        ),
    ),
    Verb("PullRequest", "merge", _W, "pr merge", "POST merge", (*_DIFF_PULL, "fs:MergeBranch {pull.target}")),
    Verb("Upload", "show", _R, route="GET", needs=_READ_UPLOAD),
    Verb("Upload", "parts", _R, route="GET parts", needs=_READ_UPLOAD),
    Verb("Upload", "put_part", _W, route="PUT parts/{number}", needs=_WRITE_UPLOAD),
    Verb(
        "Upload",
        "copy_part",
        _W,
        route="POST parts/{number}/copy",
        needs=(*_WRITE_UPLOAD, "fs:ReadObject {source.ref}/object/{path}"),
    ),
    Verb("Upload", "complete", _W, route="POST complete", needs=_WRITE_UPLOAD),
    Verb("Upload", "abort", _W, route="DELETE", needs=_WRITE_UPLOAD),
    Verb("Checkout", "status", _R, "status", local="*"),
    Verb("Checkout", "pull", _S, "pull", local="*"),
    Verb("Checkout", "commit", _W, "commit", local="*"),
    Verb("Frames", "read", _R, local="*"),
    Verb("Frames", "metadata", _R, local="*"),
    Verb("Frames", "scan", _R, local="*"),
    Verb("Frames", "parts", _R, local="*"),
    Verb("Frames", "feed", _R, local="*"),
    Verb("Frames", "changes", _R, local="*"),
    Verb("Frames", "feed_start", _R, local="*"),
    Verb("Frames", "feed_end", _R, local="*"),
    Verb("Frames", "feed_batch", _R, local="*"),
    Verb("Frames", "source_scan", _R, local="*"),
    Verb("Frames", "prune", _R, local="*"),
    Verb("Frames", "diff", _R, local="*"),
    Verb("Frames", "write", _W, local="*"),
    Verb("Frames", "change", _W, local="*"),
    Verb("Frames", "begun", _H),
    Verb("Frames", "stream", _S, local="*"),
    Verb(
        "Access",
        "users",
        _R,
        "auth users list",
        "GET users",
        shows=("auth:ListUsers user/{item.name}", "auth:ReadUser user/{item.name}"),
    ),
    Verb("Access", "user", _R, "auth users show", "GET users/{name}", ("auth:ReadUser user/{name}",)),
    Verb("Access", "create_user", _W, "auth users create", "POST users", ("auth:CreateUser user/{name}",)),
    Verb("Access", "delete_user", _W, "auth users delete", "DELETE users/{name}", ("auth:DeleteUser user/{name}",)),
    Verb(
        "Access",
        "set_disabled",
        _W,
        "auth users disable",
        "PUT users/{name}/disabled",
        ("auth:DisableUser user/{name}",),
    ),
    Verb(
        "Access",
        "groups",
        _R,
        "auth groups list",
        "GET groups",
        shows=("auth:ListGroups group/{item.name}", "auth:ReadGroup group/{item.name}"),
    ),
    Verb("Access", "group", _R, "auth groups show", "GET groups/{name}", ("auth:ReadGroup group/{name}",)),
    Verb("Access", "create_group", _W, "auth groups create", "POST groups", ("auth:CreateGroup group/{name}",)),
    Verb(
        "Access", "delete_group", _W, "auth groups delete", "DELETE groups/{name}", ("auth:DeleteGroup group/{name}",)
    ),
    Verb(
        "Access",
        "add_member",
        _W,
        "auth groups add",
        "PUT groups/{group}/members/{user}",
        ("auth:AddMember group/{group}", "auth:AddMember user/{user}"),
    ),
    Verb(
        "Access",
        "remove_member",
        _W,
        "auth groups remove",
        "DELETE groups/{group}/members/{user}",
        ("auth:RemoveMember group/{group}", "auth:RemoveMember user/{user}"),
    ),
    Verb("Access", "keys", _R, "auth keys list", "GET users/{user}/keys", _READ_USER),
    Verb("Access", "key", _R, "auth keys revoke", "GET keys/{id}", ("auth:ReadUser owner:id",)),
    Verb("Access", "create_key", _W, "auth keys create", "POST users/{user}/keys", ("auth:CreateKey user/{user}",)),
    Verb(
        "Access",
        "rotate_key",
        _W,
        "auth keys rotate",
        "POST keys/{id}/rotate",
        ("auth:CreateKey owner:id", "auth:RevokeKey owner:id"),
    ),
    Verb("Access", "create_token", _R, "auth tokens create", "POST keys/{id}/tokens", ("auth:CreateToken owner:id",)),
    Verb("Access", "revoke_key", _W, "auth keys revoke", "DELETE keys/{id}", ("auth:RevokeKey owner:id",)),
    Verb("Access", "sessions", _R, "auth sessions list", "GET sessions", shows=("auth:ReadUser signed-in:item",)),
    Verb("Access", "end_session", _W, "auth sessions end", "DELETE sessions/{id}", ("auth:EndSession signed-in:id",)),
    Verb(
        "Access",
        "end_sessions",
        _W,
        "auth sessions end",
        "DELETE users/{user}/sessions",
        ("auth:EndSession user/{user}",),
    ),
    Verb(
        "Access",
        "identities",
        _R,
        "auth identities list",
        "GET identities",
        shows=("auth:ReadUser user/{item.user}",),
    ),
    Verb(
        "Access",
        "link_identity",
        _W,
        "auth identities link",
        "POST users/{user}/identities",
        ("auth:LinkIdentity user/{user}",),
    ),
    Verb(
        "Access",
        "unlink_identity",
        _W,
        "auth identities unlink",
        "DELETE users/{user}/identities",
        ("auth:LinkIdentity user/{user}",),
    ),
    Verb(
        "Access",
        "policies",
        _R,
        "auth policies list",
        "GET policies",
        shows=("auth:ListPolicies policy/{item.name}", "auth:ReadPolicy policy/{item.name}"),
    ),
    Verb("Access", "policy", _R, "auth policies show", "GET policies/{name}", ("auth:ReadPolicy policy/{name}",)),
    Verb("Access", "put_policy", _W, "auth policies put", "PUT policies/{name}", ("auth:PutPolicy policy/{name}",)),
    Verb(
        "Access",
        "delete_policy",
        _W,
        "auth policies delete",
        "DELETE policies/{name}",
        ("auth:DeletePolicy policy/{name}",),
    ),
    Verb(
        "Access",
        "attach",
        _W,
        "auth attach",
        "PUT users/{user}/policies/{policy}",
        ("auth:AttachPolicy policy/{policy}", "auth:AttachPolicy user/{user}"),
    ),
    Verb(
        "Access",
        "detach",
        _W,
        "auth detach",
        "DELETE users/{user}/policies/{policy}",
        ("auth:DetachPolicy policy/{policy}", "auth:DetachPolicy user/{user}"),
    ),
    Verb(
        "Access",
        "attach_to_group",
        _W,
        "auth attach",
        "PUT groups/{group}/policies/{policy}",
        ("auth:AttachPolicy policy/{policy}", "auth:AttachPolicy group/{group}"),
    ),
    Verb(
        "Access",
        "detach_from_group",
        _W,
        "auth detach",
        "DELETE groups/{group}/policies/{policy}",
        ("auth:DetachPolicy policy/{policy}", "auth:DetachPolicy group/{group}"),
    ),
    Verb("Access", "can", _R, "auth can", "GET users/{user}/can", (*_READ_USER, "auth:ReadPolicy policy/*")),
    Verb("Access", "actions", _H, "auth actions"),
)
