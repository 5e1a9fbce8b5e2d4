"""Defines the operations that the published client has and a lake does not. They are answered with 501 and what to use
instead, so that a program learns why it cannot continue. They are not in the OpenAPI document, which describes what
exists."""

from __future__ import annotations

from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from lochan.server.api.context import Api
from lochan.server.api.errors import HttpError

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_REPOSITORY = "/repositories/{repository}"
_BRANCH = f"{_REPOSITORY}/branches/{{branch}}"
_OUTSIDE = "logins by other services are not supported: use an access key"
_FILES = "the files of a tree are not served: `lochan fs ls REPO -f json` lists what is in them"
_OLD = "this route is out of use"
_COLLECTION = "garbage is collected by the lake itself: use the routes below /repos/{repository}/gc, or `lochan gc run`"
_PREFLIGHT = "rights are not tried in advance: send the request itself, which is refused if it is not allowed"


class UnsupportedRoute(NamedTuple):
    path: str  # the path below /api/v1; `rest` stands for all that follows
    message: str
    methods: tuple[str, ...] = METHODS

    async def handle(self, api: Api, request: Request) -> Response:
        raise HttpError(501, self.message)


UNSUPPORTED = (
    UnsupportedRoute("/auth/external/{rest:path}", _OUTSIDE),
    UnsupportedRoute("/auth/users/{user}/external/{rest:path}", _OUTSIDE),
    UnsupportedRoute("/sts/login", _OUTSIDE),
    UnsupportedRoute(f"{_BRANCH}/objects/stage_allowed", _PREFLIGHT, ("GET",)),
    UnsupportedRoute(f"{_REPOSITORY}/metadata/{{rest:path}}", _FILES, ("GET",)),
    UnsupportedRoute(
        f"{_REPOSITORY}/commits", "commits are made on a branch: use /branches/{branch}/commits", ("POST",)
    ),
    UnsupportedRoute(f"{_REPOSITORY}/refs/{{ref}}/symlink", "lists of symbolic links are not made", ("POST",)),
    UnsupportedRoute(f"{_REPOSITORY}/branch_protection", f"{_OLD}: use /settings/branch_protection"),
    UnsupportedRoute(f"{_REPOSITORY}/branch_protection/set_allowed", _PREFLIGHT, ("GET",)),
    UnsupportedRoute(f"{_REPOSITORY}/gc/rules", f"{_OLD}: use /settings/gc_rules"),
    UnsupportedRoute(f"{_REPOSITORY}/gc/rules/set_allowed", _PREFLIGHT, ("GET",)),
    UnsupportedRoute(f"{_REPOSITORY}/gc/{{rest:path}}", _COLLECTION, ("GET", "POST")),
    UnsupportedRoute("/config/garbage-collection", _COLLECTION, ("GET",)),
    UnsupportedRoute("/setup_comm_prefs", "nobody is sent messages by a lake", ("POST",)),
)
