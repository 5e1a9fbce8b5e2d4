"""Planted bugs of access control: each removes one part of rule A1."""

from __future__ import annotations

from typing import Any

from lochan.access import open_access as freshness
from lochan.access.open_access import Freshness
from lochan.journal.rules import Anchor
from tests.sim.plants import Plant, ShortDay


async def _at_once(self: Freshness) -> None:
    pass


def _trusting(journal: Any, clock: Any) -> Freshness:
    """Reads as in a bucket, but revocations are answered as on a disk."""
    return Freshness(journal, clock, trust_s=freshness.TRUST_S, answer_s=0.0)


class _AtItsAnswer(ShortDay):
    def anchor_of_absent(self, number: int, *, sent: float, answered: float) -> Anchor:
        return Anchor(number, answered)


PLANTS: dict[str, Plant] = {
    "A1: a revocation is answered at once": Plant(ShortDay(), ((Freshness, "before_answer", _at_once),)),
    "A1: a probe is trusted for a minute": Plant(ShortDay(), ((freshness, "TRUST_S", 60.0),)),
    "A1: a probe counts from its answer": Plant(_AtItsAnswer()),
    "A1: on a disk a probe is trusted too": Plant(ShortDay(), ((Freshness, "of", staticmethod(_trusting)),)),
}
