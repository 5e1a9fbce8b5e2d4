"""`lochan manage`: the upkeep of pools by a policy, once or again and again."""

from typing import TYPE_CHECKING, Any

import click

from lochan.cli.options.engine_options import JobOptions, job_options
from lochan.cli.options.request_key import is_repeated, request_key
from lochan.cli.output.records import cell, counted, format_option, show_line, size
from lochan.cli.uri import repository_uri
from lochan.errors import Invalid, LochanError, Refused

if TYPE_CHECKING:
    from lochan.config.values import Config
    from lochan.engines.compacting import Compacted, Wish
    from lochan.engines.upkeep import Kept
    from lochan.journal.trim import JournalTrim
    from lochan.lake import Lake
    from lochan.pools.upkeep import Upkeep
    from lochan.versioning.open_repository import OpenRepository


@click.command("manage")
@click.argument("pools", nargs=-1, metavar="[POOL...]")
@click.option("--policy", "file", metavar="FILE", help="What is to be kept in order; else the setting manage.policy.")
@click.option("--once", is_flag=True, help="One round, and no more.")
@click.option("--every", metavar="TIME", help="How long to wait between two rounds, such as 5m.")
@job_options
@request_key
@format_option
def manage_command(
    pools: tuple[str, ...], file: str | None, once: bool, every: str | None, form: str, **options: str | None
) -> None:
    """Keep pools in order: all of them, or these. Compact a branch when more of its data objects overlap, or are small
    side by side, than the policy allows. Trim the journals, of the whole lake or of these pools.

    It goes on until it is stopped (Ctrl-C or SIGTERM), unless --once is given. With -f json, each branch is one JSON
    object on a line of its own.

    \b
    Example:
      lochan manage --once
    """
    from lochan.cli.options.values import seconds
    from lochan.cli.session import configuration, open_lake, run

    if once and every is not None:
        raise Invalid("--once and --every exclude each other", hint="give one of the two")
    if is_repeated(click.get_current_context()) and not once:
        raise Invalid("--key is for one round", hint="give --once too")
    names = tuple(repository_uri(name).repository for name in pools)
    job = JobOptions(**options)  # type: ignore[arg-type]
    job.limits()  # before anything is opened
    config = configuration()
    upkeep = policy(config, file)
    if every is not None:
        upkeep = upkeep._replace(every_s=seconds("--every", every))

    async def work() -> None:
        async with open_lake(config) as lake:
            await _check(lake, names)
            rounds = _Rounds(config, lake, upkeep, names, job, form)
            if once:
                await rounds.once()
            else:
                rounds.forget_key()
                await rounds.until_stopped()

    run(config, work())


def policy(config: "Config", file: str | None = None) -> "Upkeep":
    """As that file says, or that of the setting; else the standard one. Raises NotFound, Invalid, Refused."""
    from pathlib import Path

    from lochan.pools.upkeep import STANDARD

    named = file or config.optional_text("manage.policy")
    if named is None:
        return STANDARD
    from lochan.pools.upkeep_file import read

    return read(Path(named), named)


