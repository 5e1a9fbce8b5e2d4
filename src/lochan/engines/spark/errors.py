"""Converts Spark's failures to our errors."""

from __future__ import annotations

from lochan.engines.duckdb.limits import Limits, out_of_memory
from lochan.errors import LochanError, Refused

_ENDED = ("SparkContext was shut down", "Connection refused", "Answer from Java side is empty", "sending or receiving")


class SparkEnded(Refused):
    """Spark ended during the work. The next work finds another session."""


class SparkFailed(Refused):
    """Spark failed, with its own message."""


def explain_error(error: Exception, limits: Limits) -> LochanError:
    from lochan.query.dialects.decimals import refusal  # with sqlglot, which a server without queries need not load

    text = str(error)
    if "maxResultSize" in text or "OutOfMemoryError" in text:
        return out_of_memory(limits)
    if (message := refusal(text)) is not None:
        return Refused(message)
    if any(word in text for word in _ENDED):
        return SparkEnded("Spark itself has ended: most often it lacks memory", hint="give it more with --memory")
    hint = "with --engine duckdb it may go through"
    if "S3AFileSystem not found" in text or "No FileSystem for scheme" in text:
        hint = "Spark needs Hadoop's S3A: see `spark.jars.packages`, or put hadoop-aws on its class path"
    elif "ExpiredToken" in text or "InvalidToken" in text:
        hint = "the session token of the lake's keys has expired, or is wrong: get other keys and try again"
    elif "AccessDenied" in text or "403" in text:
        hint = "may the lake's credentials read its objects from the machines that Spark runs on?"
    return SparkFailed(f"Spark has failed: {first_line(text)}", hint=hint)


def is_missing_file(error: Exception) -> bool:
    text = str(error)
    return "PATH_NOT_FOUND" in text or "FileNotFoundException" in text or "FILE_NOT_EXIST" in text


def first_line(text: str) -> str:
    return text.strip().partition("\n")[0]
