"""Says what the server is, and who sends the request."""

from __future__ import annotations

from lochan import __version__
from lochan.server.rest.operation import Answer, Resource, RestCall
from lochan.server.rest.wire import (
    CurrentUser,
    InstallationUsageReport,
    ServerConfig,
    StorageConfig,
    VersionConfig,
    WireUser,
)

RESOURCE = Resource("config")
_KINDS = {"file": "local", "s3": "s3", "gs": "gs", "az": "azure", "memory": "mem"}


@RESOURCE.operation("GET", "/config", {200: ServerConfig})
async def get_config(call: RestCall) -> Answer:
    """Get the configuration of the server that matters to clients."""
    return ServerConfig(version_config=VersionConfig(version=__version__), storage_config=_storage(call))


@RESOURCE.operation("GET", "/config/storage", {200: StorageConfig})
async def get_storage_config(call: RestCall) -> Answer:
    """Get the kind of store that the lake is on."""
    return _storage(call)


@RESOURCE.operation("GET", "/user", {200: CurrentUser})
async def get_current_user(call: RestCall) -> Answer:
    """Get the user whose key the request has."""
    return CurrentUser(user=WireUser(id=call.user))


@RESOURCE.operation("POST", "/statistics", {204: None})
async def post_stats_events(call: RestCall) -> Answer:
    """Accept a client's statistics, and forget them."""
    return None


@RESOURCE.operation("GET", "/usage-report/summary", {200: InstallationUsageReport})
async def get_usage_report_summary(call: RestCall) -> Answer:
    """Get the lake's id. Requests are not counted by month; the usage log has each of them."""
    return InstallationUsageReport(installation_id=call.api.lake.id, reports=[])


def _storage(call: RestCall) -> StorageConfig:
    scheme = call.lake.url.partition("://")[0]
    return StorageConfig(
        blockstore_type=_KINDS.get(scheme, scheme),
        blockstore_namespace_example=f"{scheme}://example/",
        blockstore_namespace_ValidityRegex=".*",
    )
