"""Deletes what a plan lists, no sooner than a grace after the plan (G5).

By the rules nothing can name those files any more. All the same everything is marked once more before: if a mark hits
the list, nothing is deleted. After an interruption the sweep is repeated, and deletes what still exists."""

import msgspec

from lochan.errors import Corrupt, NotFound, Refused
from lochan.failpoints import fp
from lochan.formats import json_file
from lochan.formats.collection_events import PlanEnded
from lochan.formats.plan_list import FOLDER, PlanHead
from lochan.formats.record import Actor
from lochan.versioning.collection.embedded import EmbeddedCollection
from lochan.versioning.collection.engine import CollectionEngine, read_head
from lochan.versioning.collection.marks import CollectionLook
from lochan.versioning.collection.plan import NEVER, STANDARD, CollectionLimits, look_at
from lochan.versioning.collection.store_clock import age_of, hours
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.refs import Refs

_REPORT_VERSION = 1


class SweepReport(msgspec.Struct, frozen=True):
    """The counts of a sweep. Stored as `plans/<number>-report.json`; fields may only be added."""

    plan: int
    files: int  # the files that still existed, and were deleted
    bytes: int
    format: int = _REPORT_VERSION


async def sweep(
    repository: OpenRepository,
    lake: str,
    limits: CollectionLimits = STANDARD,
    *,
    actor: Actor,
    engine: CollectionEngine | None = None,
) -> SweepReport:
    """Deletes the files of the plan that is under way, and ends it. Raises Refused if there is nothing to sweep, it is
    too early, or too much would be deleted; raises Corrupt for a list that is damaged or incomplete, belongs to another
    lake, or names a file that is alive."""
    plan, head = await check_next(repository, lake, limits)
    engine = engine or EmbeddedCollection(repository)
    await _trip(repository, plan, head, engine)
    fp("sweep.checked")
    swept = await engine.delete(repository.repository.id, head.parts)
    fp("sweep.deleted")
    made = SweepReport(plan, swept.files, swept.bytes)
    await repository.store.put(report_path(repository, made.plan), json_file.seal(made))
    fp("sweep.reported")
    await repository.submit(actor, PlanEnded(made.plan, "reported"))
    return made


async def check_next(repository: OpenRepository, lake: str, limits: CollectionLimits) -> tuple[int, PlanHead]:
    """Returns the number of the plan to be swept, and its list. Raises the same as `sweep`."""
    refs, _ = await repository.refs()
    plan = refs.collection.running
    head = await read_plan(repository, refs, lake)
    await _check_age(repository, refs, limits)
    _check_share(head, limits)
    return plan, head


async def read_plan(repository: OpenRepository, refs: Refs, lake: str) -> PlanHead:
    """Returns the head of the list of the plan that is under way. Raises Refused if there is none, and Corrupt for a
    list that is damaged or gone."""
    file = refs.collection.list_of(refs.collection.running)  # before the next await, because refs keep changing
    if not file:
        raise Refused("no plan is under way", hint="`lochan gc plan REPO` makes one")
    try:
        head = await read_head(repository.store, repository.repository.id, file)
    except NotFound as error:
        raise Corrupt(
            f"the list {file} of the plan {refs.collection.running} is gone",
            hint="nothing was deleted; restore the file, or give the plan up with `lochan gc abandon REPO`",
        ) from error
    if (head.lake, head.repository) != (lake, repository.repository.id):
        raise Corrupt(f"the list {file} is that of another lake or repository", hint="nothing was deleted")
    return head


async def report_of(repository: OpenRepository, plan: int) -> SweepReport:
    """Returns the report of a plan. Raises NotFound if the plan was not swept."""
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


def _check_share(head: PlanHead, limits: CollectionLimits) -> None:
    share = head.dead_bytes / head.bytes if head.bytes else 0.0
    if share > limits.share_max and not limits.confirmed:
        raise Refused(
            f"{share:.1%} of the repository's bytes would be deleted, and more than {limits.share_max:.0%} is unusual",
            hint="look at the plan, and confirm the sweep with --confirm",
        )


async def _look_for(repository: OpenRepository, begun: int) -> CollectionLook:
    """Looks at what is alive now. A backup holds the whole repository open; if it began after the plan, it is left out,
    because it copies only what a later state names, and that is nothing that the plan lists."""
    look = await look_at(repository, NEVER)
    refs, _ = await repository.refs()
    whole = f"{repository.repository.id}/"
    if any(held.address == whole and held.number <= begun for _, held in refs.collection.all_held()):
        return look
    return look._replace(roots=look.roots._replace(folders=look.roots.folders - {whole}))


async def _trip(repository: OpenRepository, plan: int, head: PlanHead, engine: CollectionEngine) -> None:
    """Reads the whole list, and marks what is alive. This is the tripwire: by the rules no mark hits the list. Raises
    Corrupt if one does."""
    try:
        alive = await engine.still_named(await _look_for(repository, head.begun or plan), head.parts)
    except NotFound as error:
        raise Corrupt(
            f"a part of the list of plan {plan} is gone: {error.message}", hint="nothing was deleted; restore it"
        ) from error
    if alive:
        message = f"{alive} of the files that the plan {plan} lists are named again"
        repository.journal.schema.alarm(message)
        raise Corrupt(message, hint="nothing was deleted; report this, and `lochan gc abandon REPO` gives the plan up")
