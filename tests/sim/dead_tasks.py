"""Gets rid of tasks that will never run again, quietly.

A coroutine that is dropped half-way is closed by Python, which runs its `finally` blocks. For a machine that crashed
that must not happen while the run goes on, so its tasks are kept to the end. Then they are closed here: by now every
door to the world is shut (see `Crashed`), and whatever the blocks try or complain about concerns nobody.
"""

import sys
import warnings
from collections.abc import Coroutine, Generator, Iterable
from typing import Any

Suspended = Coroutine[Any, Any, Any] | Generator[Any, Any, Any]

_TRIES = 50  # each close gets past one `await` in a `finally` block

_undead: list[Suspended] = []  # refuse to end; kept, because dropping them would be heard


def bury(coros: Iterable[Suspended]) -> None:
    hook = sys.unraisablehook
    sys.unraisablehook = lambda _: None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for coro in coros:
                if not _closed(coro):
                    _undead.append(coro)
    finally:
        sys.unraisablehook = hook


def _closed(coro: Suspended) -> bool:
    for _ in range(_TRIES):
        try:
            coro.close()
        except KeyboardInterrupt:
            raise
        except BaseException:
            continue
        return True
    return False
