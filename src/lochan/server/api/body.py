"""The body of a request to the API on its way in: it must keep up a pace, and be the one that was signed."""

from hashlib import sha256
from hmac import compare_digest

from starlette.types import Message, Receive

from lochan.server.api.failures import Failure
from lochan.server.pace import Pace


def checked(receive: Receive, pace: Pace, sha256_hex: str) -> Receive:
    """The same with errors: 408 for a client that is too slow, 400 at the end of a body that was not signed. An empty
    `sha256_hex` asks for nothing."""
    digest = sha256()

    async def receiving() -> Message:
        try:
            message = await pace.wait(receive())
        except TimeoutError:
            raise Failure(408, "the body came too slowly, and was not waited for", connection="close") from None
        if message["type"] != "http.request":
            return message
        body = message.get("body", b"")
        pace.got(len(body))
        if sha256_hex:
            digest.update(body)
            if not message.get("more_body", False) and not compare_digest(digest.hexdigest(), sha256_hex):
                raise Failure(400, "the body is not the one that was signed: its SHA-256 is another")
        return message

    return receiving
