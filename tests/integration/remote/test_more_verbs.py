"""`tests/unit/api/test_more_verbs.py` on a lake behind a server."""

from __future__ import annotations

from tests.integration.remote.same_verbs import same_tests
from tests.unit.api import test_more_verbs

LOCAL = {
    "test_files_outside_are_imported_and_followed": "no user of a server may name files of its machine",
    "test_single_files_are_imported": "no user of a server may name files of its machine",
}
globals().update(same_tests(test_more_verbs, LOCAL))
