"""`lochan bisect`: finds the commit that broke something, by testing as few as possible.

What was said so far is kept in a file of the user's own, one for each repository.
"""

import json
import os
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from lochan.cli.lazy_group import LazyGroup
from lochan.cli.open_ref import OpenRef, work_on
from lochan.cli.options.global_options import flags
from lochan.cli.output.commits import SHORT, commit_record, title
from lochan.cli.output.records import format_option, printable, show_record
from lochan.cli.uri import Uri, ref_uri, repository_uri
from lochan.errors import AlreadyExists, Invalid, LochanError, NotFound
from lochan.store.private import make_private_folder

if TYPE_CHECKING:
    from lochan.versioning.bisect import Marks, Step
    from lochan.versioning.graph import LookUp


@click.group("bisect", cls=LazyGroup)
def group() -> None:
    """Find the commit that broke something, by testing as few as can be."""


@group.command("start")
@click.argument("good", metavar="REPO@GOOD")
@click.argument("bad", metavar="REPO[@BAD]")
@format_option
def start_command(good: str, bad: str, form: str) -> None:
    """Begin with a good commit and a bad one. It shows which to test first.

    \b
    Example:
      lochan bisect start demo@v1 demo@main
    """

    one, other = two_refs(good, bad)

    async def work(opened: OpenRef) -> None:
        from lochan.versioning.bisect import Marks

        if under_way(opened):
            name = opened.repository.repository.name
            raise AlreadyExists(
                f"a bisection of {name!r} is under way", hint=f"`lochan bisect reset {quote(name)}` ends it first"
            )
        fine = await opened.repository.resolve(opened.ref_of(one))
        broken = await opened.repository.resolve(opened.ref_of(other))
        await go_on(opened, Marks(broken.commit_id, frozenset({fine.commit_id})), form)

    work_on(one, work)


@group.command("good")
@click.argument("ref", metavar="REPO[@REF]")
@format_option
def good_command(ref: str, form: str) -> None:
    """Say that a commit is good: the one under test, or the one that is named.

    \b
    Example:
      lochan bisect good demo
    """

    _mark(ref, "good", form)


@group.command("bad")
@click.argument("ref", metavar="REPO[@REF]")
@format_option
def bad_command(ref: str, form: str) -> None:
    """Say that a commit is bad: the one under test, or the one that is named.

    \b
    Example:
      lochan bisect bad demo
    """

    _mark(ref, "bad", form)


@group.command("skip")
@click.argument("ref", metavar="REPO[@REF]")
@format_option
def skip_command(ref: str, form: str) -> None:
    """Say that a commit cannot be tested: the one under test, or the one that is named.

    \b
    Example:
      lochan bisect skip demo
    """

    _mark(ref, "skip", form)


SKIP = 125
_BAD_MAX = 127  # above are signals: the command was stopped, and has said nothing


@group.command("run")
@click.argument("good", metavar="REPO@GOOD")
@click.argument("bad", metavar="REPO[@BAD]")
@click.argument("words", metavar="-- COMMAND…", nargs=-1, required=True, type=click.UNPROCESSED)
@format_option
def run_command(good: str, bad: str, words: tuple[str, ...], form: str) -> None:
    """Run COMMAND for commits until the first bad one is found.

    LOCHAN_BISECT_REF holds the commit, and LOCHAN_BISECT_URI the repository with it. The command's code says what the
    commit is: 0 good, 125 cannot be tested, any other up to 127 bad; beyond, the search ends.

    \b
    Example:
      lochan bisect run demo@v1 demo@main -- ./check.sh
    """

    one, other = two_refs(good, bad)

    async def work(opened: OpenRef) -> None:
        from lochan.versioning.bisect import Marks

        refs, _ = await opened.repository.refs()
        fine = await opened.repository.resolve(opened.ref_of(one))
        broken = await opened.repository.resolve(opened.ref_of(other))
        marks = Marks(broken.commit_id, frozenset({fine.commit_id}))
        now = await _search(one.repository, refs.commit, marks, words)
        show_step(one.repository, refs.commit, now, form)
        if len(now.candidates) > 1:
            raise Invalid(f"the first bad commit is one of {len(now.candidates)}, and all between were skipped")

    work_on(one, work)


async def _search(repository: str, look_up: "LookUp", marks: "Marks", words: tuple[str, ...]) -> "Step":
    import asyncio

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


@group.command("reset")
@click.argument("repository", metavar="REPO")
@format_option
def reset_command(repository: str, form: str) -> None:
    """End a bisection, and forget what was said.

    \b
    Example:
      lochan bisect reset demo
    """

    async def work(opened: OpenRef) -> bool:
        was = under_way(opened)
        forget(opened)
        return was

    was = work_on(repository_uri(repository), work)
    if form == "json":
        show_record({"was_under_way": was}, form)
    else:
        click.echo(f"no bisection of {printable(repository)} is under way{' any more' if was else ''}")


