"""The one table of the API: which request is which operation, and what its user must be allowed.

A test fails for a route without an action. OPEN is for everybody; all others need an access key.
"""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from lochan.server.api import health
from lochan.server.api import query_handlers as query
from lochan.server.api.context import Api

Handle = Callable[[Api, Request], Awaitable[Response]]
OPEN = ""


class Row(NamedTuple):
    name: str
    method: str
    path: str
    handle: Handle
    action: str


ROUTES = (
    Row("Alive", "GET", "/_health/alive", health.alive, OPEN),
    Row("Ready", "GET", "/_health/ready", health.ready, OPEN),
    Row("Metrics", "GET", "/_metrics", health.metrics, health.METRICS),
    Row("HealthCheck", "GET", "/api/v1/healthcheck", health.healthcheck, OPEN),
    Row("Version", "GET", "/api/v1/config/version", health.version, OPEN),
    # Asked of each source that it names, while it is planned (access/query_rights.py).
    Row("Query", "POST", "/api/v1/query", query.post_query, "fs:ReadObject"),
    # Asked where it is somebody else's; one's own can always be seen and cancelled.
    Row("ListQueries", "GET", "/api/v1/query", query.list_queries, query.MANAGE),
    Row("GetQuery", "GET", "/api/v1/query/{id}", query.get_query, query.MANAGE),
    Row("CancelQuery", "DELETE", "/api/v1/query/{id}", query.cancel_query, query.MANAGE),
)
