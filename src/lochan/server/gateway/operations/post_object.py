"""PostObject: a form of a browser, with a policy that its author signed.

The signature stands in the form, so it is checked here, as soon as the fields have come and before the file is read.
"""

import asyncio
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from lochan.api.results import ObjectInfo
from lochan.server.gateway.authentication import identify, now
from lochan.server.gateway.find_object import object_address
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.incoming_body import FormBody
from lochan.server.gateway.object_headers import checksum_headers, kept_headers, refuse_unsupported
from lochan.server.gateway.operations.put_object import ACTION, put
from lochan.server.gateway.request import XML, Headers, Response, S3Request
from lochan.server.gateway.wire.addressing import checked_key
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.post_policy import PostForm, post_claimed
from lochan.server.gateway.wire.xml_uploads import posted as posted_xml

_SCHEMES = ("http", "https")


async def post_object(gateway: Gateway, request: S3Request) -> Response:
    posted = FormBody(request)
    if request.identity is not None:
        raise S3Error("InvalidArgument", "Only one auth mechanism allowed; a form carries its signature in its fields.")
    form = await _fields(gateway, posted)
    refuse_unsupported(form.fields)
    claim = post_claimed(form, gateway.realm, now(gateway))
    if claim is None:
        raise S3Error("AccessDenied")
    await identify(gateway, request, claim)
    posted.allowed = claim.length
    request.key = checked_key(form.key)  # from here on it is a request like others
    address = await object_address(gateway, request, ACTION, blind=True)
    address.writable()
    return _answer(request, form, await put(request, address, kept_headers(form.fields), posted))


async def _fields(gateway: Gateway, posted: FormBody) -> PostForm:
    """Until these have come it is a stranger's. Raises RequestTimeout."""
    try:
        with gateway.guard.waiting():
            async with asyncio.timeout(gateway.limits.authentication_s):
                return await posted.form()
    except TimeoutError:
        raise S3Error("RequestTimeout") from None


def _answer(request: S3Request, form: PostForm, made: ObjectInfo) -> Response:
    """As the form wants it: sent on to another page, or one of three statuses."""
    path = form.key if request.bucket_in_host else f"{form.bucket}/{form.key}"
    location = f"{request.scheme}://{request.headers.get('host', '')}/{quote(path)}"
    headers: Headers = [("etag", f'"{made.etag}"'), *checksum_headers(made.checksums)]
    onward = _onward(form, made)
    if onward:
        return Response(303, [*headers, ("location", onward), ("content-length", "0")])
    headers.append(("location", location))
    status = form.fields.get("success_action_status", "")
    if status == "201":
        body = posted_xml(location, form.bucket, form.key, made.etag)
        return Response(201, [*headers, XML, ("content-length", str(len(body)))], body)
    if status == "200":
        return Response(200, [*headers, ("content-length", "0")])
    return Response(204, headers)


def _onward(form: PostForm, made: ObjectInfo) -> str:
    """The page to go on to, told what was written. What is no address of the web is as if it were not there."""
    wanted = form.fields.get("success_action_redirect") or form.fields.get("redirect") or ""
    try:
        url = urlsplit(wanted)
    except ValueError:
        return ""
    if url.scheme not in _SCHEMES or not url.netloc or not wanted.isascii() or not wanted.isprintable():
        return ""
    kept_headers = [("bucket", form.bucket), ("key", form.key), ("etag", f'"{made.etag}"')]
    query = urlencode([*parse_qsl(url.query, keep_blank_values=True), *kept_headers])
    return url._replace(query=query).geturl()
