"""`lochan manage`: the upkeep of pools by a policy, once or again and again."""

from typing import TYPE_CHECKING, Any

import click

from lochan.cli.options import JobOptions, job_options
from lochan.cli.output.records import cell, count_noun, show_line, size
from lochan.cli.request_key import changes_nothing, is_repeated
from lochan.cli.target import repository_uri
from lochan.cli.verb import verb
from lochan.errors import Invalid, LochanError, Refused

if TYPE_CHECKING:
    from lochan.api.lake import Lake
    from lochan.api.options import EngineOptions
    from lochan.api.upkeep import Step, UpkeepPolicy
    from lochan.config.load import Config


@verb("manage", "lochan manage --once", changes=True)
@click.argument("pools", nargs=-1, metavar="[POOL...]")
@click.option(
    "--policy",
    "file",
    metavar="FILE",
    help="The policy. Default: the setting manage.policy, or else the standard policy.",
)
@click.option("--once", is_flag=True, help="Run one round, and end.")
@click.option(
    "--every", metavar="TIME", help="How long to wait between two rounds, such as 5m. Default: as the policy says."
)
@job_options
def manage_command(
    pools: tuple[str, ...], file: str | None, once: bool, every: str | None, form: str, **options: str | None
) -> None:
    """Maintain all pools, or the given ones. A branch is compacted when more of its data objects overlap, or are small
    side by side, than the policy allows. Journals are trimmed.

    It runs until it is stopped (Ctrl-C or SIGTERM), unless --once is given. With -f json, each branch is one JSON
    object on a line of its own.
    """
    from lochan.cli.options import seconds
    from lochan.cli.session import configuration, on_lake

    if once and every is not None:
        raise Invalid("--once and --every exclude each other", hint="give one of the two")
    if is_repeated(click.get_current_context()) and not once:
        raise Invalid("--key is for one round", hint="give --once too")
    if not once:
        changes_nothing(click.get_current_context())  # each of many rounds is work of its own, so that none has the key
    names = tuple(repository_uri(name).repository for name in pools)
    engine = JobOptions(**options).parsed()  # type: ignore[arg-type]
    upkeep = policy(configuration(), file)
    if every is not None:
        upkeep = upkeep._replace(every_s=seconds("--every", every))

    async def work(lake: "Lake") -> None:
        await _check(lake, names)
        rounds = _Rounds(lake, upkeep, names, engine, form)
        await (rounds.once() if once else rounds.until_stopped())

    on_lake(work)


def policy(config: "Config", file: str | None = None) -> "UpkeepPolicy":
    """Reads the policy of that file, or of the setting, or else returns the standard one. Raises NotFound, Invalid,
    Refused."""
    from lochan.api.upkeep import read_policy

    return read_policy(file or config.settings.manage.policy)


class _Rounds:
    def __init__(
        self, lake: "Lake", upkeep: "UpkeepPolicy", names: tuple[str, ...], engine: "EngineOptions", form: str
    ) -> None:
        self._lake = lake
        self._upkeep = upkeep
        self._names = names
        self._engine = engine
        self._form = form

    async def once(self) -> None:
        """Does one round. Raises the first error, after everything was tried."""
        errors = await self._round()
        if errors:
            raise errors[0]

    async def until_stopped(self) -> None:
        import asyncio
        import signal

        stopped, task, loop = False, asyncio.current_task(), asyncio.get_running_loop()

        def stop() -> None:
            nonlocal stopped
            stopped = True  # a request that waits for another's append may get this error instead
            if task is not None:
                task.cancel()

        # A command in the background of a script is started with Ctrl-C ignored, and keeps ignoring it.
        signals = [each for each in (signal.SIGTERM, signal.SIGINT) if signal.getsignal(each) != signal.SIG_IGN]
        for number in signals:
            loop.add_signal_handler(number, stop)
        try:
            while not stopped:
                await self._try_round()
                if not stopped:
                    await asyncio.sleep(self._upkeep.every_s)
            await asyncio.sleep(0)  # an undelivered cancellation must not interrupt the closing of the lake
        except asyncio.CancelledError:
            return  # nothing is half done, because a compaction is one commit or none
        finally:
            for number in signals:
                loop.remove_signal_handler(number)

    async def _try_round(self) -> None:
        """Runs a round, and logs its failure: a store that cannot be reached now may be reached by the next round."""
        import logging

        try:
            await self._round()
        except (LochanError, OSError) as error:
            logging.getLogger("lochan.upkeep").warning("the pools were not looked at: %s", error)

    async def _round(self) -> list[Exception]:
        errors: list[Exception] = []
        async for step in self._lake.upkeep(self._upkeep, self._names, self._engine):
            if self._form == "json":
                show_line(_record(step))
            else:
                click.echo(_line(step))
            errors += [] if step.error is None else [step.error]
        return errors


async def _check(lake: "Lake", names: tuple[str, ...]) -> None:
    """Raises NotFound for a missing repository, and Refused for one that is no pool."""
    for name in names:
        if (await lake.repository(name).show()).kind != "pool":
            raise Refused(f"{name!r} holds files, and is not a pool", hint="`lochan create POOL` makes a pool")


def _record(step: "Step") -> dict[str, Any]:
    from lochan.api.upkeep import JournalUpkeep

    problem = {} if step.error is None else {"error": str(step.error)}
    if isinstance(step, JournalUpkeep):
        if step.error is not None:
            return {"journal": step.journal, "outcome": "failed", **problem}
        return {"journal": step.journal, "outcome": "trimmed", "packed": step.packed, "deleted": step.deleted}
    done = {} if step.compacted is None else step.compacted.as_json()
    return {"pool": step.pool, "branch": step.branch or None, "outcome": step.outcome, **done, **problem}


def _line(step: "Step") -> str:
    from lochan.api.upkeep import JournalUpkeep

    failed = "" if step.error is None else f": {cell(str(step.error))}"
    if isinstance(step, JournalUpkeep):
        done = f"trimmed: {step.packed:,} segments made, {step.deleted:,} slots deleted"
        return f"journal of {cell(step.journal)}: {f'failed{failed}' if failed else done}"
    where = f"{step.pool}@{step.branch}" if step.branch else step.pool
    made = step.compacted
    if made is not None:
        return (
            f"{cell(where)}: compacted {made.before} data objects into {made.after}: {count_noun(made.rows, 'row')}, "
            f"{size(made.bytes_before)} into {size(made.bytes_after)}"
        )
    return f"{cell(where)}: {step.outcome}{failed}"
