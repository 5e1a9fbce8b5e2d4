"""What a process does that is killed: every verb of versioning, alone and beside others, so that every step of each is
passed. Whatever an earlier life has left, the same is asked for again; what is then refused, dictionaries foretell.
"""

from tests.model.versioned.wishes import Wish

Step = list[Wish]  # asked for at once, each of another of the two lakes that a process has open


def story(life: int) -> list[Step]:
    return [*_staging(life), *_commits(life), *_moves(life), *_branches(life), *_aside(life), *_workspaces(life)]


def _staging(life: int) -> list[Step]:
    return [
        [Wish("set_read_only", (False,))],
        [Wish("put", ("main", "a", f"{life} a"))],
        [Wish("put_many", ("main", {"a/b": f"{life} ab", "b": "b", "z": f"{life} z"}))],
        [Wish("compact", ("main",))],
        [Wish("put_runs", ("main", {"a/c": f"{life} ac", "b": None}))],
        [Wish("delete", ("main", ("z", "ü/x")))],
        [Wish("copy_folder", ("main", "a/", "main", "c/"))],
        [Wish("compact", ("main",)), Wish("put", ("main", "ü/x", f"{life} x"))],
        [Wish("move", ("main", "a", "z"))],
    ]


def _commits(life: int) -> list[Step]:
    """At once, so that one is refused and takes a turn."""
    return [
        [Wish("commit", ("main", ("a/**",), False))],
        [Wish("commit", ("main", (), True)), Wish("commit", ("main", (), True))],
        [Wish("create_branch", ("dev", "main"))],
        [Wish("put", ("main", "b", f"{life} late")), Wish("commit", ("main", (), True))],
        [Wish("delete_folder", ("main", "c/"))],
        [Wish("compact", ("main",))],
    ]


def _moves(life: int) -> list[Step]:
    return [
        [Wish("put", ("dev", "a", f"{life} dev"))],
        [Wish("commit", ("dev", (), False))],
        [Wish("merge", ("dev", "main", "default", False, False, ()))],
        [Wish("put", ("main", "b", f"{life} again"))],
        [Wish("merge", ("dev", "main", "source-wins", False, True, ("b",))), Wish("put", ("main", "z", "beside"))],
        [Wish("reset_staged", ("main",))],
        [Wish("revert", ("main", "main", None)), Wish("revert", ("main", "main", None))],
        [Wish("cherry_pick", ("dev", "main", None))],
        [Wish("rebase", ("dev", "main"))],
        [Wish("bring_in", ("main", "s3://out/one/", "", False))],
        [Wish("hard_reset", ("dev", "main~1"))],
    ]


def _branches(life: int) -> list[Step]:
    return [
        [Wish("put", ("dev", "a", f"{life} staged"))],
        [Wish("delete_branch", ("dev",)), Wish("commit", ("dev", (), False))],
        [Wish("create_branch", ("dev", "main"))],
        [Wish("rename_branch", ("dev", "other"))],
        [Wish("restore_branch", ("dev",))],
        [Wish("delete_branch", ("other",))],
        [Wish("commit", ("dev", (), False))],
    ]


def _aside(life: int) -> list[Step]:
    return [
        [Wish("put", ("main", "a", f"{life} aside"))],
        [Wish("push", ("main",)), Wish("put", ("main", "ü/x", f"{life} aside"))],
        [Wish("reset_staged", ("main",))],
        [Wish("pop", ("main", ""))],
        [Wish("compact", ("main",))],
        [Wish("push", ("main",))],
        [Wish("pop", ("dev", "main"))],
        [Wish("commit", ("dev", (), False)), Wish("merge", ("dev", "main", "dest-wins", False, True, ()))],
    ]


def _workspaces(life: int) -> list[Step]:
    return [
        [Wish("open_workspace", ("main",))],
        [Wish("put_workspace", ("a", f"{life} workspace"))],
        [Wish("put_workspace", ("w/1", f"{life} workspace"))],
        [Wish("delete_workspace", ("w/1",))],
        [Wish("delete_workspace", ("z",))],
        [Wish("commit_workspace", ()), Wish("commit", ("main", (), True))],
        [Wish("open_workspace", ("dev",))],
        [Wish("put_workspace", ("a", f"{life} dropped"))],
        [Wish("drop_workspace", ())],
    ]
