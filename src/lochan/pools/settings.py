"""A pool's settings as a user writes them.

ts              a key: the field ts, ascending
ts:time:desc    its strings are times; the latest first
a.b             a field of an object
`a.b`           a field whose name has a dot in it; a back-quote in a name is doubled
this            the whole record
"""

from collections.abc import Sequence

from lochan.errors import Invalid
from lochan.formats.pool_settings import SIZE_BYTES, Path, PoolKey, PoolSettings
from lochan.versioning.repositories import Repository

SIZE_BYTES_MIN, SIZE_BYTES_MAX = 1 << 10, 1 << 40
_HINT = "such as --key ts, --key ts:time:desc or --key client.address"
_ORDERS = {"asc": False, "desc": True}


def settings_of(repository: Repository) -> PoolSettings:
    return repository.pool or PoolSettings()


def parse(
    keys: Sequence[str] = (),
    *,
    nulls: str = "last",
    size_bytes: int = SIZE_BYTES,
    times: Sequence[str] = (),
    primary_key: Sequence[str] = (),
) -> PoolSettings:
    """Parses the settings. Raises Invalid, with a hint at valid settings."""
    if nulls not in ("first", "last"):
        raise Invalid(f"--nulls {nulls!r}: nulls can be first or last", hint="use one of first, last")
    if not SIZE_BYTES_MIN <= size_bytes <= SIZE_BYTES_MAX:
        hint = "between 1KiB and 1TiB; 256MiB is usual"
        raise Invalid(f"--size: objects of {size_bytes} bytes cannot be made", hint=hint)
    parsed = [_key(text) for part in keys for text in _split(part, ",", "--key", part)]
    found = tuple(key for key, _ in parsed) or (PoolKey(),)
    declared = [key.path for key, is_time in parsed if is_time] + parse_paths("--time", times)
    _check_keys(found)
    primary = parse_paths("--primary-key", primary_key)
    return PoolSettings(found, nulls == "first", size_bytes, _drop_repeated(declared), _drop_repeated(primary))


def parse_path(text: str, option: str = "") -> Path:
    """Parses a path: its names from the outside in, none for `this`. Raises Invalid."""
    what = f"{option} {text!r}".strip()
    if text == "this":
        return ()
    return tuple(_name(part, what) for part in _split(text, ".", option, text))


def _key(text: str) -> tuple[PoolKey, bool]:
    path, *marks = _split(text, ":", "--key", text)
    is_time = marks[:1] == ["time"]
    orders = marks[1:] if is_time else marks
    if len(orders) > 1 or any(order not in _ORDERS for order in orders):
        wrong = next((mark for mark in orders if mark not in _ORDERS), orders[-1])
        hint = f"a path, then :time, then :asc or :desc; {_HINT}"
        raise Invalid(f"--key {text!r}: {wrong!r} was not expected", hint=hint)
    key = PoolKey(parse_path(path, "--key"), bool(orders) and _ORDERS[orders[0]])
    if is_time and not key.path:
        raise Invalid(f"--key {text!r}: the whole record is not a time", hint=_HINT)
    return key, is_time


def _check_keys(keys: Sequence[PoolKey]) -> None:
    paths = [key.path for key in keys]
    if () in paths and len(paths) > 1:
        raise Invalid("--key this: the whole record cannot be combined with other keys", hint="leave the others out")
    if len(set(paths)) < len(paths):
        raise Invalid("--key: a field is named twice", hint="keep one of the two")


def parse_paths(option: str, given: Sequence[str]) -> list[Path]:
    """Parses paths of fields; one text may name several, separated by commas. Raises Invalid."""
    found = [parse_path(text, option) for part in given for text in _split(part, ",", option, part)]
    if () in found:
        raise Invalid(f"{option} this: name a field, not the whole record", hint="such as ts or client.address")
    return found


def _drop_repeated(paths: Sequence[Path]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(paths))


def _name(text: str, what: str) -> str:
    quoted = len(text) > 1 and text[0] == text[-1] == "`"
    inside = text[1:-1] if quoted else text
    if "`" in inside.replace("``", "" if quoted else "`"):
        raise Invalid(f"{what}: back-quotes must enclose a whole name", hint="such as `a.b`.c")
    return inside.replace("``", "`")


def _split(text: str, mark: str, option: str, whole: str) -> list[str]:
    """Splits at each mark outside of back-quotes. Raises Invalid if a part is empty."""
    parts = [""]
    quoted = False
    for letter in text:
        quoted ^= letter == "`"
        if letter == mark and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    if quoted:
        raise Invalid(f"{option} {whole!r}: the closing back-quote is missing", hint="such as `a.b`")
    if not all(parts):
        raise Invalid(f"{option} {whole!r}: a name is missing", hint="such as ts or client.address")
    return parts
