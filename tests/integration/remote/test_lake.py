"""`tests/unit/api/test_lake.py` on a lake behind a server."""

from __future__ import annotations

from tests.integration.remote.same_verbs import same_tests
from tests.unit.api import test_lake

LOCAL: dict[str, str] = {}
globals().update(same_tests(test_lake, LOCAL))
