"""Whether the bytes that entries name are still there: asked before they are named once more, by a copy."""

from collections.abc import Awaitable, Callable

import pyarrow as pa
import pyarrow.compute as pc

from lochan.errors import Gone, NotFound
from lochan.formats.run import column

_AT_ONCE = 32

Head = Callable[[str], Awaitable[object]]  # of an address; raises NotFound
Seen = Callable[[int], None]  # told how many files more are there


def silent(count: int) -> None:
    pass


async def check_present(head: Head, entries: pa.Table, seen: Seen = silent) -> None:
    """One question for each file, however many entries share it. Raises Gone, which names one that is not there."""
    from asyncio import gather

    addresses = pc.struct_field(column(entries, "blocks").flatten(), "address")
    distinct = addresses.unique()
    for start in range(0, len(distinct), _AT_ONCE):
        asked = distinct.slice(start, _AT_ONCE).to_pylist()
        for address, there in zip(asked, await gather(*(_is_there(head, each) for each in asked)), strict=True):
            if not there:
                raise _gone(entries, addresses, address)
        seen(len(asked))


async def _is_there(head: Head, address: str) -> bool:
    try:
        await head(address)
    except NotFound:
        return False
    return True


def _gone(entries: pa.Table, addresses: pa.Array, address: str) -> Gone:
    block = pc.index(addresses, address).as_py()
    row = pc.list_parent_indices(column(entries, "blocks"))[block].as_py()
    return Gone(
        f"{entries['path'][row].as_py()!r}: its bytes at {address} are gone",
        hint="was it deleted by hand, or by a lifecycle rule of the bucket?",
    )
