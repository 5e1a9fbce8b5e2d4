"""A bisection that is under way: what was said so far, kept in a file of the user's own, and what to test next."""

import json
import os
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from lochan.cli.commit_record import SHORT, commit_record, title
from lochan.cli.opened import Opened, work_on
from lochan.cli.shown import printable, show_record
from lochan.cli.uri import Uri, ref_uri
from lochan.errors import Invalid, NotFound
from lochan.store.permissions import make_private_folder

if TYPE_CHECKING:
    from lochan.versioning.bisect import BisectMarks, BisectStep
    from lochan.versioning.graph import LookUp


class Kept(NamedTuple):
    marks: "BisectMarks"
    test: str  # the commit that the user was told to test


def say(text: str, what: str, form: str) -> None:
    """`good`, `bad` or `skip`, of a commit that is named or else of the one under test; shows what comes next."""
    uri = ref_uri(text)

    async def work(opened: Opened) -> None:
        kept = load(opened)
        if uri.ref:
            id = (await opened.repository.resolve(uri.ref)).commit_id
        elif kept.test:
            id = kept.test
        else:
            raise Invalid("nothing is left to be tested", hint=f"`lochan bisect reset {quote(uri.repository)}` ends it")
        await go_on(opened, marked(kept.marks, id, what), form)

    work_on(uri, work)


def marked(marks: "BisectMarks", id: str, what: str) -> "BisectMarks":
    if what == "bad":
        return marks._replace(bad=id)
    if what == "good":
        return marks._replace(good=marks.good | {id})
    return marks._replace(skipped=marks.skipped | {id})


async def go_on(opened: Opened, marks: "BisectMarks", form: str) -> None:
    """Raises Invalid for marks that contradict each other, which are not kept."""
    from lochan.versioning.bisect import step

    refs, _ = await opened.repository.refs()
    now = step(refs.commit, marks)
    _keep(opened, Kept(marks, now.test))
    show_step(opened.repository.repository.name, refs.commit, now, form)


def show_step(repository: str, look_up: "LookUp", now: "BisectStep", form: str) -> None:
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
def load(opened: Opened) -> Kept:
    """Raises NotFound if nothing is under way, Invalid for a file that somebody spoilt."""
    from lochan.versioning.bisect import BisectMarks

    name, file = opened.repository.repository.name, _file(opened)
    try:
        said: dict[str, Any] = json.loads(file.read_bytes())
        marks = BisectMarks(str(said["bad"]), frozenset(map(str, said["good"])), frozenset(map(str, said["skipped"])))
        return Kept(marks, str(said["test"]))
    except FileNotFoundError:
        hint = f"begin with `lochan bisect start {quote(name)}@GOOD {quote(name)}@BAD`"
        raise NotFound(f"no bisection of {name!r} is under way", hint=hint) from None
    except (ValueError, KeyError, TypeError):
        hint = f"`lochan bisect reset {quote(name)}`, and begin anew"
        raise Invalid(f"{file} is not what `lochan bisect` wrote", hint=hint) from None


def forget(opened: Opened) -> None:
    _file(opened).unlink(missing_ok=True)


def under_way(opened: Opened) -> bool:
    return _file(opened).exists()


def _keep(opened: Opened, kept: Kept) -> None:
    file = _file(opened)
    make_private_folder(str(file.parent))
    marks = kept.marks
    said = {"bad": marks.bad, "good": sorted(marks.good), "skipped": sorted(marks.skipped), "test": kept.test}
    new = file.with_suffix(f".{os.getpid()}")
    new.write_text(json.dumps(said, indent=2))
    new.replace(file)


def _file(opened: Opened) -> Path:
    """By the repository's id, which no other has in any lake."""
    from lochan.cli.session import state_place

    return state_place() / "bisect" / f"{opened.repository.repository.id}.json"


def two_refs(good: str, bad: str) -> tuple[Uri, Uri]:
    one, other = ref_uri(good), ref_uri(bad)
    if one.repository != other.repository:
        raise Invalid(f"{one} and {other} are in different repositories", hint="a bisection is of one history")
    return one, other
