"""The parent process: lets a child work on a lake until a failpoint ends it, starts others in its place, and checks the
result.

python -m tests.kill.harness local.after_link 3 17      again: the third passing, with seed 17
"""

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import msgspec

import lochan
from tests.kill import oracle, report
from tests.kill.child import Order
from tests.kill.report import Finished, Line

ROOT = Path(__file__).parents[2]
_PATIENCE_S = 60
_FOLDERS = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # a kill loses nothing that a disk would have kept
_RECOVERY_DEATHS_MAX = 10


@dataclass(frozen=True)
class Trial:
    """One lake: its first life ends at the `passing`-th time of `at`, the next ones at the first of `recovery`."""

    at: str
    passing: int = 1
    seed: int = 1
    recovery: tuple[str, ...] = ()
    stop: bool = False  # the first life is only stopped, and goes on beside those that took over
    plant: str = ""  # into the first life; those after it are as shipped

    def __str__(self) -> str:
        again = f", then {len(self.recovery)} in a row" if self.recovery else ""
        return f"{'stopped' if self.stop else 'killed'} at {self.at} #{self.passing}{again}, seed {self.seed}"


@dataclass
class Outcome:
    trial: Trial
    deaths: list[str] = field(default_factory=list)  # the failpoints where a life really ended
    violation: str = ""


def failpoints_in_source() -> set[str]:
    files = Path(next(iter(lochan.__path__))).rglob("*.py")
    return {name for file in files for name in re.findall(r'\bfp\("([^"]+)"\)', file.read_text())}


def try_out(trial: Trial, url: str = "") -> Outcome:
    """In its own folder, which is kept if something is wrong."""
    folder = Path(tempfile.mkdtemp(prefix="lochan-kill-", dir=_FOLDERS))
    outcome = Outcome(trial)
    try:
        _live_and_die(trial, folder, url, outcome)
        asyncio.run(oracle.judge(folder / "lake", url, report.read(folder / "reports")))
    except Exception as error:
        outcome.violation = f"{trial} ({folder}): {type(error).__name__}: {error}"
    if trial.plant or not outcome.violation:
        shutil.rmtree(folder, ignore_errors=True)
    return outcome


def passings(seed: int, url: str = "") -> Counter[str]:
    """How often each failpoint is passed at most, in a life of a new lake and in a later one."""
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="lochan-kill-", dir=_FOLDERS) as name:
        for life in (0, 1):
            finished = _end_of(_Life(Order("", "", seed, life, url=url), Path(name)).run())
            counts |= Counter(finished.passed)
    return counts


def choose(count: int, spread: int = 3) -> list[int]:
    """The first, the last and some between, of `count` passings."""
    return sorted({1 + (count - 1) * step // (spread - 1) for step in range(spread)})


# --- one lake's lives --------------------------------------------------------------------------------------------
def _live_and_die(trial: Trial, folder: Path, url: str, outcome: Outcome) -> None:
    lives = count()
    first = _Life(Order("", "", trial.seed, next(lives), trial.at, trial.passing, trial.stop, trial.plant, url), folder)
    if trial.stop:
        if first.start_and_stop():
            outcome.deaths.append(trial.at)
    else:
        passing = trial.passing
        while first.run() is not None and passing > 1:  # this time it was not passed so often; the lake lives on
            passing //= 2
            first = _Life(Order("", "", trial.seed, next(lives), trial.at, passing, url=url), folder)
        outcome.deaths += [trial.at] if first.killed else []
    for at in trial.recovery[:_RECOVERY_DEATHS_MAX]:
        life = _Life(Order("", "", trial.seed, next(lives), at, url=url), folder)
        life.run()
        outcome.deaths += [at] if life.killed else []
    _end_of(_Life(Order("", "", trial.seed, next(lives), url=url), folder).run())
    if trial.stop:
        _end_of(first.go_on())


class _Life:
    """A process. Its reports are appended to one file for all lives of its lake."""

    def __init__(self, order: Order, folder: Path) -> None:
        self._report_file = folder / "reports"
        self._order = msgspec.structs.replace(order, folder=str(folder / "lake"), reports=str(self._report_file))
        self._process: subprocess.Popen[bytes] | None = None
        self.killed = False

    def run(self) -> Finished | None:
        """Returns None if it was killed as intended. Raises Violation if it ended in any other way."""
        self._start()
        return self._wait()

    def start_and_stop(self) -> bool:
        """False: it came to its end and did not pass there."""
        process = self._start()
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        if os.WIFSTOPPED(status):
            return True
        process.returncode = os.waitstatus_to_exitcode(status)
        return False

    def go_on(self) -> Finished | None:
        assert self._process is not None
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGCONT)
        return self._wait()

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.kill.child", msgspec.json.encode(self._order).decode()]
        with self._report_file.open("ab") as reports:
            self._begun = reports.tell()
            self._process = subprocess.Popen(command, stdout=reports, stderr=subprocess.PIPE, cwd=ROOT)
        return self._process

    def _wait(self) -> Finished | None:
        assert self._process is not None
        try:
            _, errors = self._process.communicate(timeout=_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            raise oracle.Violation(f"life {self._order.life} hangs") from None
        if self._process.returncode == -signal.SIGKILL and self._order.at and not self._order.stop:
            self.killed = True
            return None
        what = errors.decode().strip().splitlines()[-1:] or [""]
        oracle.check(self._process.returncode == 0, f"life {self._order.life} failed: {what[0]}")
        return _last_finished(report.read(self._report_file))


def _last_finished(lines: Sequence[Line]) -> Finished:
    return next(line for line in reversed(lines) if isinstance(line, Finished))


def _end_of(finished: Finished | None) -> Finished:
    assert finished is not None
    return finished


def summary(outcomes: Iterable[Outcome]) -> str:
    outcomes = list(outcomes)
    deaths = Counter(name for outcome in outcomes for name in outcome.deaths)
    table = "\n".join(f"  {name:28} {count:4}" for name, count in sorted(deaths.items()))
    return f"{len(outcomes)} lakes, {deaths.total()} deaths\n{table}"


if __name__ == "__main__":
    found = try_out(Trial(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
    print(found.violation or f"{found.trial}: all is well")
