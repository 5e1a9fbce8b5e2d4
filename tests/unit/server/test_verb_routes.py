"""Every verb has a route of its own, and both sides can say and read what it takes and gives."""

from __future__ import annotations

import json
import re

import msgspec
import pytest

from lochan.api.results import Result
from lochan.api.verbs import VERBS, Kind, Verb
from lochan.api.wire.call import ArgumentPlace, Shape, WireCall, noun_class, wire_calls
from lochan.api.wire.values import decoder
from lochan.remote import nouns
from lochan.server.api.routes import ROUTES, _document
from lochan.server.verbs.arguments import body_type

CALLS = list(wire_calls().values())
OF_LAKEFS = ("repositories", "auth", "config", "user", "setup_lakefs", "statistics", "healthcheck", "usage-report")
COMPOSED = {"Branch.transaction"}  # of other verbs, on the side of the caller
REMOTE: dict[str, type] = {
    "Lake": nouns.RemoteLake,
    "Repository": nouns.RemoteRepository,
    "GarbageCollection": nouns.RemoteGarbageCollection,
    "Storage": nouns.RemoteStorage,
    "DeletedCollection": nouns.RemoteDeleted,
    "Pool": nouns.RemotePool,
    "Ref": nouns.RemoteRef,
    "WritableRef": nouns.RemoteWritable,
    "Branch": nouns.RemoteBranch,
    "Workspace": nouns.RemoteWorkspace,
    "Upload": nouns.RemoteUpload,
    "Access": nouns.RemoteAccess,
}


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: f"{verb.noun}.{verb.name}")
def test_a_verb_is_served_or_says_why_not(verb: Verb) -> None:
    is_served = bool(verb.route)
    assert is_served != (verb.local == "*" or verb.kind is Kind.HANDLE or f"{verb.noun}.{verb.name}" in COMPOSED)
    if verb.noun in REMOTE:
        assert hasattr(REMOTE[verb.noun], verb.name)


def test_no_two_operations_share_a_method_and_a_path() -> None:
    shapes = [(row.method, re.sub(r"\{\w+\}", "{}", row.path)) for row in ROUTES]
    assert len(set(shapes)) == len(shapes), sorted(each for each in shapes if shapes.count(each) > 1)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.id)
def test_a_route_is_not_one_of_lakefs(call: WireCall) -> None:
    assert call.path.split("/")[3] not in OF_LAKEFS


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.id)
def test_both_sides_know_what_a_verb_takes_and_gives(call: WireCall) -> None:
    for each in call.arguments.values():
        if each.place not in (ArgumentPlace.NONE, ArgumentPlace.BYTES):
            assert each.type is not None
    if (body := body_type(call)) is not None:
        msgspec.json.Decoder(body)
        with pytest.raises(msgspec.ValidationError, match="unknown field `nobody_knows_this`"):
            msgspec.json.decode(b'{"nobody_knows_this": 1}', type=body)
    if call.shape in (Shape.VALUE, Shape.LINES):
        decoder(call.result)
    known = {"repository", "pool", "ref", "branch", "workspace", "pull", "upload"}
    assert set(call.names) <= {*known, *call.arguments}
    assert noun_class(call.verb.noun).__name__ == call.verb.noun


def test_no_line_of_a_list_can_be_taken_for_the_error_at_its_end() -> None:
    for call in CALLS:
        if call.shape is Shape.LINES and isinstance(call.result, type) and issubclass(call.result, Result):
            assert call.result.__struct_fields__[0] != "error"


def test_the_document_describes_all_of_them() -> None:
    document = json.loads(_document())
    described = {each["operationId"] for path in document["paths"].values() for each in path.values()}
    assert {call.id for call in CALLS} <= described
    text = json.dumps(document)
    for name in re.findall(r'"#/components/schemas/([^"]+)"', text):
        assert name in document["components"]["schemas"], name
