"""A handle whose verbs all go through a layer. Handles that a verb gives back are wrapped too, so that nothing that
comes out of a wrapped lake leads around the layer. What is no verb and no plain field is not there."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from functools import cache
from typing import Any, Protocol

from lochan.api.access import Access
from lochan.api.collection import GarbageCollection
from lochan.api.deleted import DeletedCollection
from lochan.api.frames import Frames
from lochan.api.lake import Lake
from lochan.api.parts import Upload
from lochan.api.ref import Ref
from lochan.api.repository import Repository
from lochan.api.storage import Storage
from lochan.api.verbs import VERBS, Kind, Verb
from lochan.errors import Invalid

FIELDS = frozenset(("id", "made_at", "name", "opened", "repository_name", "url"))
HIDDEN = object()  # in place of an item that is left out
_NOUNS = (Lake, Repository, GarbageCollection, DeletedCollection, Storage, Ref, Upload, Access, Frames)
_ROWS = {(verb.noun, verb.name): verb for verb in VERBS}


class VerbCall:
    """One call of a verb on a handle of the local lake. Raises Invalid for one text in place of several: the verb would
    take its letters, and a check the whole text."""

    def __init__(self, verb: Verb, handle: Any, signature: inspect.Signature, *args: Any, **kwargs: Any) -> None:
        self.verb = verb
        self.handle = handle
        self._bound = signature.bind(handle, *args, **kwargs)
        self._bound.apply_defaults()
        for name, value in self._bound.arguments.items():
            if isinstance(value, str) and signature.parameters[name].annotation == "Sequence[str]":
                raise Invalid(f"{name} is one text, where several are expected", hint=f"give [{value!r}]")

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments by name. A layer may replace one."""
        return self._bound.arguments

    def on(self, inner: Any) -> Any:
        """The same call of another implementation of the handle."""
        return getattr(inner, self.verb.name)(*self._bound.args[1:], **self._bound.kwargs)


Passed = Callable[[Any], Awaitable[Any]]  # what the caller gets in place of a result or an item; HIDDEN: nothing


class Layer(Protocol):
    def around(self, call: VerbCall) -> AbstractAsyncContextManager[Passed]:
        """Entered before the verb is called, and left when it has given its result, or its last item."""


class Wrapped:
    def __init__(self, inner: Any, layer: Layer) -> None:
        self._inner = inner
        self._handle: Any = inner._handle if isinstance(inner, Wrapped) else inner
        self._layer = layer

    def __repr__(self) -> str:
        return repr(self._handle)

    def __getattr__(self, name: str) -> Any:
        noun: type = type(self._handle)
        verb = find_verb(noun, name)
        if verb is None and name in FIELDS:
            return getattr(self._handle, name)
        if verb is None:
            raise AttributeError(f"{noun.__name__} has no verb {name!r}")
        if verb.kind is Kind.HANDLE:
            return self._handles(getattr(self._inner, name))
        method = getattr(noun, name)
        if inspect.isasyncgenfunction(method):
            return lambda *args, **kwargs: self._iterate(self._call(verb, method, *args, **kwargs))
        if inspect.iscoroutinefunction(method):
            return lambda *args, **kwargs: self._run(self._call(verb, method, *args, **kwargs))
        return lambda *args, **kwargs: self._enter(self._call(verb, method, *args, **kwargs))

    def _call(self, verb: Verb, method: Callable[..., Any], *args: Any, **kwargs: Any) -> VerbCall:
        return VerbCall(verb, self._handle, _signature(method), *args, **kwargs)

    def _handles(self, found: Any) -> Any:
        if isinstance(found, (Wrapped, *_NOUNS)):  # a property, such as `Lake.access`
            return self._wrap(found)
        return lambda *args, **kwargs: self._wrap(found(*args, **kwargs))

    async def _run(self, call: VerbCall) -> Any:
        async with self._layer.around(call) as passed:
            return self._wrap(await passed(await call.on(self._inner)))

    async def _iterate(self, call: VerbCall) -> AsyncIterator[Any]:
        async with self._layer.around(call) as passed, aclosing(call.on(self._inner)) as items:
            async for item in items:
                shown = await passed(item)
                if shown is not HIDDEN:
                    yield self._wrap(shown)

    @asynccontextmanager
    async def _enter(self, call: VerbCall) -> AsyncIterator[Any]:
        async with self._layer.around(call) as passed, call.on(self._inner) as entered:
            yield self._wrap(await passed(entered))

    def _wrap(self, value: Any) -> Any:
        return Wrapped(value, self._layer) if isinstance(value, (Wrapped, *_NOUNS)) else value


@cache
def find_verb(noun: type, name: str) -> Verb | None:
    """A row of the class, or of one that it derives from."""
    rows = (_ROWS.get((each.__name__, name)) for each in noun.__mro__)
    return next((row for row in rows if row is not None), None)


@cache
def _signature(method: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(method)
