"""The bounded cache keeps what was used last."""

from lochan.bounded_cache import BoundedCache


def _kept(cache: BoundedCache[str, int], names: str) -> str:
    return "".join(name for name in names if name in cache._items)


def test_what_was_used_longest_ago_goes_first() -> None:
    cache: BoundedCache[str, int] = BoundedCache(3)
    for number, name in enumerate("abc"):
        assert cache.put(name, number) == number
    assert cache.get("a") == 0
    cache.put("d", 3)
    assert cache.get("b") is None
    assert (_kept(cache, "abcd"), len(cache), cache.weight) == ("acd", 3, 3)


def test_weights_count_and_a_replaced_item_weighs_once() -> None:
    cache: BoundedCache[str, int] = BoundedCache(10)
    cache.put("a", 1, 4)
    cache.put("b", 2, 4)
    cache.put("a", 3, 5)
    assert (_kept(cache, "ab"), cache.weight) == ("ab", 9)
    cache.put("c", 4, 2)
    assert (_kept(cache, "abc"), cache.weight) == ("ac", 7)
    cache.drop("a")
    cache.drop("never there")
    assert (_kept(cache, "abc"), cache.weight) == ("c", 2)


def test_one_that_is_too_heavy_is_not_kept_unless_the_newest_always_is() -> None:
    cache: BoundedCache[str, int] = BoundedCache(10)
    cache.put("a", 1, 4)
    assert cache.put("b", 2, 11) == 2
    assert (len(cache), cache.weight) == (0, 0)
    patient: BoundedCache[str, int] = BoundedCache(10, keep_newest=True)
    patient.put("a", 1, 4)
    patient.put("b", 2, 11)
    assert (_kept(patient, "ab"), patient.weight) == ("b", 11)
    patient.put("c", 3, 1)
    assert (_kept(patient, "bc"), patient.weight) == ("c", 1)
