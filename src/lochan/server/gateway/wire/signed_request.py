"""What a signature covers of a request: the method, the path, the query and the headers, as they came."""

from collections.abc import Iterable, Mapping
from functools import cached_property

from lochan.server.gateway.wire.uri import Pairs, canonical_part, canonical_path, meant_name, query_pairs


class SignedRequest:
    """`path` and `query` as on the wire; a server that only has the decoded path passes it through `of_decoded_path`.

    `headers` are pairs in any case, latin-1 where they are not ASCII. `bucket` is named only where the host names it
    (virtual-host style): V2 signs it in front of the path.
    """

    def __init__(
        self, method: str, path: str, query: str, headers: Iterable[tuple[str, str]], bucket: str | None = None
    ) -> None:
        self.method = method
        self.path = path
        self.query = query
        self.bucket = bucket
        self.headers: Mapping[str, str] = joined(headers)

    @classmethod
    def of_decoded_path(
        cls, method: str, path: str, query: str, headers: Iterable[tuple[str, str]], bucket: str | None = None
    ) -> "SignedRequest":
        return cls(method, canonical_path(path.replace("%", "%25")), query, headers, bucket)

    @cached_property
    def pairs(self) -> Pairs:
        """Of the query, as on the wire."""
        return query_pairs(self.query) if self.query else []

    @cached_property
    def names(self) -> frozenset[str]:
        """Of the parameters, decoded."""
        return frozenset(meant_name(name) for name, _ in self.pairs)

    def canonical_query(self, without: str = "") -> str:
        """Sorted by the encoded name, then by the encoded value."""
        return canonical_query([pair for pair in self.pairs if meant_name(pair[0]) != without])

    def raw_query(self, without: str = "") -> str:
        """Sorted, but encoded as the client did."""
        return _assembled([pair for pair in self.pairs if meant_name(pair[0]) != without])

    @property
    def canonical_path(self) -> str:
        return canonical_path(self.path)


def joined(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Names in lower case, values trimmed, several of one name joined by commas, as signatures want them."""
    found: dict[str, str] = {}
    for name, value in headers:
        name, value = name.lower(), value.strip(" \t")
        found[name] = f"{found[name]},{value}" if name in found else value
    return found


def canonical_query(pairs: Pairs) -> str:
    """Of names and values as on the wire."""
    return _assembled([(canonical_part(name), canonical_part(value)) for name, value in pairs]) if pairs else ""


def wire_bytes(text: str) -> bytes:
    """Header values came as latin-1; text from elsewhere is UTF-8."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape")


def _assembled(pairs: Pairs) -> str:
    pairs.sort()
    return "&".join([f"{name}={value}" for name, value in pairs])
