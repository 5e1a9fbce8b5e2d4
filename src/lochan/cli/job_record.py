"""A job as the command line prints it."""

from typing import TYPE_CHECKING, Any

from lochan.cli.shown import instant, size

if TYPE_CHECKING:
    from lochan.formats.job import JobRecord


def job_record(job: "JobRecord") -> dict[str, Any]:
    return {
        "id": job.id,
        "kind": job.kind,
        "about": job.about,
        "state": job.state,
        "stages_done": sum(each.done == each.total for each in job.stages),
        "stages_total": len(job.stages),
        "done": job.done,
        "total": job.total,
        "rows": job.rows,
        "executor_bytes": job.executor_bytes,
        "driver_bytes": job.driver_bytes,
        "started": instant(job.started),
        "heard": instant(job.beat),
        "ended": instant(job.ended) if job.ended else None,
        "where": job.where,
        "user": job.user,
        "client": job.client,
        "source": job.source,
        "error": job.error,
    }


def shown(record: dict[str, Any]) -> dict[str, Any]:
    """For people: progress in one word, and nothing that says nothing."""
    rest = {key: value for key, value in record.items() if key not in _PARTS}
    return {**rest, "progress": _progress(record), "written": _written(record)}


_PARTS = ("stages_done", "stages_total", "done", "total", "executor_bytes", "driver_bytes")


def _written(record: dict[str, Any]) -> str:
    by = {"executors": record["executor_bytes"], "the driver": record["driver_bytes"]}
    return ", ".join(f"{size(count)} by {who}" for who, count in by.items() if count is not None)


def _progress(record: dict[str, Any]) -> str:
    if not record["total"]:
        return ""
    tasks = f"{record['done']:,}/{record['total']:,}"
    return f"{tasks} in {record['stages_done']}/{record['stages_total']} stages" if record["stages_total"] else tasks
