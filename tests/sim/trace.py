"""The trace of a run, as lines for people. It is recorded as tuples and formatted only when somebody looks."""

import re
import zlib
from typing import NamedTuple

_PADDED = re.compile(r"0{3,}(?=\d)")
_LONG_NAME = re.compile(r"([0-9A-Za-z]{8})[0-9A-Za-z]{12,}")


class Effect(NamedTuple):
    """One request's true effect in the store, whatever its sender heard."""

    us: int  # virtual time
    who: str  # the machine that sent it
    verb: str
    path: str
    data: bytes | None  # written, or read
    outcome: str  # created, exists, replaced, deleted, absent, read, listed, invalid; nothing: it did not happen
    fault: str  # how the answer lied or the delivery went wrong; empty: it did not
    wandering: bool  # landed after its sender had given up, died, or been answered


class Note(NamedTuple):
    us: int
    who: str
    text: str


def lines(entries: list[Effect | Note], start_us: int) -> list[str]:
    out = []
    for entry in entries:
        text = entry.text if isinstance(entry, Note) else _effect(entry)
        out.append(f"{_time(entry.us - start_us)} {entry.who:<4} {text}")
    return out


def short(path: str) -> str:
    """`main/journal/00000000000000000012` is `main/journal/12`; long ids keep their first letters."""
    return _LONG_NAME.sub(r"\1…", _PADDED.sub("", path))


def _effect(effect: Effect) -> str:
    data = f" [{len(effect.data)} B {zlib.crc32(effect.data) & 0xFFFFFF:06x}]" if effect.data is not None else ""
    fault = f"  !{effect.fault}" if effect.fault else ""
    landed = "  ~landed late" if effect.wandering else ""
    return f"{effect.verb} {short(effect.path)} -> {effect.outcome}{data}{fault}{landed}"


def _time(us: int) -> str:
    seconds, rest = divmod(us, 1_000_000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"{days}d{hours:02}:{minutes:02}:{seconds:02}.{rest // 1000:03}"
