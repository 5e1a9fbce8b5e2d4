"""The simulated world: virtual time, machines, one store, and the rule by which the next thing is chosen.

Real code runs on a SimLoop until every task waits for something. Then one of those things happens. By default that is
the oldest of the machine that moved last, so a run without any choice is each machine running in turn as far as it can.
What departs from this has a kind, and is paid from the chooser's budget of it:

    preempt   another machine's thing, or a wandering request's landing, comes first
    reorder   a younger thing of the same machine comes first
    jump      time passes although something could happen: to the next timer, or by one of `jumps`
    crash, stall, skew   see events.py; fault, stale, corrupt, full   see faults.py

Where the machine that moved last has nothing to do, any other may go on, free of charge.
"""

import gc
from asyncio import Future, TimerHandle
from collections.abc import Callable, Sequence
from contextvars import Context
from typing import Any, NoReturn

from tests.sim.chooser import Chooser, Option
from tests.sim.dead_tasks import bury
from tests.sim.events import Due, Wait
from tests.sim.loop import SimLoop, SimTask
from tests.sim.machine import MACHINE, Machine
from tests.sim.request import Request, Wanderer
from tests.sim.rules import Rules
from tests.sim.store import SimStore
from tests.sim.trace import Effect, Note, lines
from tests.sim.violation import Crashed, Prune, Violation

MINUTE, HOUR, DAY = 60, 3_600, 86_400
JUMPS = (2 * MINUTE, 2 * HOUR, 2 * DAY)

# Virtual time begins just after nought, as boot time does on a machine that has just started: code that takes a stamp
# of nought for "long ago" is wrong there.
_START_US = 5_000_000


