"""Tests of one file go to one worker, as `--dist loadfile` of pytest-xdist has it, also after a worker has crashed.

pytest-xdist 3.8 queues all files of a crashed worker again, those that are finished too. Such a file is no work: the
worker that gets it waits for ever, and the run never ends.
"""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]


class FileSchedule(LoadFileScheduling):  # type: ignore[misc]
    def remove_node(self, node: Any) -> Any:
        """Forgets the files that the worker has finished, before the others are queued again."""
        files = self.assigned_work[node]
        for name in [name for name, tests in files.items() if all(tests.values())]:
            del files[name]
        return super().remove_node(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FileSchedule | None:
    return FileSchedule(config, log) if config.getoption("dist") == "loadfile" else None
