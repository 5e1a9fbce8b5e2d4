"""Finds out the formats of the files before they are read, and whether they are packed.

The executors look at many files: the driver opens only as many as it would open for a load without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import msgspec

from lochan.ingest.input_format import detect
from lochan.ingest.streams import UnpackedStream
from lochan.jobs.load.files import File, FileRecord, Stores, SurveyedFile, record_of, stores_of
from lochan.jobs.messages import reports_errors

FILES_FEW = 16  # the driver opens so few files itself, all at once
_TASK_FILES = 256

# Runs a function on the executors, over tasks that are bytes. Its results come back in any order.
TaskRunner = Callable[[Callable[[Iterable[bytes]], Iterator[bytes]], Sequence[bytes]], list[bytes]]


class _SurveyTask(msgspec.Struct, frozen=True, array_like=True):
    first: int  # the number of the first file
    files: list[FileRecord]


class _SurveyResult(msgspec.Struct, frozen=True, array_like=True):
    first: int
    found: list[tuple[str, bool]]  # the format, and whether it is packed


def survey(files: Sequence[File], format: str | None, run: TaskRunner) -> list[SurveyedFile]:
    """Returns the files with their formats. Raises Invalid if the format of a file is not known."""
    if len(files) <= FILES_FEW:
        return _look_at_all(files, format)
    stores = stores_of(files)
    tasks = [
        msgspec.msgpack.encode(_SurveyTask(first, [record_of(file, stores) for file in files[first:][:_TASK_FILES]]))
        for first in range(0, len(files), _TASK_FILES)
    ]
    found: list[tuple[str, bool]] = [("", False)] * len(files)
    for data in run(partial(survey_tasks, stores, format), tasks):
        result = msgspec.msgpack.decode(data, type=_SurveyResult)
        found[result.first : result.first + len(result.found)] = result.found
    return [SurveyedFile(file, *each) for file, each in zip(files, found, strict=True)]


def survey_tasks(stores: Stores, format: str | None, tasks: Iterable[bytes]) -> Iterator[bytes]:
    """Surveys the files of some tasks, on an executor."""
    with reports_errors():
        for data in tasks:
            task = msgspec.msgpack.decode(data, type=_SurveyTask)
            seen = _look_at_all([record.file(stores) for record in task.files], format)
            yield msgspec.msgpack.encode(_SurveyResult(task.first, [(each.format, each.packed) for each in seen]))


def _look_at_all(files: Sequence[File], format: str | None) -> list[SurveyedFile]:
    with ThreadPoolExecutor(FILES_FEW) as threads:
        return list(threads.map(partial(_look, format=format), files))


def _look(file: File, format: str | None) -> SurveyedFile:
    with UnpackedStream(file.as_input(), lambda _: None) as stream:
        return SurveyedFile(file, format or detect(file.name, stream.head), stream.packing is not None)
