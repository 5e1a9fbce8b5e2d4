"""Makes links to objects, and addresses that take their bytes, for clients without keys of the store. If the store
cannot sign, the server signs addresses of its own with the access key of the user who asks. They end with that key."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from starlette.requests import Request

from lochan.server.api.context import CONTEXT, Api, RequestContext
from lochan.server.api.errors import HttpError
from lochan.server.gateway.wire.presigned import presigned_query
from lochan.server.gateway.wire.signed_request import SignedRequest, canonical_path

EXPIRES_S = 900
_MICROSECONDS = 1_000_000


class UrlSigner:
    """Signs URLs for one request."""

    def __init__(
        self, api: Api, request: Request, id: str, secret: str, token: str = "", expires_s: int = EXPIRES_S
    ) -> None:
        self._request = request
        self._region = api.listener.s3.region
        self._expires_s = expires_s
        self._id = id
        self._secret = secret
        self._token = token
        self._now = api.clock.wall() // _MICROSECONDS

    @property
    def expires(self) -> int:
        return self._now + self._expires_s

    @classmethod
    async def of(cls, api: Api, request: Request, expires_s: int = EXPIRES_S) -> UrlSigner:
        context: RequestContext = request.scope[CONTEXT]
        if context.login_session and not context.access_key:
            raise HttpError(
                403,
                "this session has no access key to sign an address with: sign in with an access key, or ask without",
            )
        found = await api.access.find_key(context.access_key, context.arrived)
        if found is None:
            raise HttpError(401, "the access key of this session was revoked: log in again")
        if context.session_token:  # what limits the session also limits its links
            by = context.session_id, context.session_secret, context.session_token
            return cls(api, request, *by, expires_s=expires_s)
        return cls(api, request, context.access_key, found.secret, expires_s=expires_s)

    def object(self, repository: str, ref: str, path: str) -> str:
        """Returns a URL that reads an object, at the S3 gateway."""
        return self._signed("GET", f"/{repository}/{ref}/{path}", "")

    def upload(self, path: str, query: dict[str, str]) -> str:
        """Returns a URL that puts bytes, at the API. The path is that of an operation."""
        return self._signed("PUT", path, urlencode(query, quote_via=quote, safe=""))

    def _signed(self, method: str, path: str, query: str) -> str:
        request = self._request
        host = request.headers.get("host", "")
        encoded = canonical_path(path.replace("%", "%25"))
        signed = SignedRequest(method, encoded, query, [("host", host)])
        by = self._id, self._secret, self._region
        text = presigned_query(signed, *by, self._now, self._expires_s, self._token)
        return f"{request.scope['scheme']}://{host}{encoded}?{text}"
