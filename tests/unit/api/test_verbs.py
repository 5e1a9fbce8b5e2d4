"""The table of verbs, the classes, their blocking twins and the command line have the same verbs."""

from __future__ import annotations

import inspect
from typing import Any

import click
import pytest

import lochan
from lochan.api import (
    access,
    blocking,
    branch,
    checkout,
    collection,
    deleted,
    frames,
    lake,
    parts,
    pool,
    pull_request,
    ref,
    repository,
    storage,
    workspace,
    writable,
)
from lochan.api.options import CommitOptions
from lochan.api.verbs import VERBS, Kind, Verb
from lochan.cli.root import cli

CLASSES: dict[str, type] = {
    "Lake": lake.Lake,
    "Repository": repository.Repository,
    "GarbageCollection": collection.GarbageCollection,
    "Storage": storage.Storage,
    "DeletedCollection": deleted.DeletedCollection,
    "Pool": pool.Pool,
    "Ref": ref.Ref,
    "WritableRef": writable.WritableRef,
    "Branch": branch.Branch,
    "Workspace": workspace.Workspace,
    "PullRequest": pull_request.PullRequest,
    "Upload": parts.Upload,
    "Access": access.Access,
    "Frames": frames.Frames,
    "Checkout": checkout.Checkout,
}
NOT_VERBS = {"close", "name", "repository_name", "id", "url", "made_at"}
# What the waiting classes derive from, where the name is another.
WAITING = {"Ref": blocking.Ref, "WritableRef": blocking.Branch, "Frames": blocking.BlockingFrames}


def _public(noun: type) -> set[str]:
    found = {name for name in vars(noun) if not name.startswith("_")} - NOT_VERBS
    return found | {"close"} if noun is pull_request.PullRequest else found  # elsewhere it closes a connection


def _waiting(noun: str) -> type:
    return WAITING.get(noun) or getattr(blocking, noun)


def test_every_verb_has_a_row() -> None:
    rows = {(verb.noun, verb.name) for verb in VERBS}
    assert rows == {(noun, name) for noun, found in CLASSES.items() for name in _public(found)}
    assert len(rows) == len(VERBS), "and one row only"


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: f"{verb.noun}.{verb.name}")
def test_a_verb_is_whole(verb: Verb) -> None:
    method = getattr(CLASSES[verb.noun], verb.name)
    waiting = getattr(_waiting(verb.noun), verb.name)
    assert verb.kind is Kind.HANDLE or method.__doc__, "its docstring is its contract"
    assert verb.kind is Kind.HANDLE or waiting.__doc__ == method.__doc__ or verb.name == "transaction"
    assert _options(waiting) == _options(method)
    if isinstance(method, property):
        return
    takes_key = {"key", "request_key"} & set(_options(method)) or _takes_commit_options(method)
    assert bool(takes_key) == (verb.kind is Kind.WRITE), "whatever changes something can be asked for once"


def _options(method: Any) -> list[str]:
    """The parameters without the handle. The twin's are its own, not those of the function it wraps."""
    if isinstance(method, property):  # of a noun that a lake has one of
        return []
    found = inspect.signature(method, follow_wrapped=True)
    return list(found.parameters)[1:]


def _takes_commit_options(method: Any) -> bool:
    return any(each.annotation == CommitOptions.__name__ for each in inspect.signature(method).parameters.values())


@pytest.mark.parametrize("words", sorted({verb.command for verb in VERBS if verb.command}))
def test_a_command_is_one(words: str) -> None:
    found: click.Command = cli
    for word in words.split():
        assert isinstance(found, click.Group)
        inner = found.get_command(click.Context(found), word)
        assert inner is not None, words
        found = inner


def test_what_is_public_is_there_and_nothing_else() -> None:
    for name in lochan.__all__:
        assert getattr(lochan, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'lake_of_dreams'"):
        _ = lochan.lake_of_dreams
    first = lochan.connect
    assert lochan.connect is first
