"""Runs queries, whose rows are the answer, and lists, shows and cancels them while they run."""

from __future__ import annotations

from typing import Literal

import msgspec

from lochan.server.api import query_handlers
from lochan.server.api.query_request import FORMS, QueryBody
from lochan.server.rest.operation import Answer, Resource, RestCall
from lochan.server.rest.wire import Pagination, WireValue

RESOURCE = Resource("queries")


class QueryStatus(WireValue, frozen=True, kw_only=True):
    """One query: how far it is, and its end."""

    id: str
    user: str
    query: str
    state: Literal["waiting", "planning", "running", "done", "failed", "cancelled"]
    engine: str
    rows: int
    started: int
    seconds: float
    tasks_done: int | msgspec.UnsetType = msgspec.UNSET
    tasks: int | msgspec.UnsetType = msgspec.UNSET
    warnings: list[str] | msgspec.UnsetType = msgspec.UNSET
    error: str | msgspec.UnsetType = msgspec.UNSET


class QueryStatusList(WireValue, frozen=True, kw_only=True):
    pagination: Pagination
    results: list[QueryStatus]


@RESOURCE.operation("POST", "/query", {200: bytes}, body=QueryBody, media=", ".join(FORMS))
async def query(call: RestCall) -> Answer:
    """Run a query, and get its rows as they come, in the form that Accept names.

    The answer has the id of the query in X-Query-Id. An answer that breaks off without its end is not complete.
    """
    return query_handlers.answer_query(call.api, call.request, call.body)


@RESOURCE.operation("GET", "/query", {200: QueryStatusList})
async def list_queries(call: RestCall) -> Answer:
    """List the queries that have not ended: one's own, or all for a user who may manage queries."""
    return await query_handlers.list_queries(call.api, call.request)


@RESOURCE.operation("GET", "/query/{id}", {200: QueryStatus})
async def get_query(call: RestCall) -> Answer:
    """Get how far a query is, or how it has ended."""
    return await query_handlers.get_query(call.api, call.request)


@RESOURCE.operation("DELETE", "/query/{id}", {204: None})
async def cancel_query(call: RestCall) -> Answer:
    """Cancel a query. Nothing happens to one that has ended."""
    return await query_handlers.cancel_query(call.api, call.request)
