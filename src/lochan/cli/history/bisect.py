"""Defines `lochan bisect`, which finds the commit that broke something by testing as few as possible.

The marks are kept in a file of the user's own, one for each repository.
"""

import json
import os
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from lochan.cli.lazy_group import LazyGroup, flags
from lochan.cli.output.records import SHORT, printable, show_answer, show_record, title
from lochan.cli.target import Target, Uri, ref_uri, repository_uri, work_on
from lochan.errors import AlreadyExists, Invalid, LochanError, NotFound

if TYPE_CHECKING:
    from lochan.api.results import BisectStep

SKIP = 125
_BAD_MAX = 127  # higher codes are signals, which mean that the command was stopped and its code says nothing


@click.group("bisect", cls=LazyGroup)
def group() -> None:
    """Find the commit that broke something, with few tests."""


@group.verb("start", "lochan bisect start demo@v1 demo@main")
@click.argument("good", metavar="REPO@GOOD")
@click.argument("bad", metavar="REPO[@BAD]")
def start_command(good: str, bad: str, form: str) -> None:
    """Start with a good and a bad commit. It shows which commit to test first."""
    one, other = _two_refs(good, bad)

    async def work(target: Target) -> None:
        file = await _file(target)
        if file.exists():
            name = one.repository
            raise AlreadyExists(
                f"a bisection of {name!r} is under way", hint=f"`lochan bisect reset {quote(name)}` ends it first"
            )
        await _go_on(target, file, await _begin(target, one, other), form)

    work_on(one, work)


@group.verb("good", "lochan bisect good demo")
@click.argument("ref", metavar="REPO[@REF]")
def good_command(ref: str, form: str) -> None:
    """Mark a commit as good: the one under test, or the one that is named."""
    _mark(ref, "good", form)


@group.verb("bad", "lochan bisect bad demo")
@click.argument("ref", metavar="REPO[@REF]")
def bad_command(ref: str, form: str) -> None:
    """Mark a commit as bad: the one under test, or the one that is named."""
    _mark(ref, "bad", form)


@group.verb("skip", "lochan bisect skip demo")
@click.argument("ref", metavar="REPO[@REF]")
def skip_command(ref: str, form: str) -> None:
    """Mark a commit as one that cannot be tested: the one under test, or the one that is named."""
    _mark(ref, "skip", form)


@group.verb("run", "lochan bisect run demo@v1 demo@main -- ./check.sh")
@click.argument("good", metavar="REPO@GOOD")
@click.argument("bad", metavar="REPO[@BAD]")
@click.argument("words", metavar="-- COMMAND…", nargs=-1, required=True, type=click.UNPROCESSED)
def run_command(good: str, bad: str, words: tuple[str, ...], form: str) -> None:
    """Run COMMAND on commits until the first bad one is found.

    In its environment, LOCHAN_BISECT_REF is the commit, and LOCHAN_BISECT_URI the repository with the commit. Its exit
    code marks the commit: 0 is good, 125 means that it cannot be tested, any other up to 127 is bad. A higher code ends
    the search.
    """
    one, other = _two_refs(good, bad)

    async def work(target: Target) -> None:
        now = await _search(target, await _begin(target, one, other), words)
        _show_step(one.repository, now, form)
        if len(now.candidates) > 1:
            raise Invalid(f"the first bad commit is one of {len(now.candidates)}, and all between were skipped")

    work_on(one, work)


@group.verb("reset", "lochan bisect reset demo")
@click.argument("repository", metavar="REPO")
def reset_command(repository: str, form: str) -> None:
    """End a bisection and forget its marks."""

    async def work(target: Target) -> bool:
        file = await _file(target)
        was = file.exists()
        file.unlink(missing_ok=True)
        return was

    was = work_on(repository_uri(repository), work)
    show_answer(
        {"was_under_way": was},
        form,
        f"no bisection of {printable(repository)} is under way{' any more' if was else ''}",
    )


class Marks(NamedTuple):
    """The test results of commits, by their ids."""

    bad: str
    good: tuple[str, ...]
    skipped: tuple[str, ...] = ()

    def marked(self, id: str, what: str) -> "Marks":
        if what == "bad":
            return self._replace(bad=id)
        if what == "good":
            return self._replace(good=(*self.good, id))
        return self._replace(skipped=(*self.skipped, id))

    async def step(self, target: Target) -> "BisectStep":
        """Returns the next step. Raises Invalid if the marks contradict each other."""
        return await target.repository.bisect(self.good, self.bad, self.skipped)


