"""Named places where a test may kill, stop or fail the process. Unarmed, a failpoint costs one comparison.

Only the kill harness arms them, by calling `arm` in the child process; nothing in the environment can.
"""

from collections.abc import Callable

_armed: Callable[[str], None] | None = None


def fp(name: str) -> None:
    """This step is named `name`. The harness may end the process here."""
    if _armed is not None:
        _armed(name)


def arm(action: Callable[[str], None] | None) -> None:
    """Call `action` with the name of every failpoint passed from now on; None disarms."""
    global _armed
    _armed = action
