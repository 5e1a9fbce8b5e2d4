"""Handles PutObject and PostObject. Once the answer is sent, the body is durable and everybody can see it.

PostObject is a form in a browser, with a policy that its author signed. The signature is in the form, so it is checked
here, as soon as the fields have arrived and before the file is read.
"""

import asyncio
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from lochan.api.conditions import NO_CONDITIONS
from lochan.api.object_results import ObjectInfo
from lochan.api.options import PutOptions
from lochan.server.gateway.authentication import identify, now
from lochan.server.gateway.find_object import ObjectAddress, object_address, open_object
from lochan.server.gateway.gateway import Gateway, idempotency_key
from lochan.server.gateway.incoming_body import FormBody, RequestBody
from lochan.server.gateway.object_headers import (
    ObjectHeaders,
    checksum_headers,
    kept_headers,
    refuse_unsupported,
    write_conditions,
)
from lochan.server.gateway.request import XML, Headers, Response, S3Request
from lochan.server.gateway.wire.addressing import checked_key
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.post_policy import PostForm, post_claimed
from lochan.server.gateway.wire.xml_uploads import post_result as posted_xml

_SCHEMES = ("http", "https")


async def put_object(gateway: Gateway, request: S3Request) -> Response:
    address = await object_address(gateway, request, request.action, root=True, blind=True)
    address.writable()
    incoming = RequestBody(request)
    if address.path:
        made = await put(request, address, kept_headers(request.headers), incoming)
        etag, checksums = made.etag, checksum_headers(made.checksums)
    else:
        etag, checksums = await _root(address, incoming), []
    return Response(200, [("etag", f'"{etag}"'), *checksums, ("content-length", "0")])


async def _root(address: ObjectAddress, incoming: RequestBody) -> str:
    """Accepts the root of a branch. A client that creates each folder on the way to a file creates this one too, and it
    already exists."""
    if incoming.length:
        raise S3Error("InvalidArgument", f"The key has no path after {address.ref!r}.")
    await incoming.whole()
    return (await open_object(address, NO_CONDITIONS)).etag


async def put(
    request: S3Request, address: ObjectAddress, kept: ObjectHeaders, body: RequestBody | FormBody
) -> ObjectInfo:
    """Writes the body. Raises PreconditionFailed, KeyReused and BadDigest."""
    options = PutOptions(
        content_type=kept.content_type,
        headers=kept.headers,
        metadata=kept.metadata,
        conditions=write_conditions(request.headers),
    )
    return await address.writable().put(address.path, body, options, key=idempotency_key(request))


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
    request.key = checked_key(form.key)  # from here on, the request is like any other
    address = await object_address(gateway, request, request.action, blind=True)
    address.writable()
    return _answer(request, form, await put(request, address, kept_headers(form.fields), posted))


async def _fields(gateway: Gateway, posted: FormBody) -> PostForm:
    """Reads the fields. Until they have arrived, the request is not authenticated. Raises RequestTimeout."""
    try:
        with gateway.guard.waiting():
            async with asyncio.timeout(gateway.limits.authentication_s):
                return await posted.form()
    except TimeoutError:
        raise S3Error("RequestTimeout") from None


def _answer(request: S3Request, form: PostForm, made: ObjectInfo) -> Response:
    """Answers as the form asks: with a redirect to another page, or with one of three statuses."""
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
    """Returns the page to redirect to, with what was written, or an empty string. Anything but an address of the web is
    ignored."""
    page = form.fields.get("success_action_redirect") or form.fields.get("redirect") or ""
    try:
        url = urlsplit(page)
    except ValueError:
        return ""
    if url.scheme not in _SCHEMES or not url.netloc or not page.isascii() or not page.isprintable():
        return ""
    written = [("bucket", form.bucket), ("key", form.key), ("etag", f'"{made.etag}"')]
    query = urlencode([*parse_qsl(url.query, keep_blank_values=True), *written])
    return url._replace(query=query).geturl()