class BisectState(NamedTuple):
    marks: "Marks"
    test: str  # the commit that the user was told to test


def _mark(text: str, what: str, form: str) -> None:
    """`good`, `bad` or `skip`, of a commit that is named or else of the one under test; shows what comes next."""
    uri = ref_uri(text)

    async def work(opened: OpenRef) -> None:
        kept = load(opened)
        if uri.ref:
            id = (await opened.repository.resolve(uri.ref)).commit_id
        elif kept.test:
            id = kept.test
        else:
            raise Invalid("nothing is left to be tested", hint=f"`lochan bisect reset {quote(uri.repository)}` ends it")
        await go_on(opened, marked(kept.marks, id, what), form)

    work_on(uri, work)


def marked(marks: "Marks", id: str, what: str) -> "Marks":
    if what == "bad":
        return marks._replace(bad=id)
    if what == "good":
        return marks._replace(good=marks.good | {id})
    return marks._replace(skipped=marks.skipped | {id})


async def go_on(opened: OpenRef, marks: "Marks", form: str) -> None:
    """Raises Invalid for marks that contradict each other, which are not kept."""
    from lochan.versioning.bisect import step

    refs, _ = await opened.repository.refs()
    now = step(refs.commit, marks)
    _keep(opened, BisectState(marks, now.test))
    show_step(opened.repository.repository.name, refs.commit, now, form)


def show_step(repository: str, look_up: "LookUp", now: "Step", form: str) -> None:
    from lochan.versioning.bisect import rounds

    record = {
        "test": f"{repository}@{now.test}" if now.test else None,
        "candidates": len(now.candidates),
        "rounds": rounds(len(now.candidates)) if now.test else 0,
        "first_bad": commit_record(now.candidates[0], look_up(now.candidates[0])) if len(now.candidates) == 1 else None,
    }
    if form == "json":
        show_record({**record, "among": [] if now.test else list(now.candidates)}, form)
    elif now.test:
        click.echo(
            f"test {repository}@{now.test[:SHORT]} ({printable(title(look_up(now.test).message))}): "
            f"{record['candidates']} commits may be it, about {record['rounds']} tests to go"
        )
    else:
        _echo_found(now.candidates, look_up)


def _echo_found(candidates: tuple[str, ...], look_up: "LookUp") -> None:
    many = len(candidates) > 1
    click.echo("only skipped commits are left; the first bad one is among" if many else "the first bad commit is")
    for id in candidates:
        commit = look_up(id)
        click.echo(f"  {id[:SHORT]}  {printable(commit.author)}  {printable(title(commit.message))}")


# --- the file --------------------------------------------------------------------------------------------------------
def load(opened: OpenRef) -> BisectState:
    """Raises NotFound if nothing is under way, Invalid for a file that somebody spoilt."""
    from lochan.versioning.bisect import Marks

    name, file = opened.repository.repository.name, _file(opened)
    try:
        said: dict[str, Any] = json.loads(file.read_bytes())
        marks = Marks(str(said["bad"]), frozenset(map(str, said["good"])), frozenset(map(str, said["skipped"])))
        return BisectState(marks, str(said["test"]))
    except FileNotFoundError:
        hint = f"begin with `lochan bisect start {quote(name)}@GOOD {quote(name)}@BAD`"
        raise NotFound(f"no bisection of {name!r} is under way", hint=hint) from None
    except (ValueError, KeyError, TypeError):
        hint = f"`lochan bisect reset {quote(name)}`, and begin anew"
        raise Invalid(f"{file} is not what `lochan bisect` wrote", hint=hint) from None


def forget(opened: OpenRef) -> None:
    _file(opened).unlink(missing_ok=True)


def under_way(opened: OpenRef) -> bool:
    return _file(opened).exists()


def _keep(opened: OpenRef, kept: BisectState) -> None:
    file = _file(opened)
    make_private_folder(str(file.parent))
    marks = kept.marks
    said = {"bad": marks.bad, "good": sorted(marks.good), "skipped": sorted(marks.skipped), "test": kept.test}
    new = file.with_suffix(f".{os.getpid()}")
    new.write_text(json.dumps(said, indent=2))
    new.replace(file)


def _file(opened: OpenRef) -> Path:
    """By the repository's id, which no other has in any lake."""
    from lochan.cli.session import state_place

    return state_place() / "bisect" / f"{opened.repository.repository.id}.json"


def two_refs(good: str, bad: str) -> tuple[Uri, Uri]:
    one, other = ref_uri(good), ref_uri(bad)
    if one.repository != other.repository:
        raise Invalid(f"{one} and {other} are in different repositories", hint="a bisection is of one history")
    return one, other
