"""What the classes of the data source need in the processes that Spark starts. They import little beside it, and the
verbs (`lochan.api.frames`) import none of it."""

from typing import TYPE_CHECKING

from lochan.engines.spark.executors import query_of_task, ship
from lochan.engines.spark.frames.origin import origins_in, origins_of
from lochan.engines.spark.progress import is_remote
from lochan.jobs.messages import TaskFailed
from lochan.jobs.messages import decode as decode_message
from lochan.jobs.messages import encode as encode_message

if TYPE_CHECKING:
    from lochan.jobs.job_commit import LandResult
    from lochan.jobs.messages import TaskMessage
    from lochan.jobs.streams.batches import BatchListener
    from lochan.jobs.write import WriteJob

__all__ = [
    "BatchListener",
    "LandResult",
    "TaskFailed",
    "TaskMessage",
    "WriteJob",
    "decode_message",
    "encode_message",
    "is_remote",
    "origins_in",
    "origins_of",
    "query_of_task",
    "ship",
]
