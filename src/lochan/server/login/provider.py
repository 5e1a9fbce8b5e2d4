"""A provider of OpenID Connect, as this server uses it.

    discovery ──▶ where browsers sign in, where a code becomes a token, where the keys are
    code      ──▶ token endpoint ──▶ id token ──▶ signature, issuer, audience, times, nonce ──▶ claims

Only what the provider returns at its own address, or signs by one of its keys, is believed. It is asked when a user
signs in; its discovery document is kept for a while, and its keys are fetched again when a token names an unknown one,
since providers change them."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from lochan.clock import Clock
from lochan.errors import Invalid
from lochan.server.api.errors import HttpError
from lochan.server.connections import is_loopback
from lochan.server.settings import OidcSettings

if TYPE_CHECKING:
    import httpx
    from joserfc.jwk import KeySet

# Signatures of a key pair. With HMAC, anybody who has the client's secret could sign, and `none` signs nothing.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
_KEPT_S = 600.0  # how long the discovery document is kept
_AGAIN_S = 5.0  # how soon its keys may be fetched again
_TIMEOUT_S = 10.0
_ANSWER_BYTES_MAX = 1 << 20
_LEEWAY_S = 60  # clocks may differ by so much
_MICROSECONDS = 1_000_000
_ACCEPT = {"accept": "application/json"}


class OidcProvider:
    """The provider in one process of a server. Raises HttpError: 502 for a provider that cannot be reached or answers
    nonsense, 403 for a token that proves nothing."""

    def __init__(self, settings: OidcSettings, clock: Clock) -> None:
        self.settings = settings
        self._clock = clock
        self._metadata: Mapping[str, Any] = {}
        self._metadata_until = 0.0
        self._keys: KeySet | None = None
        self._keys_from = float("-inf")

    async def authorization_url(self, parameters: Mapping[str, str]) -> str:
        """Returns the URL at which a browser signs in."""
        from authlib.oauth2.rfc6749.parameters import prepare_grant_uri

        endpoint = (await self._discover())["authorization_endpoint"]
        url: str = prepare_grant_uri(endpoint, self.settings.client_id, "code", **parameters)
        return url

    async def claims(self, code: str, redirect_uri: str, verifier: str, nonce: str) -> Mapping[str, Any]:
        """Returns the provider's claims about the user that has brought this code."""
        token = await self._exchange(code, redirect_uri, verifier)
        id_token = token.get("id_token")
        if not isinstance(id_token, str):
            raise HttpError(502, "the identity provider has sent no id token: the scopes must name openid")
        access_token = token.get("access_token")
        claims = await self._verify(id_token, nonce, access_token)
        wanted = self.settings.name_claim, self.settings.groups_claim
        if isinstance(access_token, str) and not all(each in claims for each in wanted):
            return {**await self._user_info(access_token, claims["sub"]), **claims}
        return claims

    async def _user_info(self, access_token: str, subject: str) -> Mapping[str, Any]:
        """Returns the claims that many providers return only at this endpoint, and not in the id token."""
        url = (await self._discover()).get("userinfo_endpoint")
        if url is None:
            return {}
        self._check_endpoint("userinfo_endpoint", url)
        headers = {"accept": "application/json", "authorization": f"Bearer {access_token}"}
        found = await self._get(url, "what it knows of the user", headers)
        if found.get("sub") != subject:
            raise _token_error("it names another user than the provider's answer about the user")
        return found

    async def _exchange(self, code: str, redirect_uri: str, verifier: str) -> Mapping[str, Any]:
        from authlib.oauth2.auth import ClientAuth
        from authlib.oauth2.rfc6749.parameters import prepare_token_request

        metadata = await self._discover()
        body = prepare_token_request("authorization_code", "", redirect_uri, code=code, code_verifier=verifier)
        headers = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json"}
        auth = ClientAuth(self.settings.client_id, self.settings.client_secret, self._client_auth(metadata))
        url, headers, body = auth.prepare("POST", metadata["token_endpoint"], headers, body)
        status, found = await self._ask("POST", url, headers, body)
        if 400 <= status < 500 and isinstance(found.get("error"), str):
            words = _one_line(f"{found['error']} {found.get('error_description', '')}")
            raise HttpError(403, f"the identity provider does not take this sign-in: {words}")
        if status != 200:
            raise HttpError(502, f"the identity provider answered with status {status}; try again later")
        return found

    def _client_auth(self, metadata: Mapping[str, Any]) -> str:
        if not self.settings.client_secret:
            return "none"
        offered = metadata.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        return "client_secret_basic" if "client_secret_basic" in offered else "client_secret_post"

    async def _verify(self, id_token: str, nonce: str, access_token: Any) -> Mapping[str, Any]:
        from authlib.oidc.core import CodeIDToken
        from joserfc import jwt
        from joserfc.errors import JoseError

        try:
            token = await self._decode(id_token)
            options = {"iss": {"essential": True, "value": self.settings.issuer}}
            params = {"nonce": nonce, "client_id": self.settings.client_id, "access_token": access_token}
            claims = CodeIDToken(token.claims, token.header, options, params)
            claims.validate(now=self._clock.wall() // _MICROSECONDS, leeway=_LEEWAY_S)
        except (JoseError, ValueError, TypeError) as error:
            raise _token_error(str(error)) from None
        assert isinstance(token, jwt.Token)
        audience = claims["aud"] if isinstance(claims["aud"], list) else [claims["aud"]]
        if self.settings.client_id not in audience:
            raise _token_error("it was made for another client")
        if not isinstance(claims["sub"], str) or not claims["sub"]:
            raise _token_error("it names nobody")
        return dict(claims)

    async def _decode(self, id_token: str) -> Any:
        """Verifies a token. Raises JoseError or ValueError. If keys that were fetched a while ago do not fit, they are
        fetched again before the token is refused."""
        from joserfc import jwt
        from joserfc.errors import BadSignatureError, InvalidKeyIdError

        keys = await self._key_set(_KEPT_S)
        try:
            return jwt.decode(id_token, keys, algorithms=ALGORITHMS)
        except (BadSignatureError, InvalidKeyIdError, ValueError):
            fresh = await self._key_set(_AGAIN_S)
            if fresh is keys:
                raise
            return jwt.decode(id_token, fresh, algorithms=ALGORITHMS)

    async def _key_set(self, seconds: float) -> KeySet:
        """Returns keys that are not older than that."""
        from joserfc.errors import JoseError
        from joserfc.jwk import KeySet

        if self._keys is None or self._clock.boot() - self._keys_from > seconds:
            found = await self._get((await self._discover())["jwks_uri"], "its keys")
            try:
                self._keys = KeySet.import_key_set(_pairs_only(found))
            except (JoseError, ValueError, TypeError, KeyError) as error:
                raise HttpError(502, f"the identity provider's keys cannot be read: {_one_line(str(error))}") from None
            self._keys_from = self._clock.boot()
        return self._keys

    async def _discover(self) -> Mapping[str, Any]:
        if self._clock.boot() >= self._metadata_until:
            url = f"{self.settings.issuer.rstrip('/')}/.well-known/openid-configuration"
            found = await self._get(url, "its configuration")
            if found.get("issuer") != self.settings.issuer:
                words = (
                    f"says it is {_one_line(str(found.get('issuer')))}, and login.oidc.issuer is {self.settings.issuer}"
                )
                raise HttpError(502, f"the identity provider {words}")
            for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
                self._check_endpoint(name, found.get(name))
            self._metadata = found
            self._metadata_until = self._clock.boot() + _KEPT_S
        return self._metadata

    def _check_endpoint(self, name: str, url: Any) -> None:
        try:
            check_url(url if isinstance(url, str) else "")
        except Invalid:
            raise HttpError(502, f"the identity provider's {name} is no address that can be trusted") from None

    async def _get(self, url: str, what: str, headers: Mapping[str, str] = _ACCEPT) -> Mapping[str, Any]:
        status, found = await self._ask("GET", url, headers, None)
        if status != 200:
            raise HttpError(502, f"the identity provider does not give {what}: it answered with status {status}")
        return found

    async def _ask(
        self, method: str, url: str, headers: Mapping[str, str], body: str | None
    ) -> tuple[int, dict[str, Any]]:
        """Sends a request. Returns the status and the JSON of the answer, if that is an object. Follows no redirect."""
        import httpx
        import msgspec

        try:
            async with (
                httpx.AsyncClient(verify=self._tls_context(), timeout=_TIMEOUT_S, trust_env=False) as client,
                client.stream(method, url, headers=dict(headers), content=body) as answer,
            ):
                data = await _read(answer)
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            words = _one_line(str(error) or type(error).__name__)
            raise HttpError(
                502, f"the identity provider at {urlsplit(url).netloc} cannot be reached: {words}"
            ) from None
        try:
            found = msgspec.json.decode(data, type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError):
            if answer.status_code == 200:
                raise HttpError(502, "the identity provider's answer is not JSON; try again later") from None
            found = {}
        return answer.status_code, found

    def _tls_context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.settings.ca_file or None)