class _Rounds:
    def __init__(
        self,
        config: "Config",
        lake: "Lake",
        upkeep: "Upkeep",
        names: tuple[str, ...],
        job: JobOptions,
        form: str,
    ) -> None:
        from lochan.cli.session import actor
        from lochan.jobs.compact.compact import How

        self._lake = lake
        self._upkeep = upkeep
        self._names = names
        self._form = form
        self._actor = actor(config)
        self._how = How(job.engine, job.limits(), job.spark(config))

    def forget_key(self) -> None:
        """Each of many rounds is work of its own, so none has the key of the command."""
        from lochan.journal.request_key import without_key

        self._actor = without_key(self._actor)

    async def once(self) -> None:
        """Raises what went wrong first, when all was tried."""
        errors = await self._round()
        if errors:
            raise errors[0]

    async def until_stopped(self) -> None:
        import asyncio
        import signal

        from lochan.clock import SystemClock

        stopped, task, loop = False, asyncio.current_task(), asyncio.get_running_loop()

        def stop() -> None:
            nonlocal stopped
            stopped = True  # somebody who waits for another's append may be told of that instead
            if task is not None:
                task.cancel()

        # A command in the background of a script is started so that it ignores Ctrl-C, and goes on doing so.
        signals = [each for each in (signal.SIGTERM, signal.SIGINT) if signal.getsignal(each) != signal.SIG_IGN]
        for number in signals:
            loop.add_signal_handler(number, stop)
        try:
            while not stopped:
                await self._patient_round()
                if not stopped:
                    await SystemClock().sleep(self._upkeep.every_s)
            await asyncio.sleep(0)  # a cancellation that is not delivered yet must not meet the lake's closing instead
        except asyncio.CancelledError:
            return  # nothing is half done: a compaction is one commit or none
        finally:
            for number in signals:
                loop.remove_signal_handler(number)

    async def _patient_round(self) -> None:
        """A store that cannot be reached now may be when the next round comes."""
        import logging

        try:
            await self._round()
        except (LochanError, OSError) as error:
            logging.getLogger("lochan.upkeep").warning("the pools were not looked at: %s", error)

    async def _round(self) -> list[Exception]:
        from lochan.engines.upkeep import keep

        errors = await self._trim()
        kept = keep(self._lake.queries(), self._upkeep, self._names, actor=self._actor, by=self._compact)
        async for each in kept:
            if self._form == "json":
                show_line(_record(each))
            else:
                click.echo(_line(each))
            errors += [] if each.error is None else [each.error]
        return errors

    async def _trim(self) -> list[Exception]:
        errors: list[Exception] = []
        async for each in self._lake.trim(*self._names):
            if each.error is None and not any(each.trimmed):
                continue
            if self._form == "json":
                show_line(_trim_record(each))
            else:
                click.echo(_trim_line(each))
            errors += [] if each.error is None else [each.error]
        return errors

    async def _compact(self, repository: "OpenRepository", branch: str, wish: "Wish") -> "Compacted":
        from lochan.jobs.compact.compact import compact
        from lochan.journal.request_key import part_of

        at = self._lake.queries().files, self._lake.place
        actor = part_of(self._actor, f"{repository.repository.id}@{branch}")
        return await compact(repository, branch, *at, wish, actor=actor, how=self._how)


async def _check(lake: "Lake", names: tuple[str, ...]) -> None:
    """Raises NotFound, or Refused for what is no pool."""
    for name in names:
        if (await lake.repository(name)).kind != "pool":
            raise Refused(f"{name!r} holds files, and is no pool", hint="`lochan create POOL` makes a pool")


def _record(kept: "Kept") -> dict[str, Any]:
    done = {} if kept.compacted is None else kept.compacted._asdict()
    said = {} if kept.error is None else {"error": str(kept.error)}
    return {"pool": kept.pool, "branch": kept.branch or None, "outcome": kept.outcome, **done, **said}


def _trim_record(each: "JournalTrim") -> dict[str, Any]:
    if each.error is not None:
        return {"journal": each.name, "outcome": "failed", "error": str(each.error)}
    return {"journal": each.name, "outcome": "trimmed", **each.trimmed._asdict()}


def _trim_line(each: "JournalTrim") -> str:
    if each.error is not None:
        return f"journal of {cell(each.name)}: failed: {cell(str(each.error))}"
    packed, deleted = each.trimmed
    return f"journal of {cell(each.name)}: trimmed: {packed:,} segments made, {deleted:,} slots deleted"


def _line(kept: "Kept") -> str:
    where = f"{kept.pool}@{kept.branch}" if kept.branch else kept.pool
    done = kept.compacted
    if done is not None:
        return (
            f"{cell(where)}: compacted {done.before} data objects into {done.after}: {counted(done.rows, 'row')}, "
            f"{size(done.bytes_before)} into {size(done.bytes_after)}"
        )
    return f"{cell(where)}: {kept.outcome}" + ("" if kept.error is None else f": {cell(str(kept.error))}")
