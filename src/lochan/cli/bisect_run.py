"""`lochan bisect run`: lets a command say of each commit whether it is good or bad."""

import os
from typing import TYPE_CHECKING

import click

from lochan.cli.commit_record import SHORT, title
from lochan.cli.flags import flags
from lochan.cli.opened import Opened, work_on
from lochan.cli.shown import format_option, printable
from lochan.errors import Invalid, LochanError, NotFound

if TYPE_CHECKING:
    from lochan.versioning.bisect import BisectMarks, BisectStep
    from lochan.versioning.graph import LookUp

SKIP = 125
_BAD_MAX = 127  # above are signals: the command was stopped, and has said nothing


@click.command("run")
@click.argument("good", metavar="REPO@GOOD")
@click.argument("bad", metavar="REPO[@BAD]")
@click.argument("words", metavar="-- COMMAND…", nargs=-1, required=True, type=click.UNPROCESSED)
@format_option
def command(good: str, bad: str, words: tuple[str, ...], form: str) -> None:
    """Run COMMAND for commits until the first bad one is found.

    LOCHAN_BISECT_REF holds the commit, and LOCHAN_BISECT_URI the repository with it. The command's code says what the
    commit is: 0 good, 125 cannot be tested, any other up to 127 bad; beyond, the search ends.

    \b
    Example:
      lochan bisect run demo@v1 demo@main -- ./check.sh
    """
    from lochan.cli.bisecting import show_step, two_refs

    one, other = two_refs(good, bad)

    async def work(opened: Opened) -> None:
        from lochan.versioning.bisect import BisectMarks

        refs, _ = await opened.repository.refs()
        fine = await opened.repository.resolve(opened.ref_of(one))
        broken = await opened.repository.resolve(opened.ref_of(other))
        marks = BisectMarks(broken.commit_id, frozenset({fine.commit_id}))
        now = await _search(one.repository, refs.commit, marks, words)
        show_step(one.repository, refs.commit, now, form)
        if len(now.candidates) > 1:
            raise Invalid(f"the first bad commit is one of {len(now.candidates)}, and all between were skipped")

    work_on(one, work)


async def _search(repository: str, look_up: "LookUp", marks: "BisectMarks", words: tuple[str, ...]) -> "BisectStep":
    import asyncio

    from lochan.cli.bisecting import marked
    from lochan.versioning.bisect import step

    given = flags(click.get_current_context()).lake
    while (now := step(look_up, marks)).test:
        what = await asyncio.to_thread(_verdict, repository, now.test, words, given)
        message = printable(title(look_up(now.test).message))
        click.echo(f"{what:<4}  {now.test[:SHORT]}  {message}", err=True)
        marks = marked(marks, now.test, what)
    return now


def _verdict(repository: str, id: str, words: tuple[str, ...], lake: str | None) -> str:
    import subprocess

    told = {"LOCHAN_BISECT_REF": id, "LOCHAN_BISECT_URI": f"{repository}@{id}"}
    if lake is not None:
        told["LOCHAN_LAKE"] = lake
    try:
        # What it prints goes to stderr: on stdout is our own answer.
        code = subprocess.run(words, env={**os.environ, **told}, stdout=2, check=False).returncode
    except FileNotFoundError:
        raise NotFound(f"there is no command {words[0]!r}") from None
    if code == SKIP:
        return "skip"
    if not 0 <= code <= _BAD_MAX:
        raise LochanError(
            f"the command was stopped, or ended with {code}, at commit {id[:SHORT]}",
            hint="0 is good, 125 cannot be tested, any other up to 127 is bad",
        )
    return "bad" if code else "good"
