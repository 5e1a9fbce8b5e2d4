"""Where a store is and what opens it, as a value: for whoever must open the same store in another process."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lochan.clock import Clock
from lochan.errors import Refused
from lochan.ids import Ids
from lochan.store.protocol import Store

_PROFILE = ("profile", "credentials_file")


@dataclass(frozen=True, slots=True)
class StoreLocation:
    """May be pickled. Its options may hold secrets, so nothing prints them."""

    url: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def open(self, *, clock: Clock, ids: Ids) -> Store:
        """Patient where there is a network between."""
        from lochan.store.open import open_store, stack

        store = open_store(self.url, self.options, clock=clock)
        return store if store.url.startswith("file://") else stack(store, clock=clock, ids=ids)

    def for_others(self) -> "StoreLocation":
        """As it is to be sent to other machines: keys of a profile are read here, for its file may be nowhere else.
        Raises Refused for what is in this process alone."""
        if self.url.startswith("memory://"):
            raise Refused("a lake in memory is in one process alone", hint="make it in a folder or a bucket")
        if not any(self.options.get(name) for name in _PROFILE):
            return self
        from lochan.store.clouds import read_profile

        keys = read_profile(self.options.get("credentials_file", ""), self.options.get("profile") or "default")
        rest = {name: value for name, value in self.options.items() if name not in _PROFILE}
        return StoreLocation(self.url, {**rest, **keys})
