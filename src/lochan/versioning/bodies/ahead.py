"""Reading ahead: while one piece is used, the next is already on its way."""

from collections.abc import AsyncGenerator, Coroutine, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from lochan.store.threads import running_loop

if TYPE_CHECKING:
    from asyncio import Task

T = TypeVar("T")
_Call = Coroutine[Any, Any, T]


async def one_ahead(calls: Iterable[_Call[T]]) -> AsyncGenerator[T, None]:
    """The results of the calls, in order; never more than one call is begun before it is asked for. Whoever may stop
    early closes this (`aclosing`), which cancels the call that is under way."""
    ahead: _Call[T] | Task[T] | None = None
    try:
        for call in calls:
            waiting = [] if ahead is None else [ahead]
            ahead = _started(call)
            if waiting:
                yield await waiting.pop()  # kept nowhere: a result may be large, and its user slow
        if ahead is not None:
            waiting, ahead = [ahead], None
            yield await waiting.pop()
    finally:
        if ahead is not None:
            _drop(ahead)


def _started(call: _Call[T]) -> "_Call[T] | Task[T]":
    """Without an event loop nothing can be under way: the call is made when its turn comes."""
    loop = running_loop()
    return loop.create_task(call) if loop is not None else call


def _drop(call: "_Call[T] | Task[T]") -> None:
    if isinstance(call, Coroutine):
        call.close()
    elif not call.cancel() and not call.cancelled():
        call.exception()  # looked at, or the event loop would complain that nobody did
