"""A strongly consistent store in memory. The chooser decides when a request takes effect, when it is answered, and what
goes wrong. The store keeps the true history for the oracles; no machine can see it.
"""

from collections.abc import Callable, Collection
from hashlib import md5
from typing import TYPE_CHECKING, Any, NamedTuple

from lochan.errors import AlreadyExists, DiskFull, Invalid, NotFound, Transient
from lochan.store.protocol import Stat
from tests.sim.faults import ALL, NO_EFFECT, menu
from tests.sim.machine import EPOCH_US, Machine
from tests.sim.request import Request, Wanderer
from tests.sim.trace import Effect
from tests.sim.view import View

if TYPE_CHECKING:
    from tests.sim.world import World

_MISDATED_US = 3 * 86_400_000_000


class Held(NamedTuple):
    data: bytes
    modified: float  # what the store says
    serial: int  # in the order of landing


class SimStore:
    def __init__(
        self,
        world: "World",
        *,
        faulty: Callable[[str, str], bool] | None = None,
        faults: Collection[str] = ALL,
        misdated: Collection[str] = (),
        kind_of: Callable[[str], str] | None = None,
        stamped_when_sent: bool = False,
        resolution_us: int = 1_000_000,
        page: int = 1_000,
        url: str = "sim://store",
    ) -> None:
        """`faulty(verb, path)`: which requests may suffer one of `faults`; None: none. Both may be changed later.

        Last-Modified is the moment of landing by virtual time, rounded down to `resolution_us` (S3 tells seconds).
        Paths whose `kind_of` (by default, their folder) is in `misdated` are stamped three days too early, as by a node
        with a wrong clock; `stamped_when_sent` takes the moment of sending instead.
        """
        self.world = world
        self.faulty = faulty
        self.faults = frozenset(faults)
        self.page = page
        self.url = url
        self.history: list[Effect] = []
        self._objects: dict[str, Held] = {}
        self._deleted: dict[str, Held] = {}  # in the order of deletion
        self._landed = 0
        self._misdated = frozenset(misdated)
        self._kind_of = kind_of or folder
        self._stamped_when_sent = stamped_when_sent
        self._resolution_us = resolution_us

    def view(self, machine: Machine) -> View:
        """This store as the machine's code sees it: a `lochan.store.protocol.Store`."""
        return View(self, machine)

    # For scenarios and oracles: at once, and unseen by the history

    def peek(self, path: str) -> bytes | None:
        held = self._objects.get(path)
        return held.data if held is not None else None

    def last(self, path: str) -> bytes | None:
        """Like `peek`; of a deleted object, what it was."""
        held = self._objects.get(path) or self._deleted.get(path)
        return held.data if held is not None else None

    def paths(self, prefix: str = "") -> list[str]:
        return sorted(path for path in self._objects if path.startswith(prefix))

    def modified(self, path: str) -> float:
        return self._objects[path].modified

    def plant(self, path: str, data: bytes, *, age_s: float = 0.0) -> None:
        """An object that has been there for so long, or that damage has changed."""
        self._hold(path, data, self.world.now_us - round(age_s * 1_000_000))

    def remove(self, path: str) -> None:
        """Loss behind everybody's back."""
        self._objects.pop(path, None)

    # Effects (called by requests)

    def perform(self, request: Request) -> Any:
        """Lets the request take effect. Returns its answer: an exception if one is to be raised."""
        fault = self._fault(request)
        if fault in NO_EFFECT:
            outcome, data, value = "nothing", request.data, _refusal(fault, request)
        else:
            outcome, data, value = self._apply(request)
        if fault:
            value = self._distort(fault, request, value)
        self._record(request, data, outcome, fault)
        return value

    def land(self, request: Request) -> None:
        outcome, data, _ = self._apply(request)
        self._record(request, data, outcome, "", wandering=True)

    def _fault(self, request: Request) -> str:
        if self.faulty is None or not self.faulty(request.verb, request.path):
            return ""
        verb = request.verb
        there = self._can_be_stale(request) if verb == "list" else request.path in self._objects
        options = menu(verb, there, self.faults)
        return str(options[self.world.chooser.choose(options)][0])

    def _distort(self, fault: str, request: Request, value: Any) -> Any:
        match fault:
            case "lost":
                return Transient(f"{request.verb} {request.path}: no answer")
            case "late" | "duplicate":
                self.world.wandering.append(Wanderer(request))
            case "corrupt":
                return self._flipped(value)
            case "stale":
                return self._listed(request, stale=True)
        return value

    def _record(self, request: Request, data: bytes | None, outcome: str, fault: str, wandering: bool = False) -> None:
        effect = Effect(
            self.world.now_us, request.machine.name, request.verb, request.path, data, outcome, fault, wandering
        )
        self.history.append(effect)
        self.world.trace.append(effect)

    def _apply(self, request: Request) -> tuple[str, bytes | None, Any]:
        """Outcome, the bytes concerned, the answer."""
        path, data = request.path, request.data
        held = self._objects.get(path)
        match request.verb:
            case "get" | "get_range" | "head" if held is None:
                return "absent", None, NotFound(f"{self.url}/{path}: no such object")
            case "get" if held is not None:
                return "read", held.data, held.data
            case "get_range" if held is not None:
                return self._range(request, held.data)
            case "head" if held is not None:
                return "read", None, _stat(path, held)
            case "put_if_absent" if held is not None:
                return "exists", data, AlreadyExists(f"{self.url}/{path} is there already")
            case "put_if_absent" | "put":
                assert data is not None
                self._hold(path, data, request.sent_us if self._stamped_when_sent else self.world.now_us)
                return "created" if held is None else "replaced", data, None
            case "delete":
                if held is None:
                    return "absent", None, None
                self._deleted.pop(path, None)
                self._deleted[path] = self._objects.pop(path)
                return "deleted", None, None
            case "list":
                return "listed", None, self._listed(request)
        raise AssertionError(request.verb)

    def _hold(self, path: str, data: bytes, us: int) -> None:
        if self._misdated and self._kind_of(path) in self._misdated:
            us -= _MISDATED_US
        us += EPOCH_US
        self._landed += 1
        self._objects[path] = Held(data, (us - us % self._resolution_us) / 1_000_000, self._landed)

    def _range(self, request: Request, data: bytes) -> tuple[str, bytes | None, Any]:
        start, stop = request.more
        if not 0 <= start <= stop <= len(data):
            return "invalid", None, Invalid(f"{self.url}/{request.path}: no bytes {start} to {stop} of {len(data)}")
        return "read", data[start:stop], data[start:stop]

    def _flipped(self, data: bytes) -> bytes:
        """One bit of it, another one each time; nothing can happen to an empty object."""
        if not isinstance(data, bytes) or not data:
            return data
        at = len(self.history) * 7_919 % (len(data) * 8)
        return data[: at // 8] + bytes([data[at // 8] ^ (1 << at % 8)]) + data[at // 8 + 1 :]

    # Listings

    def _listed(self, request: Request, *, stale: bool = False) -> list[Stat]:
        objects = self._objects
        if stale:
            objects = dict(objects)
            newest, gone = self._newest(request), self._gone(request)
            if newest is not None:
                del objects[newest]
            if gone is not None:
                objects[gone] = self._deleted[gone]
        # The order of code points is the order of UTF-8 bytes.
        return [_stat(path, objects[path]) for path in sorted(_matching(objects, request))[: self.page]]

    def _can_be_stale(self, request: Request) -> bool:
        return self._newest(request) is not None or self._gone(request) is not None

    def _newest(self, request: Request) -> str | None:
        objects = self._objects
        return max(_matching(objects, request), key=lambda path: objects[path].serial, default=None)

    def _gone(self, request: Request) -> str | None:
        """The one deleted last that has not come back."""
        gone = [path for path in _matching(self._deleted, request) if path not in self._objects]
        return gone[-1] if gone else None


def folder(path: str) -> str:
    """The name of the folder a path is in: `seg` for `main/journal/seg/00`."""
    return path.rpartition("/")[0].rpartition("/")[2]


def _matching(objects: dict[str, Held], request: Request) -> list[str]:
    prefix, after = request.path, request.more
    return [path for path in objects if path.startswith(prefix) and path > after]


def _stat(path: str, held: Held) -> Stat:
    """The ETag is the MD5, as on S3: a reader of files that others wrote compares it."""
    return Stat(path, len(held.data), held.modified, md5(held.data, usedforsecurity=False).hexdigest())


def _refusal(fault: str, request: Request) -> Exception:
    match fault:
        case "conflict":
            return AlreadyExists(f"{request.path}: conflicting request")
        case "full":
            return DiskFull(f"{request.path}: no room")
    return Transient(f"{request.verb} {request.path}: no answer")
