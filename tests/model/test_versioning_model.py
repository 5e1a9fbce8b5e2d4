"""Every verb against the model: several processes, in turn and at once, across restarts, trims and faults of the store.
The lake and the model must always agree.
"""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.versioned.machine import VersioningMachine

_ALWAYS = settings(deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)


def test_the_lake_agrees_with_the_dictionaries() -> None:
    """The same stories each time; new ones are for the long form."""
    chosen = settings(_ALWAYS, max_examples=80, stateful_step_count=30, derandomize=True, database=None)
    run_state_machine_as_test(VersioningMachine, settings=chosen)


@pytest.mark.full
@pytest.mark.timeout(3_600)
def test_the_lake_agrees_with_the_dictionaries_for_long() -> None:
    run_state_machine_as_test(VersioningMachine, settings=settings(_ALWAYS, max_examples=2_000, stateful_step_count=60))
