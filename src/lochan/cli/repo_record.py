"""A repository as the command line shows it."""

from typing import TYPE_CHECKING, Any

from lochan.cli.pool_record import settings_record
from lochan.cli.shown import instant

if TYPE_CHECKING:
    from lochan.versioning.repositories import Repository


def repository_record(repository: "Repository") -> dict[str, Any]:
    record = {
        "name": repository.name,
        "id": repository.id,
        "kind": repository.kind,
        "default_branch": repository.default_branch,
        "created": instant(repository.created),
        "created_by": repository.created_by,
        "metadata": dict(repository.metadata),
    }
    return record if repository.pool is None else {**record, "pool": settings_record(repository.pool)}
