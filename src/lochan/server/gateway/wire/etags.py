"""ETags in headers: with quotes or without, one or several, strong or weak."""

from lochan.server.gateway.wire.dates import parse_http_date


def quoted(etag: str) -> str:
    return f'"{etag}"'


def unquoted(text: str) -> str:
    """Clients give tags with quotes and without them."""
    text = text.strip()
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] == '"' else text


def listed(header: str | None, *, weakly: bool) -> tuple[str, ...] | None:
    """The tags of If-Match or If-None-Match, or `*`; None without the header. A weak tag never proves that bytes are
    the same, and counts only where that is not asked for."""
    if header is None:
        return None
    tags = [tag.strip() for tag in header.split(",")]
    return tuple(unquoted(tag.removeprefix("W/")) for tag in tags if weakly or not tag.startswith("W/"))


def if_range_holds(header: str | None, etag: str, modified: int) -> bool:
    """Whether a range is of the object that the client has a part of already; otherwise it is sent the whole. A date
    must be the very one that it was told, and a weak tag proves nothing."""
    if header is None:
        return True
    date = parse_http_date(header)
    if date is not None:
        return modified == date
    tags = listed(header, weakly=False) or ()
    return "*" in tags or etag in tags
