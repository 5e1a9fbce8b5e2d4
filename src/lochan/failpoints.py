"""Named points at which a test may kill, stop or fail the process. If they are not armed, a failpoint costs one
comparison.

Only the kill harness arms them, by calling `arm` in the child process. The environment cannot."""

from collections.abc import Callable

_armed: Callable[[str], None] | None = None


def fp(name: str) -> None:
    """Marks a step called `name`, at which the harness may end the process."""
    if _armed is not None:
        _armed(name)


def arm(action: Callable[[str], None] | None) -> None:
    """Calls `action` with the name of every failpoint from now on. None disarms."""
    global _armed
    _armed = action
