"""`tests/unit/python` on a lake behind a server."""

from __future__ import annotations

import pytest

from tests.integration.remote.same_verbs import same_tests
from tests.servers.lochan import LochanServer
from tests.unit.python import (
    conftest,
    test_aio,
    test_fsspec,
    test_fsspec_programs,
    test_notebook,
    test_pickled_handles,
    test_rows_in_and_out,
    test_workspace,
)

MODULES = (
    test_aio,
    test_fsspec,
    test_fsspec_programs,
    test_notebook,
    test_pickled_handles,
    test_rows_in_and_out,
    test_workspace,
)
for _module in MODULES:
    globals().update(same_tests(_module, {}))
shop = conftest.shop
_shared_lakes = conftest._shared_lakes


@pytest.fixture
def address(server: LochanServer) -> dict[str, str]:
    keys = {"access_key": server.access_key, "secret_key": server.secret_key}
    return {"lake": f"http://{server.api}", "user": "ann", **keys}
