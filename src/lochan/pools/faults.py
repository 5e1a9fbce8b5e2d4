"""Input that is no row: where it stands, what is wrong with it, and what is to become of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lochan.errors import Invalid

FAIL, SKIP, KEEP = "fail", "skip", "keep"
POLICIES = (FAIL, SKIP, KEEP)
SHOWN = 10  # faults that are told of, besides their number
_NEAR = 60  # characters around the place


class Fault(NamedTuple):
    name: str  # of the input
    line: int  # from 1; 0: the input has no lines
    column: int  # from 1; 0: the whole line is meant
    message: str
    text: str  # the line

    def __str__(self) -> str:
        place = ":".join([self.name, *(str(number) for number in (self.line, self.column) if number)])
        return f"{place}: {self.message}"

    @property
    def near(self) -> str:
        begin = max(0, self.column - 1 - _NEAR // 2)
        part = self.text[begin : begin + _NEAR].strip()
        return f"{'…' if begin else ''}{part}{'…' if begin + _NEAR < len(self.text.rstrip()) else ''}"


@dataclass(slots=True)
class Faults:
    policy: str = FAIL
    count: int = 0
    first: list[Fault] = field(default_factory=list)

    def meet(self, fault: Fault) -> dict[str, Any] | None:
        """The row that is to stand in its place, if any. Raises Invalid where faults end a load."""
        if self.policy == FAIL:
            near = f"near {fault.near!r}; " if fault.near else ""
            raise Invalid(str(fault), hint=f"{near}nothing was loaded; --on-error skip or keep goes on without it")
        self.count += 1
        if len(self.first) < SHOWN:
            self.first.append(fault)
        return {"_error": str(fault), "_line": fault.text.rstrip("\r\n")} if self.policy == KEEP else None
