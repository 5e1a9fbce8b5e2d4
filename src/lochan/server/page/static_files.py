"""The files of the page, read once and kept packed in memory: they are few, small and the same for everybody."""

from __future__ import annotations

import gzip
import mimetypes
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from lochan.server.api.context import Api

FOLDER = Path(__file__).parent / "files"
INDEX = "index.html"

# Texts of users in names, messages and rows are shown as text, and this policy ensures it: no script runs but the
# page's own, and nothing is loaded from elsewhere. The editor of queries makes style elements.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "vary": "accept-encoding",
}
_FOR_EVER = "public, max-age=31536000, immutable"  # the name of an asset contains its hash


class StaticFile(NamedTuple):
    body: bytes
    packed: bytes
    media_type: str
    etag: str


async def index(api: Api, request: Request) -> Response:
    """Answers with the page, for every view: the page reads its address by itself."""
    return answer(request, INDEX, "no-cache")


def no_view(request: Request) -> Response | None:
    """Answers with the page if somebody has typed an address that does not exist; the page then says so, and where to
    go. Returns None if the request is not from a browser, or if the page is not built."""
    if request.method != "GET" or "text/html" not in request.headers.get("accept", "") or not load_files():
        return None
    found = answer(request, INDEX, "no-cache")
    found.status_code = 404
    return found


async def asset(api: Api, request: Request) -> Response:
    name: str = request.path_params["name"]
    return answer(request, name, _FOR_EVER if name.startswith("assets/") else "no-cache")


def answer(request: Request, name: str, cache_control: str) -> Response:
    files = load_files()
    if not files:
        return PlainTextResponse("The page is not built. `make setup` builds it; the API is at /api/v1.\n", 503)
    found = files.get(name)
    if found is None:
        return PlainTextResponse("Not Found\n", 404)
    headers = {**_HEADERS, "cache-control": cache_control, "etag": found.etag}
    if found.etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", "") and len(found.packed) < len(found.body):
        return Response(found.packed, headers={**headers, "content-encoding": "gzip"}, media_type=found.media_type)
    return Response(found.body, headers=headers, media_type=found.media_type)


@cache
def load_files() -> dict[str, StaticFile]:
    """Returns the files by their names below the folder. Nothing else can be requested, whatever a path says."""
    paths = sorted(path for path in FOLDER.rglob("*") if path.is_file())
    return {path.relative_to(FOLDER).as_posix(): _static_file(path) for path in paths}


def _static_file(path: Path) -> StaticFile:
    body = path.read_bytes()
    media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return StaticFile(body, gzip.compress(body, mtime=0), media_type, f'"{sha256(body).hexdigest()[:32]}"')
