"""The functions that the classes of the data source need in the processes that Spark starts. Those processes import
little else, and none of the verbs (`lochan.api.frames`)."""

from typing import TYPE_CHECKING

from lochan.engines.spark.executors import query_of_task as query_of_task
from lochan.engines.spark.executors import ship as ship
from lochan.engines.spark.frames.origin import origins_in as origins_in
from lochan.engines.spark.frames.origin import origins_of as origins_of
from lochan.engines.spark.progress import is_remote as is_remote
from lochan.jobs.messages import TaskFailed as TaskFailed
from lochan.jobs.messages import decode_message as decode_message
from lochan.jobs.messages import encode_message as encode_message
from lochan.jobs.row_change_columns import CHANGE_COLUMNS as CHANGE_COLUMNS
from lochan.jobs.row_change_columns import DELETE as DELETE
from lochan.jobs.row_change_columns import INSERT as INSERT
from lochan.jobs.row_change_columns import UPDATE as UPDATE
from lochan.jobs.streams.batches import query_of as query_of

if TYPE_CHECKING:
    from lochan.jobs.job_commit import LandResult as LandResult
    from lochan.jobs.messages import TaskMessage as TaskMessage
    from lochan.jobs.streams.batches import BatchListener as BatchListener
    from lochan.jobs.write import WriteJob as WriteJob
