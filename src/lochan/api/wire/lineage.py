"""Lineage in headers: the origin of a commit's data in a request, and the sources that were read in an answer. It is
Base64 of JSON, with the same names and texts as in a commit's metadata."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

import msgspec

from lochan.versioning.lineage import (
    INPUTS,
    ORIGINS,
    LineageInput,
    Trace,
    clean,
    current,
    inputs_text,
    lineage_metadata,
    parsed_inputs,
    trace,
    without_trace,
)

HEADER_BYTES_MAX = 6_000  # what proxies let pass, with room for the other headers
_INPUTS_MAX = 1_000


def request_header() -> str:
    """Returns the header of a request, or an empty text. A trace that has read nothing yet is sent too, so that answers
    contain what they read. If there are too many inputs, only their commits are sent, or only their number."""
    found = lineage_metadata()
    text = _encode(found) if found or current() is not None else ""
    if len(text) > HEADER_BYTES_MAX:
        whole = tuple(dict.fromkeys(each._replace(path="") for each in inputs_of(found)))
        text = _encode({**found, INPUTS: inputs_text(whole)})
    if len(text) > HEADER_BYTES_MAX:
        text = _encode({**found, INPUTS: msgspec.json.encode([{"left_out": len(inputs_of(found))}]).decode()})
    return text


def begun_trace() -> Trace | None:
    """Returns the trace that the client has begun with its request."""
    return current()


def continue_trace(found: Trace | None) -> AbstractContextManager[object]:
    """Continues a trace on another thread."""
    return without_trace() if found is None else trace(found)


def answer_header(read: Sequence[LineageInput]) -> str:
    text = _encode({INPUTS: inputs_text(tuple(read))})
    if len(text) > HEADER_BYTES_MAX:
        text = _encode({INPUTS: inputs_text(tuple(dict.fromkeys(each._replace(path="") for each in read)))})
    return text if len(text) <= HEADER_BYTES_MAX else ""


def _encode(found: Mapping[str, str]) -> str:
    return urlsafe_b64encode(msgspec.json.encode(dict(found))).decode()


def decode_trace(header: str) -> Trace | None:
    """Returns the trace of a header, or None if there is none, or if it cannot be read. A client can write anything
    into a commit's metadata anyway; here only lineage is taken."""
    if not header or len(header) > 4 * HEADER_BYTES_MAX:
        return None
    try:
        found = msgspec.json.decode(urlsafe_b64decode(header))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    texts = {str(name): text for name, text in found.items() if isinstance(text, str)}
    trace = Trace({name: clean(texts[name]) for name in ORIGINS if texts.get(name)})
    for each in inputs_of(texts):
        trace.add(each)
    return trace


def inputs_of(metadata: Mapping[str, str]) -> list[LineageInput]:
    found = []
    for each in parsed_inputs(metadata)[:_INPUTS_MAX]:
        repository, commit, path = (each.get(name, "") for name in ("repository", "commit", "path"))
        if repository and all(isinstance(text, str) and len(text) <= 1_024 for text in (repository, commit, path)):
            found.append(LineageInput(repository, commit, path, each.get("staged") is True))
    return found
