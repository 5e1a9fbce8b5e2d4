"""A cache in memory, bounded by weight: the items that were used last stay."""

from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """A cache, not for several threads. An item weighs 1 unless its weight is given. With `keep_newest`, the newest
    item stays, however heavy it is; otherwise an item that is heavier than the bound is not kept at all."""

    def __init__(self, weight_max: int, *, keep_newest: bool = False) -> None:
        self._items: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._weight_max = weight_max
        self._least = 1 if keep_newest else 0
        self.weight = 0

    def __len__(self) -> int:
        return len(self._items)

    def get(self, key: K) -> V | None:
        """Returns the item, or None. This counts as a use."""
        found = self._items.get(key)
        if found is None:
            return None
        self._items.move_to_end(key)
        return found[0]

    def keys(self) -> list[K]:
        """Returns the keys, the least recently used first."""
        return list(self._items)

    def put(self, key: K, item: V, weight: int = 1) -> V:
        """Adds or replaces the item, and drops the least recently used items until the rest is light enough."""
        self.drop(key)
        self._items[key] = item, weight
        self.weight += weight
        while self.weight > self._weight_max and len(self._items) > self._least:
            self.weight -= self._items.popitem(last=False)[1][1]
        return item

    def drop(self, key: K) -> None:
        """Removes the item, if it is there."""
        found = self._items.pop(key, None)
        if found is not None:
            self.weight -= found[1]
