"""Garbage collection in the simulator: the product's own plan and sweep, with no grace at all.

What a plan lists is swept at once, which no reader in a scene minds. Whatever the tripwire stops is a violation: by the
rules nothing that a plan lists is ever named again.
"""

from contextlib import suppress

from lochan.errors import Corrupt, LochanError
from lochan.formats.record import Actor
from lochan.versioning.collection.plan import CollectionLimits, abandon, plan
from lochan.versioning.collection.sweep import sweep
from lochan.versioning.open_repository import OpenRepository

AT_ONCE = CollectionLimits(grace_s=-1e9, confirmed=True, records=0)
LAKE = "lake"


async def collect(repository: OpenRepository, actor: Actor) -> None:
    """A plan that another collector has left behind, or is still about to sweep, is abandoned first."""
    with suppress(LochanError):
        await abandon(repository, actor=actor)
    try:
        await plan(repository, LAKE, AT_ONCE, actor=actor)
        await sweep(repository, LAKE, AT_ONCE, actor=actor)
    except Corrupt:
        raise
    except LochanError:
        return
