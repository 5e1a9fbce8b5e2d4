"""`lochan bisect start`: begins to look for the commit that broke something."""

from shlex import quote

import click

from lochan.cli.opened import Opened, work_on
from lochan.cli.shown import format_option
from lochan.errors import AlreadyExists


@click.command("start")
@click.argument("good", metavar="REPO@GOOD")
@click.argument("bad", metavar="REPO[@BAD]")
@format_option
def command(good: str, bad: str, form: str) -> None:
    """Begin with a good commit and a bad one. It shows which to test first.

    \b
    Example:
      lochan bisect start demo@v1 demo@main
    """
    from lochan.cli.bisecting import go_on, two_refs, under_way

    one, other = two_refs(good, bad)

    async def work(opened: Opened) -> None:
        from lochan.versioning.bisect import BisectMarks

        if under_way(opened):
            name = opened.repository.repository.name
            raise AlreadyExists(
                f"a bisection of {name!r} is under way", hint=f"`lochan bisect reset {quote(name)}` ends it first"
            )
        fine = await opened.repository.resolve(opened.ref_of(one))
        broken = await opened.repository.resolve(opened.ref_of(other))
        await go_on(opened, BisectMarks(broken.commit_id, frozenset({fine.commit_id})), form)

    work_on(one, work)
