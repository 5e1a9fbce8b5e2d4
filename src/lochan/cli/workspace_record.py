"""A workspace as the command line shows it, and as it is named there."""

from shlex import quote
from typing import TYPE_CHECKING, Any

from lochan.cli.shown import instant
from lochan.cli.uri import repository_uri
from lochan.errors import Invalid
from lochan.versioning.expression import parse

if TYPE_CHECKING:
    from lochan.cli.uri import Uri
    from lochan.versioning.state.workspaces import WorkspaceState


def workspace_record(workspace: "WorkspaceState", place: str) -> dict[str, Any]:
    return {
        "id": workspace.id,
        "branch": workspace.branch,
        "ref": workspace.ref,
        "fork": workspace.fork,
        "user": workspace.user,
        "date": instant(workspace.time),
        "note": workspace.note,
        "added": list(workspace.added),
        "path": place,
    }


def named(repository: str, id: str) -> tuple["Uri", str]:
    """The two words by which a workspace is named; the second may be written as in a ref, `main+17-9f3a6c21`."""
    text = id if "+" in id else f"any+{id}"
    try:
        return repository_uri(repository), parse(text).workspace
    except Invalid as error:
        if error.hint.startswith("a branch, a plus"):
            raise Invalid(
                f"{id!r} is no workspace's id",
                hint=f"`lochan workspace list {quote(repository)}` shows those there are",
            ) from None
        raise
