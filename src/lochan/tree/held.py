"""What was used last, up to a weight."""

from collections import OrderedDict
from typing import Generic, TypeVar

T = TypeVar("T")


class Held(Generic[T]):
    def __init__(self, weight_max: int) -> None:
        self._items: OrderedDict[str, tuple[T, int]] = OrderedDict()
        self._weight = 0
        self._weight_max = weight_max

    def __len__(self) -> int:
        return len(self._items)

    def get(self, name: str) -> T | None:
        found = self._items.get(name)
        if found is None:
            return None
        self._items.move_to_end(name)
        return found[0]

    def hold(self, name: str, item: T, weight: int) -> T:
        self._weight += weight - self._items.pop(name, (item, 0))[1]
        self._items[name] = item, weight
        while self._weight > self._weight_max:
            _, (_, gone) = self._items.popitem(last=False)
            self._weight -= gone
        return item
