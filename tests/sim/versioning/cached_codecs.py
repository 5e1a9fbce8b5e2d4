"""Cached codecs: the same bytes are decoded once, however many runs read them.

An explorer plays nearly the same files thousands of times. The functions are pure, so nothing else changes.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from lochan.formats import metarange, patch, plan_list, run
from lochan.formats import range as ranges

_FUNCTIONS: tuple[tuple[Any, str], ...] = (
    (ranges, "decode"),
    (patch, "decode"),
    (metarange, "decode"),
    (run, "decode"),
    (run, "head"),
    (plan_list, "decode_head"),
    (plan_list, "decode_part"),
)
_MEMORY = [(where, name, getattr(where, name), lru_cache(8_192)(getattr(where, name))) for where, name in _FUNCTIONS]


@contextmanager
def cache_codecs() -> Iterator[None]:
    for where, name, _, remembering in _MEMORY:
        setattr(where, name, remembering)
    try:
        yield
    finally:
        for where, name, plain, _ in _MEMORY:
            setattr(where, name, plain)
