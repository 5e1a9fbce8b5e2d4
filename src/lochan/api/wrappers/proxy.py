"""A handle whose verbs all go through some layers. Handles that a verb returns are wrapped too, so that nothing that
comes out of a wrapped lake leads around a layer. Attributes that are neither verbs nor plain fields are hidden."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from functools import cache
from typing import Any, Protocol

from lochan.api.access import Access
from lochan.api.checkout import Checkout
from lochan.api.collection import GarbageCollection
from lochan.api.deleted import DeletedCollection
from lochan.api.frames import Frames
from lochan.api.lake import Lake
from lochan.api.parts import Upload
from lochan.api.pull_request import PullRequest
from lochan.api.ref import Ref
from lochan.api.repository import Repository
from lochan.api.storage import Storage
from lochan.api.verbs import VERBS, Kind, Verb
from lochan.errors import Invalid, LochanError

FIELDS = frozenset(("id", "made_at", "name", "opened", "repository_name", "url"))
HIDDEN = object()  # takes the place of an item that is left out
_OF_REPOSITORY = (GarbageCollection, Storage, Ref, Upload, PullRequest)
_NOUNS = (Lake, Repository, DeletedCollection, Access, Frames, Checkout, *_OF_REPOSITORY)
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
        """Makes the same call on another implementation of the handle."""
        return getattr(inner, self.verb.name)(*self._bound.args[1:], **self._bound.kwargs)


Passed = Callable[[Any], Awaitable[Any]]  # returns what replaces a result or an item; HIDDEN removes it


class Layer(Protocol):
    refuses: bool  # whether it may refuse a call; layers that may not only record

    def around(self, call: VerbCall) -> AbstractAsyncContextManager[Passed]:
        """Returns a context that is entered before the verb is called, and left when it has returned its result, or its
        last item."""


class Wrapped:
    """The first of the layers is the outermost: it is entered first, and gets results last."""

    def __init__(self, handle: Any, layers: tuple[Layer, ...]) -> None:
        self._handle = handle
        self._layers = layers

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
            return self._wrap_handle(getattr(self._handle, name))
        method = getattr(noun, name)
        if inspect.isasyncgenfunction(method):
            return lambda *args, **kwargs: self._iterate(self._call(verb, method, *args, **kwargs))
        if inspect.iscoroutinefunction(method):
            return lambda *args, **kwargs: self._run(self._call(verb, method, *args, **kwargs))
        return lambda *args, **kwargs: self._enter(self._call(verb, method, *args, **kwargs))

    def _call(self, verb: Verb, method: Callable[..., Any], *args: Any, **kwargs: Any) -> VerbCall:
        return VerbCall(verb, self._handle, _signature(method), *args, **kwargs)

    def _wrap_handle(self, found: Any) -> Any:
        if isinstance(found, _NOUNS):  # a property, such as `Lake.access`
            return self._wrap(found)
        return lambda *args, **kwargs: self._wrap(found(*args, **kwargs))

    async def _run(self, call: VerbCall) -> Any:
        async with AsyncExitStack() as stack:
            passed = await self._enter_layers(stack, call)
            return self._wrap(await passed(await call.on(self._handle)))

    async def _iterate(self, call: VerbCall) -> AsyncIterator[Any]:
        async with AsyncExitStack() as stack:
            passed = await self._enter_layers(stack, call)
            items = await stack.enter_async_context(aclosing(call.on(self._handle)))
            async for item in items:
                shown = await passed(item)
                if shown is not HIDDEN:
                    yield self._wrap(shown)

    @asynccontextmanager
    async def _enter(self, call: VerbCall) -> AsyncIterator[Any]:
        async with AsyncExitStack() as stack:
            passed = await self._enter_layers(stack, call)
            entered = await stack.enter_async_context(call.on(self._handle))
            yield self._wrap(await passed(entered))

    async def _enter_layers(self, stack: AsyncExitStack, call: VerbCall) -> Passed:
        inward = [await stack.enter_async_context(layer.around(call)) for layer in self._layers]

        async def passed(value: Any) -> Any:
            for each in reversed(inward):
                value = await each(value)
                if value is HIDDEN:
                    break
            return value

        return passed

    def _wrap(self, value: Any) -> Any:
        return Wrapped(value, self._layers) if isinstance(value, _NOUNS) else value


async def try_call(wrapped: Any, name: str, *args: Any, **kwargs: Any) -> None:
    """Raises the error with which the layers around the verb would refuse the call, which is then recorded. Does
    nothing else. It is for a server that answers before the verb has begun."""
    handle: Any = wrapped._handle
    noun: type = type(handle)
    verb = find_verb(noun, name)
    assert verb is not None, name
    call = wrapped._call(verb, getattr(noun, name), *args, **kwargs)
    refusal: LochanError | None = None
    async with AsyncExitStack() as stack:
        for layer in wrapped._layers:
            if layer.refuses:
                try:
                    await stack.enter_async_context(layer.around(call))
                except LochanError as error:
                    refusal = error
    if refusal is None:
        return
    async with AsyncExitStack() as stack:
        for layer in wrapped._layers:
            if not layer.refuses:
                await stack.enter_async_context(layer.around(call))
        raise refusal


@cache
def find_verb(noun: type, name: str) -> Verb | None:
    """Returns the row of the class, or of one that it derives from."""
    rows = (_ROWS.get((each.__name__, name)) for each in noun.__mro__)
    return next((row for row in rows if row is not None), None)


@cache
def _signature(method: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(method)
