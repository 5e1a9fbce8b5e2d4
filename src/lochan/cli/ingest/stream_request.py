"""What `lochan ingest stream` was told, and what it tells of each batch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from lochan.cli.error_boundary import print_message
from lochan.cli.output.records import SHORT, counted, printable, show_line, size
from lochan.cli.pool.load import say_unparsed
from lochan.cli.target import Uri
from lochan.errors import Invalid

if TYPE_CHECKING:
    from lochan.config.load import Config
    from lochan.jobs.job_commit import LandResult
    from lochan.jobs.record import JobReporter
    from lochan.versioning.heads.moves import CommitMessage


@dataclass(frozen=True)
class StreamRequest:
    uri: Uri
    source: str
    place: str  # a folder, or a host and port
    form: str
    input_format: str | None
    brokers: str | None
    topics: tuple[str, ...]
    settings: tuple[str, ...]  # of Kafka's client
    latest: bool
    go_on: bool
    rows_per_second: int | None
    files_per_batch: int
    every: str
    once: bool
    checkpoint: str | None
    on_error: str
    no_compact: bool
    message: str
    master: str | None
    memory: str
    notes: Mapping[str, str]

    @property
    def every_s(self) -> float:
        from lochan.cli.options import seconds

        return seconds("--every", self.every)

    @property
    def memory_bytes(self) -> int:
        from lochan.cli.options import size_bytes

        return size_bytes("--memory", self.memory)

    @property
    def said(self) -> "CommitMessage":
        from lochan.versioning.heads.moves import CommitMessage

        return CommitMessage(self.message, self.notes)

    @property
    def client(self) -> dict[str, str]:
        """Settings of Kafka's client. Raises Invalid."""
        found: dict[str, str] = {}
        for text in self.settings:
            key, separator, value = text.partition("=")
            if not separator or not key:
                hint = "such as --kafka security.protocol=SSL"
                raise Invalid(f"--kafka {key!r}: a setting is given as KEY=VALUE", hint=hint)
            found[key] = value
        return found

    def compaction(self, config: "Config") -> tuple[bool, int]:
        """Whether small objects are merged behind it, and into which size: as the policy of upkeep says."""
        from lochan.cli.pool.manage import policy

        rule = policy(config).rule(self.uri.repository)
        return rule.compact and not self.no_compact, rule.size_bytes


class BatchReporter:
    """A line for each batch, and one at the end."""

    def __init__(self, request: StreamRequest, where: Uri, job: "JobReporter") -> None:
        self._form = request.form
        self._job = job
        self._where = where
        self._kept = request.on_error == "keep"
        self._rows = self._commits = 0

    def __call__(self, batch: int, landed: "LandResult") -> None:
        self._rows += landed.rows
        self._commits += bool(landed.rows)
        self._job.rows(self._rows)
        if self._form == "json":
            show_line(_record(batch, landed))
            return
        for fault in landed.first_faults:
            print_message(str(fault), f"near {fault.near!r}" if fault.near else "")
        if landed.faults:
            done = "kept as rows with _error" if self._kept else "left out"
            print_message(f"{landed.faults:,} line{' was' if landed.faults == 1 else 's were'} no row, and {done}")
        say_unparsed(landed.unparsed_times)
        if landed.again:
            click.echo(f"batch {batch}: had landed before, commit {landed.commit[:SHORT]}")
        elif landed.commit:
            click.echo(
                f"batch {batch}: {counted(landed.rows, 'row')}, {size(landed.size_bytes)}, "
                f"commit {landed.commit[:SHORT]}"
            )

    def end(self) -> None:
        if self._form != "json":
            many = f"{self._commits} commit{'' if self._commits == 1 else 's'}"
            click.echo(f"stopped: {counted(self._rows, 'row')} into {printable(str(self._where))} by {many}")


def _record(batch: int, landed: "LandResult") -> dict[str, Any]:
    return {
        "batch": batch,
        "commit": landed.commit or None,
        "rows": landed.rows,
        "objects": len(landed.entries),
        "bytes": landed.size_bytes,
        "errors": landed.faults,
        "first_errors": [str(fault) for fault in landed.first_faults],
        "unparsed_times": landed.unparsed_times,
        "again": landed.again,
    }
