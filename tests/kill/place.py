"""The lake of the kill tests: shipped modules only, with small groups and frequent checkpoints, so that little work
passes every step.
"""

from dataclasses import replace

from lochan.access.state import AccessState
from lochan.clock import SystemClock
from lochan.errors import AlreadyExists
from lochan.formats import lake_file
from lochan.ids import Ids
from lochan.journal.journal import Settings
from lochan.journal.open import Journals
from lochan.journal.state import Alarm
from lochan.lake import ALONE, LAKE_JOURNAL, Lake, LakeOptions
from lochan.store.open import open_store, stack
from lochan.store.protocol import Store
from lochan.versioning.repositories import Repositories

GROUP = 4
CLOCK = SystemClock()
IDS = Ids()
_SETTINGS = Settings(patience_s=3.0, checkpoint_every=3, mirror_every=3, mirror_s=0.02)


async def make_lake(store: Store, url: str) -> None:
    """Unless a life before this one has made it. `url`: the database's, or "" for journals on the store."""
    try:
        lake = await Lake.create(store, journal="postgres" if url else "store", journal_url=url)
    except AlreadyExists:
        return
    await lake.close()


async def open_lake(store: Store, url: str, alarm: Alarm, world: LakeOptions = ALONE) -> Lake:
    file = lake_file.decode(await store.get(lake_file.PATH), store.url)
    settings = replace(_SETTINGS, writer=IDS.ksuid(CLOCK.wall()))  # a queue tells the living from the dead by it
    journals = Journals(store, file, url, CLOCK, IDS, settings, alarm, group=GROUP)
    own = await journals.open(LAKE_JOURNAL, (Repositories, AccessState))
    return Lake(store, file, journals, own, CLOCK, IDS, world)


def lake_store(folder: str) -> Store:
    return stack(open_store(folder, create=True), clock=CLOCK, ids=IDS)
