"""The settings of a pool. Stored in the event that created it and in checkpoints."""

import msgspec

SIZE_BYTES = 256 << 20

Path = tuple[str, ...]  # names from the outside in


class PoolKey(msgspec.Struct, frozen=True, array_like=True):
    """One path of a pool's key. Fields are only ever added at the end."""

    path: Path = ()  # empty for the whole record, `this`
    descending: bool = False

    def __str__(self) -> str:
        return f"{path_text(self.path)}{':desc' if self.descending else ''}"


class PoolSettings(msgspec.Struct, frozen=True, array_like=True):
    """The settings of a pool. Fields are only ever added at the end."""

    keys: tuple[PoolKey, ...] = (PoolKey(),)
    nulls_first: bool = False  # whether null and missing sort before all values, or after them
    size_bytes: int = SIZE_BYTES  # the target size of an object
    times: tuple[Path, ...] = ()  # fields whose strings are times, if they render back to themselves
    primary_key: tuple[Path, ...] = ()  # the fields that identify a row


def path_text(path: Path) -> str:
    """Returns the path as a user writes it: names with special characters are in back-quotes."""
    return ".".join(map(_name_text, path)) or "this"


def _name_text(name: str) -> str:
    if name and name != "this" and not set(name) & set(".:,`"):
        return name
    doubled = name.replace("`", "``")
    return f"`{doubled}`"
