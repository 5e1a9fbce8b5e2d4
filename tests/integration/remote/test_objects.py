"""`tests/unit/api/test_objects.py` on a lake behind a server."""

from __future__ import annotations

from tests.integration.remote.same_verbs import same_tests
from tests.unit.api import test_objects

_SNAPSHOT = "a snapshot holds its repository open"
LOCAL = {
    "test_an_object_stays_open_and_a_snapshot_stays_as_it_was": _SNAPSHOT,
    "test_a_snapshot_is_of_its_repository_whatever_gets_its_name": _SNAPSHOT,
    "test_what_a_snapshot_is_of": _SNAPSHOT,
    "test_a_part_copied_from_a_file_of_a_workspace_has_bytes_of_its_own": "it writes to a file of the server's machine",
}
globals().update(same_tests(test_objects, LOCAL))
