"""The requests of a process that is killed: every verb of versioning, alone and beside others, so that every step of
each runs. A later life repeats the same requests, whatever an earlier one has left. The model predicts which of them
are then refused.
"""

from tests.model.versioned.requests import Request

Step = list[Request]  # asked for at once, each of another of the two lakes that a process has open


def workload(life: int) -> list[Step]:
    return [*_staging(life), *_commits(life), *_moves(life), *_branches(life), *_aside(life), *_workspaces(life)]


def _staging(life: int) -> list[Step]:
    return [
        [Request("set_read_only", (False,))],
        [Request("put", ("main", "a", f"{life} a"))],
        [Request("put_many", ("main", {"a/b": f"{life} ab", "b": "b", "z": f"{life} z"}))],
        [Request("compact", ("main",))],
        [Request("put_runs", ("main", {"a/c": f"{life} ac", "b": None}))],
        [Request("delete", ("main", ("z", "ü/x")))],
        [Request("copy_folder", ("main", "a/", "main", "c/"))],
        [Request("compact", ("main",)), Request("put", ("main", "ü/x", f"{life} x"))],
        [Request("move", ("main", "a", "z"))],
    ]


def _commits(life: int) -> list[Step]:
    """Two at once, so that one is refused and takes a turn."""
    return [
        [Request("commit", ("main", ("a/**",), False))],
        [Request("commit", ("main", (), True)), Request("commit", ("main", (), True))],
        [Request("create_branch", ("dev", "main"))],
        [Request("put", ("main", "b", f"{life} late")), Request("commit", ("main", (), True))],
        [Request("delete_folder", ("main", "c/"))],
        [Request("compact", ("main",))],
    ]


def _moves(life: int) -> list[Step]:
    return [
        [Request("put", ("dev", "a", f"{life} dev"))],
        [Request("commit", ("dev", (), False))],
        [Request("merge", ("dev", "main", "default", False, False, ()))],
        [Request("put", ("main", "b", f"{life} again"))],
        [
            Request("merge", ("dev", "main", "source-wins", False, True, ("b",))),
            Request("put", ("main", "z", "beside")),
        ],
        [Request("put", ("main", "a", f"{life} dropped"))],
        [Request("unstage", ("main", ("a",), None))],
        [Request("reset_staged", ("main",))],
        [Request("revert", ("main", "main", None)), Request("revert", ("main", "main", None))],
        [Request("cherry_pick", ("dev", "main", None))],
        [Request("rebase", ("dev", "main"))],
        [Request("bring_in", ("main", "s3://out/one/", "", False))],
        [Request("hard_reset", ("dev", "main~1"))],
    ]


def _branches(life: int) -> list[Step]:
    return [
        [Request("put", ("dev", "a", f"{life} staged"))],
        [Request("delete_branch", ("dev",)), Request("commit", ("dev", (), False))],
        [Request("create_branch", ("dev", "main"))],
        [Request("rename_branch", ("dev", "other"))],
        [Request("restore_branch", ("dev",))],
        [Request("delete_branch", ("other",))],
        [Request("commit", ("dev", (), False))],
    ]


def _aside(life: int) -> list[Step]:
    return [
        [Request("put", ("main", "a", f"{life} aside"))],
        [Request("push", ("main",)), Request("put", ("main", "ü/x", f"{life} aside"))],
        [Request("reset_staged", ("main",))],
        [Request("pop", ("main", ""))],
        [Request("compact", ("main",))],
        [Request("push", ("main",))],
        [Request("pop", ("dev", "main"))],
        [Request("commit", ("dev", (), False)), Request("merge", ("dev", "main", "dest-wins", False, True, ()))],
    ]


def _workspaces(life: int) -> list[Step]:
    return [
        [Request("open_workspace", ("main",))],
        [Request("put_workspace", ("a", f"{life} workspace"))],
        [Request("put_workspace", ("w/1", f"{life} workspace"))],
        [Request("delete_workspace", ("w/1",))],
        [Request("delete_workspace", ("z",))],
        [Request("commit_workspace", ()), Request("commit", ("main", (), True))],
        [Request("open_workspace", ("dev",))],
        [Request("put_workspace", ("a", f"{life} dropped"))],
        [Request("drop_workspace", ())],
    ]
