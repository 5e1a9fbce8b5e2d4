"""`tests/unit/checkout` on a lake behind a server."""

from __future__ import annotations

from tests.integration.remote.same_verbs import same_tests
from tests.unit.checkout import conftest, test_checkout

globals().update(same_tests(conftest, {}))
globals().update(same_tests(test_checkout, {}))
