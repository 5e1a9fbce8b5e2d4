"""A commit as the command line shows it."""

from typing import TYPE_CHECKING, Any

from lochan.cli.output.records import instant

if TYPE_CHECKING:
    from lochan.formats.commit import Commit

SHORT = 12  # digits of an id, where a person reads it


def commit_record(id: str, commit: "Commit") -> dict[str, Any]:
    return {
        "id": id,
        "parents": list(commit.parents),
        "author": commit.author,
        "committer": commit.committer,
        "date": instant(commit.date),
        "message": commit.message,
        "metadata": dict(commit.metadata),
        "tree": commit.tree,
    }


def title(message: str) -> str:
    return message.partition("\n")[0]
