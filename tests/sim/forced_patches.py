"""Runs with patches of all ranges that may have some. In a simulated repository ranges are so small that without this
none would be a patch."""

from tests.sim.chooser import Chooser
from tests.sim.explore import Run
from tests.small_patches import small_patches


def with_patches(run: Run) -> Run:
    def patched(chooser: Chooser) -> None:
        with small_patches():
            run(chooser)

    return patched


def with_patches_by_turns(run: Run) -> Run:
    """Every other seed. The rest is as if there were no patches."""
    patched = with_patches(run)
    return lambda chooser: patched(chooser) if chooser.seed % 2 else run(chooser)
