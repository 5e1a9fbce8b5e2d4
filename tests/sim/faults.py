"""What a store may do to a request, and when each of it makes a difference.

before      refused or lost on the way: nothing happened, the caller gets Transient
lost        it happened, the answer did not come back: Transient
late        Transient now; the request is still on its way and lands at some later moment, days later perhaps, also
            after its sender has died
duplicate   it happened, and a second delivery of it lands later
conflict    AlreadyExists although nothing is there and nothing was made (a 409 that is not a 412)
stale       a listing that misses the newest object and shows the one deleted last
corrupt     a read whose bytes are not those that were written
full        DiskFull, nothing happened
"""

from collections.abc import Collection
from functools import lru_cache

from tests.sim.chooser import Option

# The kind is the budget that pays for it. Some have their own, so that a budget of faults is not spent on them.
_KINDS = {"stale": "stale", "corrupt": "corrupt", "full": "full"}

ALL = ("before", "lost", "late", "duplicate", "conflict", "stale", "corrupt", "full")

# By verb and whether the object is there (for a listing: whether a stale one would differ). A fault that would look and
# act like another one of the row is left out: an explorer would only visit the same runs twice.
_ROWS: dict[tuple[str, bool], tuple[str, ...]] = {
    ("get", True): ("before", "corrupt"),
    ("get", False): ("before",),
    ("head", True): ("before",),
    ("head", False): ("before",),
    ("put", True): ("before", "lost", "late", "duplicate", "full"),
    ("put", False): ("before", "lost", "late", "duplicate", "full"),
    ("put_if_absent", True): ("before", "late", "duplicate", "full"),
    ("put_if_absent", False): ("before", "lost", "late", "duplicate", "conflict", "full"),
    ("delete", True): ("before", "lost", "late"),
    ("delete", False): ("before", "late"),
    ("list", True): ("before", "stale"),
    ("list", False): ("before",),
}

MUTATING = frozenset({"put", "put_if_absent", "delete"})
NO_EFFECT = frozenset({"before", "late", "conflict", "full"})


@lru_cache(maxsize=256)
def menu(verb: str, there: bool, enabled: Collection[str]) -> tuple[Option, ...]:
    """The options for one request; the first is that all goes well."""
    row = _ROWS["get" if verb == "get_range" else verb, there]
    return (("", None), *((fault, _KINDS.get(fault, "fault")) for fault in row if fault in enabled))
