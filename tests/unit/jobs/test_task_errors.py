"""Spark's report of a failed task becomes an error that says what to do."""

import pytest

from lochan.errors import Gone, Refused
from lochan.jobs.messages import TaskFailed, error_of, reports_errors

LOST = (
    "An error occurred while calling o62.getResult.\n: org.apache.spark.SparkException: Job aborted due to stage "
    "failure: Task 0 in stage 7.0 failed 4 times, most recent failure: Lost task 0.3 in stage 7.0 (TID 22) (127.0.0.1 "
    "executor 5): ExecutorLostFailure (executor 5 exited caused by one of the running tasks) Reason: Command exited "
    "with code 137\nDriver stacktrace:\n\tat org.apache.spark.scheduler.DAGScheduler"
)
FETCH = (
    "An error occurred while calling o469.getResult.\n: org.apache.spark.SparkException: Exception thrown in "
    "awaitResult: \n\tat org.apache.spark.util.ThreadUtils\nCaused by: org.apache.spark.SparkException: Job aborted "
    "due to stage failure: ShuffleMapStage 9 (toArrow at tasks.py:68) has failed the maximum allowable number of "
    "times: 4. Most recent failure reason:\norg.apache.spark.shuffle.MetadataFetchFailedException: Missing an output"
)
RAISED = "org.apache.spark.api.python.PythonException: Traceback:\n  File x\nValueError: no such day\n\tat org.apache"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LOST, "executors kept dying on the same task; the last one: Command exited with code 137"),
        (FETCH, "executors kept dying on the same task; the last one: the rows that it held were lost with it"),
        (RAISED, "ValueError: no such day"),
        ("Connection refused\nand more", "Connection refused"),
    ],
    ids=["an executor that died", "executors whose rows are lost", "an error of Python's", "anything else"],
)
def test_one_line_of_a_hundred(text: str, message: str) -> None:
    found = error_of(RuntimeError(text))
    assert isinstance(found, Refused)
    assert found.message == f"Spark has failed: {message}"
    assert "nothing was changed" in (found.hint or "")


def test_an_error_of_ours_comes_back_as_itself() -> None:
    with pytest.raises(TaskFailed) as failed, reports_errors():
        raise Gone("it is gone", hint="look elsewhere")
    found = error_of(RuntimeError(f"{LOST}\n{failed.value}\n\tat org.apache"))
    assert (type(found), found.message, found.hint) == (Gone, "it is gone", "look elsewhere")
