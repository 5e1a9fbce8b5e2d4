"""How a pool keeps its rows. On somebody's disk, in the event that created it and in checkpoints."""

import msgspec

SIZE_BYTES = 256 << 20

Path = tuple[str, ...]  # names from the outside in


class PoolKey(msgspec.Struct, frozen=True, array_like=True):
    """Fields are only ever added at the end."""

    path: Path = ()  # empty: the whole record, `this`
    descending: bool = False

    def __str__(self) -> str:
        return f"{path_text(self.path)}{':desc' if self.descending else ''}"


class PoolSettings(msgspec.Struct, frozen=True, array_like=True):
    """Fields are only ever added at the end."""

    keys: tuple[PoolKey, ...] = (PoolKey(),)
    nulls_first: bool = False  # null and missing count as the least value; else as the greatest
    size_bytes: int = SIZE_BYTES  # of an object, about
    times: tuple[Path, ...] = ()  # fields whose strings are times, where they re-render to themselves
    primary_key: tuple[Path, ...] = ()  # what makes a row the same row to an upsert


def path_text(path: Path) -> str:
    """As a user writes it: a name that would read otherwise stands in back-quotes."""
    return ".".join(map(_name_text, path)) or "this"


def _name_text(name: str) -> str:
    if name and name != "this" and not set(name) & set(".:,`"):
        return name
    doubled = name.replace("`", "``")
    return f"`{doubled}`"