async def _read(answer: httpx.Response) -> bytes:
    data = b""
    async for piece in answer.aiter_bytes():
        data += piece
        if len(data) > _ANSWER_BYTES_MAX:
            raise HttpError(502, "the identity provider's answer is too long")
    return data


def check_url(url: str) -> None:
    """Raises Invalid for an address at which others could answer in the provider's place."""
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    host = parts.hostname or ""
    local = host == "localhost" or is_loopback(host)
    if (
        not host
        or parts.username
        or parts.fragment
        or not (parts.scheme == "https" or (parts.scheme == "http" and local))
    ):
        raise Invalid(
            f"{url!r} cannot be an address of signing in", hint="give one of https, or one of http on this machine"
        )


def _pairs_only(found: Mapping[str, Any]) -> Any:
    """Returns the public keys only: a symmetric key must never be published."""
    keys = found.get("keys")
    return {
        "keys": [each for each in keys if each.get("kty") in ("RSA", "EC", "OKP")] if isinstance(keys, list) else []
    }


def _token_error(why: str) -> HttpError:
    return HttpError(403, f"the identity provider's token proves nothing: {_one_line(why)}")


def _one_line(text: str) -> str:
    """Returns a text of others as a part of one line."""
    return "".join(each if each.isprintable() else " " for each in text)[:300].strip()
