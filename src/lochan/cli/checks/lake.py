"""Whether the store keeps the one promise that a lake needs, and whether there is a lake on it."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from lochan.cli.checks.check import FAIL, OK, WARN, Check, failed
from lochan.cli.checks.disk import nearest_existing
from lochan.cli.session import no_lake, open_lake, open_store, reach
from lochan.clock import SystemClock
from lochan.config.find import LakeLocation
from lochan.config.values import Config
from lochan.errors import AlreadyExists, LochanError, NotFound
from lochan.ids import Ids
from lochan.store.probe import CREATORS, ProbeReport, probe

_SKEW_WARN_S = 60.0
_SKEW_FAIL_S = 15 * 60.0  # S3 refuses a request that was signed this far from its own time


async def check_lake(config: Config, found: LakeLocation) -> list[Check]:
    return [*await _store(config, found), await _lake(config, found)]


async def _store(config: Config, found: LakeLocation) -> list[Check]:
    try:
        with _place(found) as place:
            store = open_store(config, place)
            with suppress(AlreadyExists):  # a lake, for the next check to look at
                await reach(store)
            report = await probe(store, Ids(), SystemClock())
    except (LochanError, OSError) as error:
        return [failed("store", error)]
    return [_race(report), _clock(report)]


@contextmanager
def _place(found: LakeLocation) -> Iterator[LakeLocation]:
    """A folder that is not there yet is tested beside where it will be, and is still not there afterwards."""
    if found.folder is None or found.folder.exists():
        yield found
        return
    with tempfile.TemporaryDirectory(prefix=".lochan-doctor-", dir=nearest_existing(found.folder)) as beside:
        yield LakeLocation(beside, found.how)


def _race(report: ProbeReport) -> Check:
    races = f"{report.rounds} races of {CREATORS} creators had one winner each"
    return Check("store", OK, f"{report.url}: {races}; a create takes {report.latency_s * 1000:.1f} ms")


def _clock(report: ProbeReport) -> Check:
    skew = abs(report.skew_s)
    found = f"the store's clock is {skew:.0f} s {'ahead of' if report.skew_s > 0 else 'behind'} this machine's"
    if skew >= _SKEW_FAIL_S:
        return Check("clock", FAIL, found, "set this machine's clock (timedatectl set-ntp true)")
    if skew >= _SKEW_WARN_S:
        return Check("clock", WARN, found, "set this machine's clock (timedatectl set-ntp true)")
    return Check("clock", OK, "this machine's clock and the store's agree" if skew < 1 else found)


async def _lake(config: Config, found: LakeLocation) -> Check:
    try:
        async with open_lake(config) as lake:
            number = (await (await lake.journal()).fresh()).number
    except NotFound as error:
        none = no_lake(found)
        return Check("lake", WARN, none.message, none.hint) if str(error) == str(none) else failed("lake", error)
    except LochanError as error:
        return failed("lake", error)
    kept = "on the store" if lake.file.journal == "store" else f"in {lake.file.journal}"
    return Check("lake", OK, f"{lake.url}: format {lake.file.format}, journals {kept}, lake journal at record {number}")
