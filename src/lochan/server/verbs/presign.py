"""The URL of an object, as a server gives it: the store's, or else one of its own, signed by the access key of the
caller. It ends with that key."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from lochan.api.object_results import PresignedUrl
from lochan.api.results import moment
from lochan.api.wire.call import WireCall
from lochan.server.api.context import Api
from lochan.server.rest.presign import EXPIRES_S, UrlSigner
from lochan.server.verbs import answers


async def presign(call: WireCall, api: Api, request: Request, noun: Any, given: dict[str, Any]) -> Response:
    found: PresignedUrl | None = await noun.presign(**given)
    if found is None:
        signer = await UrlSigner.of(api, request, int(given.get("expires_s", EXPIRES_S)) or 1)
        ref = noun.name or (await api.lake.repository(noun.repository_name).show()).default_branch
        url = signer.object(noun.repository_name, ref, given["path"])
        found = PresignedUrl(url=url, expires=moment(signer.expires * 1_000_000))
    return answers.value_answer(found)
