"""Deletes what a plan lists, no sooner than a grace after the plan (G5).

By the rules nothing can name those files any more. All the same everything is marked once more before: if a mark hits
the list, nothing is deleted. A sweep that was interrupted is done again, and deletes what is still there.
"""

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from lochan.concurrency import map_concurrently
from lochan.errors import Corrupt, Refused
from lochan.failpoints import fp
from lochan.formats import json_file, plan_list
from lochan.formats.collection_events import PlanEnded
from lochan.formats.plan_list import FOLDER
from lochan.formats.record import Actor
from lochan.versioning.collection.listing import list_files
from lochan.versioning.collection.marks import LiveMarks
from lochan.versioning.collection.plan import STANDARD, CollectionLimits, DeadFiles
from lochan.versioning.collection.roots import RootScan
from lochan.versioning.collection.store_clock import age_of, hours
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.refs import Refs

_AT_ONCE = 32
_REPORT_VERSION = 1


class SweepReport(msgspec.Struct, frozen=True):
    """On somebody's disk, as `plans/<number>-report.json`; fields are only ever added."""

    plan: int
    files: int  # that were there still, and were deleted
    bytes: int
    format: int = _REPORT_VERSION


async def sweep(
    repository: OpenRepository, lake: str, limits: CollectionLimits = STANDARD, *, actor: Actor
) -> SweepReport:
    """Raises Refused if there is nothing to sweep, it is too early, or too much would go; Corrupt for a list that is
    damaged, of another lake, or names a file that is alive."""
    refs, _ = await repository.refs()
    dead = await planned(repository, refs, lake)
    await _check_age(repository, refs, limits)
    _check_share(dead, limits)
    await _trip(repository, refs, dead)
    fp("sweep.checked")
    left = await _still_there(repository, dead)
    await _delete(repository, left["path"].to_pylist())
    fp("sweep.deleted")
    made = SweepReport(refs.collection.running, len(left), DeadFiles(dead.head, left).bytes)
    await repository.store.put(report_path(repository, made.plan), json_file.seal(made))
    await repository.submit(actor, PlanEnded(made.plan, "reported"))
    return made


async def planned(repository: OpenRepository, refs: Refs, lake: str) -> DeadFiles:
    """What the plan that is under way lists."""
    file = refs.collection.list_of(refs.collection.running)
    if not file:
        raise Refused("no plan is under way", hint="`lochan gc plan REPO` makes one")
    head, files = plan_list.decode(file, await repository.store.get(f"{repository.repository.id}/{file}"))
    if (head.lake, head.repository) != (lake, repository.repository.id):
        raise Corrupt(f"the list {file} is that of another lake or repository", hint="nothing was deleted")
    return DeadFiles(head, files)


async def report_of(repository: OpenRepository, plan: int) -> SweepReport:
    """Raises NotFound if the plan was not swept."""
    path = report_path(repository, plan)
    fields = json_file.unseal(await repository.store.get(path), path, "the files are deleted all the same").fields
    return msgspec.convert(fields, SweepReport)


def report_path(repository: OpenRepository, plan: int) -> str:
    return f"{repository.repository.id}/{FOLDER}/{plan:020d}-report.json"


async def _check_age(repository: OpenRepository, refs: Refs, limits: CollectionLimits) -> None:
    age = await age_of(repository, refs.collection.list_of(refs.collection.running))
    if age < limits.grace_s:
        raise Refused(
            f"the plan is {hours(age)} old, and readers have a grace of {hours(limits.grace_s)}",
            hint=f"sweep it in {hours(limits.grace_s - age)}",
        )


def _check_share(dead: DeadFiles, limits: CollectionLimits) -> None:
    share = dead.bytes / dead.head.bytes if dead.head.bytes else 0.0
    if share > limits.share_max and not limits.confirmed:
        raise Refused(
            f"{share:.0%} of the repository's bytes would be deleted, and more than {limits.share_max:.0%} is unusual",
            hint="look at the plan, and confirm the sweep with --confirm",
        )


async def _trip(repository: OpenRepository, refs: Refs, dead: DeadFiles) -> None:
    """The tripwire: by the rules it never finds anything."""
    names, roots = refs.collection.alias_names, RootScan(repository.repository.id).look(refs)
    marks = LiveMarks(repository, await repository.places.load(names))
    await marks.add(roots)
    alive = len(dead.files) - len(marks.dead(dead.files))
    if alive:
        message = f"{alive} of the files that the plan {refs.collection.running} lists are named again"
        repository.journal.schema.alarm(message)
        raise Corrupt(message, hint="nothing was deleted; report this, and `lochan gc abandon REPO` gives the plan up")


async def _still_there(repository: OpenRepository, dead: DeadFiles) -> pa.Table:
    there = await list_files(repository.store, repository.repository.id)
    return dead.files.filter(pc.is_in(dead.files["path"], value_set=there["path"].combine_chunks()))


async def _delete(repository: OpenRepository, paths: list[str]) -> None:
    prefix = f"{repository.repository.id}/"
    await map_concurrently(lambda path: repository.store.delete(prefix + path), paths, _AT_ONCE)