def _mark(text: str, what: str, form: str) -> None:
    """Marks a commit as `good`, `bad` or `skip`: the named one, or otherwise the one under test. Shows the next
    step."""
    uri = ref_uri(text)

    async def work(target: Target) -> None:
        file = await _file(target)
        marks, test = _load(file, uri.repository)
        if uri.ref:
            id = (await target.ref.resolve()).id
        elif test:
            id = test
        else:
            raise Invalid(
                "there is nothing left to test", hint=f"`lochan bisect reset {quote(uri.repository)}` ends it"
            )
        await _go_on(target, file, marks.marked(id, what), form)

    work_on(uri, work)


async def _begin(target: Target, good: Uri, bad: Uri) -> Marks:
    fine = (await target.repository.ref(good.ref).resolve()).id
    return Marks((await target.repository.ref(bad.ref).resolve()).id, (fine,))


async def _go_on(target: Target, file: Path, marks: Marks, form: str) -> None:
    """Saves the marks, unless they contradict each other, and shows the next step."""
    now = await marks.step(target)
    _save(file, marks, now.test.id if now.test else "")
    _show_step(target.uri.repository, now, form)


async def _search(target: Target, marks: Marks, words: tuple[str, ...]) -> "BisectStep":
    import asyncio

    lake = flags(click.get_current_context()).lake
    while (now := await marks.step(target)).test is not None:
        test = now.test
        what = await asyncio.to_thread(_verdict, target.uri.repository, test.id, words, lake)
        click.echo(f"{what:<4}  {test.id[:SHORT]}  {printable(title(test.message))}", err=True)
        marks = marks.marked(test.id, what)
    return now


def _verdict(repository: str, id: str, words: tuple[str, ...], lake: str | None) -> str:
    import subprocess

    variables = {"LOCHAN_BISECT_REF": id, "LOCHAN_BISECT_URI": f"{repository}@{id}"}
    if lake is not None:
        variables["LOCHAN_LAKE"] = lake
    try:
        # The output of the command goes to stderr, because stdout is for our own answer.
        code = subprocess.run(words, env={**os.environ, **variables}, stdout=2, check=False).returncode
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


def _show_step(repository: str, now: "BisectStep", form: str) -> None:
    first_bad = now.found[0].as_json() if len(now.found) == 1 else None
    if form == "json":
        record = {
            "test": f"{repository}@{now.test.id}" if now.test else None,
            "candidates": len(now.candidates),
            "rounds": now.rounds,
            "first_bad": first_bad,
            "among": [each.id for each in now.found],
        }
        show_record(record, form)
    elif now.test is not None:
        click.echo(
            f"test {repository}@{now.test.id[:SHORT]} ({printable(title(now.test.message))}): "
            f"{len(now.candidates)} commits may be it, about {now.rounds} tests to go"
        )
    else:
        many = len(now.found) > 1
        click.echo("only skipped commits are left; the first bad one is among" if many else "the first bad commit is")
        for commit in now.found:
            click.echo(f"  {commit.id[:SHORT]}  {printable(commit.author)}  {printable(title(commit.message))}")


# --- the file --------------------------------------------------------------------------------------------------------
def _load(file: Path, name: str) -> tuple[Marks, str]:
    """Returns the marks, and the commit that the user is testing. Raises NotFound if nothing is under way, and Invalid
    if the file is damaged."""
    try:
        record: dict[str, Any] = json.loads(file.read_bytes())
        marks = Marks(str(record["bad"]), tuple(map(str, record["good"])), tuple(map(str, record["skipped"])))
        return marks, str(record["test"])
    except FileNotFoundError:
        hint = f"begin with `lochan bisect start {quote(name)}@GOOD {quote(name)}@BAD`"
        raise NotFound(f"no bisection of {name!r} is under way", hint=hint) from None
    except (ValueError, KeyError, TypeError):
        hint = f"`lochan bisect reset {quote(name)}`, and begin anew"
        raise Invalid(f"{file} is not what `lochan bisect` wrote", hint=hint) from None


def _save(file: Path, marks: Marks, test: str) -> None:
    from lochan.cli.user_state import write_file

    record = {"bad": marks.bad, "good": sorted(marks.good), "skipped": sorted(marks.skipped), "test": test}
    write_file(file, json.dumps(record, indent=2))


async def _file(target: Target) -> Path:
    """Returns the file, which is named by the repository's id, because that is unique in all lakes."""
    from lochan.connection import state_place

    return state_place() / "bisect" / f"{(await target.repository.show()).id}.json"


def _two_refs(good: str, bad: str) -> tuple[Uri, Uri]:
    one, other = ref_uri(good), ref_uri(bad)
    if one.repository != other.repository:
        raise Invalid(f"{one} and {other} are in different repositories", hint="a bisection is of one history")
    return one, other
