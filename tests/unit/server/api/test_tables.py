"""The tables of the API are complete."""

from collections.abc import Iterator

from lochan.access.policy import ACTIONS
from lochan.access.query_rights import OF_LAKE, OF_OBJECTS, OF_REF, OF_REPOSITORY
from lochan.errors import ConcurrentCommit, LochanError, RaceLost
from lochan.query.syntax.sources import LAKE_META, POOL_META
from lochan.server.api.errors import STATUSES, error_response
from lochan.server.api.middleware import routes
from lochan.server.api.routes import OPEN, ROUTES, VERBS

DOCUMENT = {"/openapi.json", "/api/v1/openapi.json"}
_SESSION_ROUTES = (
    "auth/login",
    "auth/logout",
    "auth/capabilities",
    "auth/oidc/login",
    "auth/oidc/callback",
    "setup_lakefs",
    "setup",
)
# Who logs in has no session yet; who logs out needs none; the first administrator comes with a token of the server.
SESSIONS = {f"/api/v1/{each}" for each in _SESSION_ROUTES}
# The page itself holds nothing of the lake: it asks the API, as whoever has signed in.
PAGE = {
    "/",
    "/repositories/{view:path}",
    "/pools/{view:path}",
    "/query",
    "/events",
    "/jobs",
    "/operations",
    "/stores",
    "/docs",
    "/docs/{view:path}",
    "/setup",
    "/access",
    "/page/{name:path}",
}
FOR_EVERYBODY = (
    {
        "/_health/alive",
        "/_health/ready",
        "/api/v1/healthcheck",
        "/api/v1/config/version",
        *DOCUMENT,
    }
    | SESSIONS
    | PAGE
)


def test_every_route_names_an_action_that_there_is() -> None:
    assert {row.path for row in ROUTES if row.action == OPEN} == FOR_EVERYBODY
    assert {row.action for row in ROUTES if row.action not in (OPEN, VERBS)} <= set(ACTIONS)
    assert len({(row.method, row.path) for row in ROUTES}) == len(ROUTES) == len({row.name for row in ROUTES})
    assert {route.path for route in routes(ROUTES)} == {row.path for row in ROUTES}


def test_every_kind_of_error_has_a_status() -> None:
    assert set(STATUSES) == {each.kind for each in kinds(LochanError)}


def test_a_race_that_is_lost_again_and_again_is_no_conflict() -> None:
    """Who sees 409 has to look at what others did; who sees 429 need only ask again."""
    lost = error_response(RaceLost("others were faster"))
    assert (lost.status_code, lost.headers["retry-after"]) == (429, "1")
    moved = error_response(ConcurrentCommit("the branch was moved"))
    assert (moved.status_code, "retry-after" in moved.headers) == (409, False)


def test_every_kind_of_metadata_has_an_action() -> None:
    assert {*OF_REPOSITORY, *OF_REF, *OF_OBJECTS} == set(POOL_META)
    assert {*OF_LAKE, "users"} == set(LAKE_META)
    assert {*OF_REPOSITORY.values(), *OF_REF.values(), *OF_OBJECTS.values(), *OF_LAKE.values()} <= set(ACTIONS)


def kinds(error: type[LochanError]) -> Iterator[type[LochanError]]:
    yield error
    for each in error.__subclasses__():
        yield from kinds(each)
