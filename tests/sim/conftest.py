"""The closing line of the schedules beside garbage collection, over all tests that played some."""

from typing import Any

from tests.sim.collection.tally import Tally


def pytest_terminal_summary(terminalreporter: Any) -> None:
    total, scenes = Tally(), set()
    for reports in terminalreporter.stats.values():
        for report in reports:
            for key, value in getattr(report, "user_properties", ()):
                if key == "schedules" and getattr(report, "when", "") == "call":
                    name, *counts = value
                    scenes.add(name)
                    total.join(Tally(*counts))
    if scenes:
        terminalreporter.write_line(f"garbage collection: {total.line(len(scenes))}")