class World:
    def __init__(self, chooser: Chooser, *, tick_us: int = 1_000, split: bool = True) -> None:
        """`tick_us`: how long one thing takes. `split`: the answer to a request is a separate thing, not part of its
        effect. Without it there are fewer schedules to explore, but no time can pass between the two."""
        self.chooser = chooser
        self.now_us = _START_US
        self.tick_us = tick_us
        self.split = split
        self.steps = 0
        self.loop = SimLoop(self)
        self.machines: list[Machine] = []  # alive, in the order in which they were started
        self.wandering: list[Wanderer] = []  # nobody waits for them any more, and yet they will land
        self.trace: list[Effect | Note] = []
        self._store: SimStore | None = None
        self._dead: list[Machine] = []
        self._started = 0
        self._nobody = Context()  # of callbacks that must run, no matter which process has died
        self._current: Machine | None = None
        self._foreground: dict[SimTask[Any] | Future[Any], Machine] = {}
        self._error: BaseException | None = None
        self._wait = Wait(self)
        self._rules = Rules()
        self._extras: dict[str, list[Option]] = {}
        chooser.worlds.append(self)

    # Building

    def store(self, **options: Any) -> SimStore:
        """Make the store that the machines share; the options are SimStore's."""
        assert self._store is None, "a world has one store"
        self._store = SimStore(self, **options)
        return self._store

    def shared_store(self) -> SimStore:
        return self._store if self._store is not None else self.store()

    def machine(self, name: str, *, skew_us: int = 0, boot_offset_s: float = 0.0) -> Machine:
        self._started += 1
        machine = Machine(self, name, self._started, skew_us, boot_offset_s)
        self.machines.append(machine)
        self._list_extras()
        return machine

    # Running

    def run(
        self,
        *,
        max_steps: int = 10_000,
        jumps: Sequence[float] = JUMPS,
        crashes: bool | Callable[[Machine], bool] = False,
        stalls: Sequence[float] = (),
        skews: Sequence[float] = (),
        drain: bool = True,
        lost_ok: bool = False,
    ) -> None:
        """Until every task that was spawned, daemons apart, has ended, and (`drain`) every wandering request landed.

        May be called again, after more was spawned. Raises what a spawned task raised; Violation if all tasks wait and
        nothing can happen, or (unless `lost_ok`) if some task failed and nobody asked it; Prune after `max_steps`.
        """
        self._rules = Rules(self.steps + max_steps, jumps, crashes, stalls, skews, drain)
        self._list_extras()
        collecting = gc.isenabled()
        gc.disable()  # finalisers of the code under test must not run at a moment that depends on the process
        try:
            self.loop.run_forever()
        finally:
            if collecting:
                gc.enable()
        if not lost_ok:
            self._look_for_lost()

    def step(self) -> bool:
        """Makes one thing happen (SimLoop calls this when no callback is ready). Returns False if the run is over."""
        if self._error is not None:
            raise self._error
        if not self._foreground and not (self._rules.drain and self.wandering):
            return False
        if self.steps >= self._rules.last_step:
            raise Prune
        self.steps += 1
        self.now_us += self.tick_us
        for due in self._due():
            due.machine.pending.append(due)
        options = self._options() if self._foreground else [(landing, None) for landing in self.wandering]
        if not options:
            self.fail("all tasks wait and nothing can happen: " + ", ".join(self._waiting()))
        thing: Any = options[self.chooser.pick(options) if len(options) > 1 else 0][0]
        thing.act()
        return True

    def _options(self) -> list[Option]:
        allows = self.chooser.allows
        current = self._current
        options: list[Option] = []
        kind: str | None = None
        reorder = allows("reorder")
        if current is not None and current.pending:
            self._offer(options, current, None, reorder)
            if options:
                kind = "preempt"
        if kind is None or allows("preempt"):
            for machine in self.machines:
                if machine is not current and machine.pending:
                    self._offer(options, machine, kind, reorder)
            busy = bool(options)
            for landing in self.wandering:
                options.append((landing, kind))
        else:
            busy = True
        if not busy:
            if self._wakes_us() is not None:
                options.append((self._wait, None))
        elif allows("jump") and self._wakes_us() is not None:
            options.append((self._wait, "jump"))
        if options:
            for extra, things in self._extras.items():
                if allows(extra):
                    options += things
        return options

    def _offer(self, options: list[Option], machine: Machine, kind: str | None, reorder: bool) -> None:
        stalled = machine.stalled_until_us > self.now_us
        for thing in machine.pending:
            if stalled and not thing.outside:
                continue
            options.append((thing, kind))
            if not reorder:
                return
            kind = kind or "reorder"

    def moved(self, machine: Machine) -> None:
        self._current = machine

    def _wakes_us(self) -> int | None:
        """When the next timer goes off or the next standing machine wakes."""
        at = self.loop.next_timer_us()
        for machine in self.machines:
            wake = machine.stalled_until_us
            if wake > self.now_us and machine.pending and (at is None or wake < at):
                at = wake
        return at

    def _list_extras(self) -> None:
        self._extras = self._rules.extras(self, self.machines)

    # What the chooser, or a scenario, makes happen

    def advance(self) -> None:
        """Advances to the next timer, which then comes before whatever its machine had been waiting for."""
        at = self._wakes_us()
        assert at is not None
        self.now_us = max(self.now_us, at)
        for due in reversed(self._due()):
            due.machine.pending.insert(0, due)
        self._current = None

    def _due(self) -> list[Due]:
        return [Due(handle._context[MACHINE], handle) for handle in self.loop.due(self.now_us)]  # type: ignore[attr-defined]

    def jump(self, seconds: float) -> None:
        self.now_us += round(seconds * 1_000_000)
        self._current = None
        self.note("----", f"clock +{seconds} s")

    def stall(self, machine: Machine, seconds: float) -> None:
        """For that long, no answer and no timer reaches the machine. What it has sent still lands."""
        machine.stalled_until_us = max(machine.stalled_until_us, self.now_us + round(seconds * 1_000_000))
        self._current = None
        self.note(machine.name, f"stalls for {seconds} s")

    def skew(self, machine: Machine, seconds: float) -> None:
        machine.clock.skew_us = round(seconds * 1_000_000)
        self.note(machine.name, f"wall clock is {seconds:+} s off")

    def crash(self, machine: Machine) -> None:
        """Nothing of the machine runs any more, not even a `finally` block. What it has sent may still land."""
        if not machine.alive:
            return
        machine.alive = False
        self.note(machine.name, "CRASH")
        self.machines.remove(machine)
        self._dead.append(machine)
        for thing in list(machine.pending):
            if isinstance(thing, Request):
                thing.abandon()
        machine.pending.clear()
        self.loop.wary = True
        self.loop.keep_ready(lambda handle: not self.is_dead(handle._context))  # type: ignore[attr-defined]
        self.loop.keep_timers(lambda handle: not self.is_dead(handle._context))  # type: ignore[attr-defined]
        self._foreground = {task: owner for task, owner in self._foreground.items() if owner is not machine}
        self._current = None
        self._list_extras()
        for mourner in machine.mourners:
            mourner()
        if machine.on_crash is not None:
            machine.on_crash()
        if MACHINE.get(None) is machine:
            raise Crashed(machine.name)

    def note(self, who: str, text: str) -> None:
        self.trace.append(Note(self.now_us, who, text))

    def fail(self, message: str) -> NoReturn:
        """End the run with a violation, even if the code under test swallows what is raised here."""
        self._error = Violation(message)
        raise self._error

    # Tasks and timers (called by SimLoop and Machine)

    def adopt(self, task: SimTask[Any], context: Context | None) -> None:
        machine = MACHINE.get(None) if context is None else context.get(MACHINE)
        if machine is None:
            raise RuntimeError("a task belongs to a machine: use machine.spawn")
        machine.tasks.append(task)
        if len(machine.tasks) > machine.tasks_max:
            machine.tasks = [task for task in machine.tasks if not task.done() or task._log_traceback]
            machine.tasks_max = 64 + 2 * len(machine.tasks)

    def watch(self, machine: Machine, task: Future[Any], *, daemon: bool) -> None:
        if not daemon:
            self._foreground[task] = machine
        task.add_done_callback(self._ended, context=self._nobody)

    def _ended(self, task: Future[Any]) -> None:
        self._foreground.pop(task, None)
        if task.cancelled() or (error := task.exception()) is None or isinstance(error, Crashed):
            return
        self._error = self._error or error

    def is_dead(self, context: Context) -> bool:
        machine = context.get(MACHINE)
        return machine is not None and not machine.alive

    def timer_cancelled(self, handle: TimerHandle) -> None:
        pending = handle._context[MACHINE].pending  # type: ignore[attr-defined]
        for i, thing in enumerate(pending):
            if isinstance(thing, Due) and thing.handle is handle:
                del pending[i]
                return

    def _waiting(self) -> list[str]:
        return [
            f"{owner.name} {task.get_name()}" for task, owner in self._foreground.items() if isinstance(task, SimTask)
        ]

    def _look_for_lost(self) -> None:
        for machine in self.machines:
            for task in machine.tasks:
                if task.done() and not task.cancelled() and task._log_traceback:
                    error = task.exception()
                    raise Violation(f"{machine.name} {task.get_name()} failed and nobody asked: {error!r}") from error

    # Ending

    def lines(self) -> list[str]:
        """The trace, for people."""
        return lines(self.trace, _START_US)

    def close(self) -> None:
        """Drop everything that still waits. The drivers in explore.py do this after each run."""
        if self.loop.is_closed():
            return
        machines = self.machines + self._dead
        for machine in machines:
            machine.alive = False
        self.loop.wary = True
        self.loop.keep_timers(lambda _: False)
        self.loop.close()
        coros = [task.get_coro() for machine in machines for task in machine.tasks if not task.done()]
        if coros:
            bury(coros)
        for machine in machines:
            machine.tasks.clear()
            machine.pending.clear()

    def __enter__(self) -> "World":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
