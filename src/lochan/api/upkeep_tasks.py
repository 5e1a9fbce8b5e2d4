"""The tasks of upkeep, as one table: the name of each, its standard schedule, and the act that does it."""

from collections.abc import Mapping

from lochan.api import upkeep_acts as acts
from lochan.api.upkeep_options import DAY_US as DAY_US
from lochan.api.upkeep_options import STANDARD_OPTIONS as STANDARD_OPTIONS
from lochan.api.upkeep_options import Act as Act
from lochan.api.upkeep_options import Did as Did
from lochan.api.upkeep_options import TaskStep as TaskStep
from lochan.api.upkeep_options import UpkeepOptions as UpkeepOptions
from lochan.api.upkeep_options import UpkeepTask as UpkeepTask

TASKS: Mapping[str, UpkeepTask] = {
    each.name: each
    for each in (
        UpkeepTask("trim", "pack old journal records into segments, delete old checkpoints", "1h", acts.trim),
        UpkeepTask("uploads", "abort old multipart uploads, give up expired address tokens", "1h", acts.abort_uploads),
        UpkeepTask("jobs", "give up jobs whose process is gone", "1h", acts.abandon_jobs),
        UpkeepTask("staging", "merge staged changes on branches that nobody writes to", "6h", acts.merge_staged),
        UpkeepTask("usage", "merge and age the usage log", "24h", acts.merge_usage),
        UpkeepTask("compact", "merge data objects of pools that overlap or are small", "off", acts.compact_pools),
        UpkeepTask("ingest", "make branches the same as the places they follow", "off", acts.ingest),
        UpkeepTask("expire", "let expire what retention rules no longer keep", "off", acts.expire),
        UpkeepTask("gc", "sweep, drop, expire and plan in every repository", "off", acts.collect),
        UpkeepTask("deleted", "erase deleted repositories that can no longer be restored", "off", acts.erase_deleted),
        UpkeepTask("repack", "rewrite files that are mostly dead", "off", acts.repack),
        UpkeepTask("dedupe", "keep equal blocks once", "off", acts.dedupe),
        UpkeepTask("scrub", "read data and compare it with its SHA-256", "off", acts.scrub),
    )
}
