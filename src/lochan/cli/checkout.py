"""`lochan checkout` and `pull`; and what `status` and `commit` do in the folder of a checkout."""

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from lochan.cli.error_boundary import print_message
from lochan.cli.output.progress import progress
from lochan.cli.output.records import SHORT, count_noun, printable, show_answer, show_record, size, title
from lochan.cli.target import Target, folder, prefix_uri, work_on
from lochan.cli.verb import verb
from lochan.errors import Invalid

if TYPE_CHECKING:
    from lochan.api.checkout import Checkout, CheckoutStatus
    from lochan.api.options import CommitOptions

T = TypeVar("T")


@verb("checkout", "lochan checkout demo@main data", "lochan checkout demo@main raw/ data --link")
@click.argument("source", metavar="REPO[@REF]")
@click.argument("words", nargs=-1, required=True, metavar="[PREFIX] DIR")
@click.option("--link", is_flag=True, help="Make read-only hard links to the user's cache. Default: files.")
def checkout_command(source: str, words: tuple[str, ...], link: bool, form: str) -> None:
    """Write the files of a commit to a folder that can be committed from.

    DIR is new or empty. With PREFIX, it gets the objects below that, without it in their names. In the folder, `lochan
    status` shows what was changed, `lochan pull` brings what is new on the branch, and `lochan commit -m MESSAGE`
    commits the changes. Files that .lochanignore names, in the notation of .gitignore, are left out. A checkout that
    was interrupted goes on when it is run again. If a path cannot be a file, nothing is written.
    """
    uri = prefix_uri(source)
    if len(words) > 2 or (uri.path and len(words) > 1):
        raise Invalid("there are too many arguments", hint="give a repository and a ref, a prefix, and a folder")
    prefix = uri.path if len(words) == 1 else words[0]
    to = words[-1]

    async def work(target: Target) -> dict[str, object]:
        from lochan.cli.session import configuration
        from lochan.connection import cache_place

        done = await target.ref.checkout(
            to,
            prefix=folder(prefix),
            cache=cache_place(configuration()) if link else "",
            progress=partial(progress, "checking out", visible=form != "json"),
            report=print_message,
        )
        return done.as_json()

    done = work_on(uri, work)
    text = f"checked out {str(done['commit'])[:SHORT]} into {printable(to)}"
    show_answer(done, form, f"{text}: {_files(done['written'])} ({size(_int(done['bytes']))})")


@verb("pull", "lochan pull")
@click.argument("place", metavar="[DIR]", default=".")
def pull_command(place: str, form: str) -> None:
    """Bring what is new on the branch of a checkout into its folder.

    What was changed in the folder and not on the branch stays as it is. If a file was changed in both, nothing is
    pulled, and the files are listed. A pull that was interrupted goes on when it is run again.
    """
    bar = partial(progress, "pulling", visible=form != "json")
    done = on_checkout(Path(place), lambda found: found.pull(progress=bar, report=print_message))
    text = f"pulled {done.commit[:SHORT]}: {_files(done.written)} written ({size(done.bytes)}), {done.removed} removed"
    show_answer(done.as_json(), form, text if done.written or done.removed else f"at {done.commit[:SHORT]} already")


def is_in_checkout() -> bool:
    """Returns whether the working folder is in a checkout, so that a verb without a target means that checkout."""
    from lochan.checkout import state

    return state.find(Path.cwd()) is not None


def show_status(form: str) -> None:
    found = on_checkout(Path(), lambda checkout: checkout.status(report=print_message))
    if form == "json":
        show_record(found.as_json(), form)
    else:
        _show_table(found)


def _show_table(found: "CheckoutStatus") -> None:
    place = f"{found.repository}@{found.ref}{'/' if found.prefix else ''}{found.prefix}"
    click.echo(f"checkout of {printable(place)} at {found.commit[:SHORT] or 'nothing yet'}")
    if found.interrupted:
        click.echo("a pull was interrupted; `lochan pull` goes on with it")
    elif found.behind:
        click.echo("the branch has moved on; `lochan pull` brings what is new")
    if not found.changes:
        click.echo("nothing was changed")
        return
    width = max(len(size(each.size)) for each in found.changes)
    for each in found.changes:
        click.echo(f"{each.kind:<7}  {size(each.size):>{width}}  {printable(each.path)}")


def commit_changes(options: "CommitOptions", form: str) -> None:
    made = on_checkout(Path(), lambda checkout: checkout.commit(options=options, report=print_message)).as_json()
    show_answer(made, form, f"committed {made['id'][:SHORT]}: {printable(title(options.message))}")


def on_checkout(place: Path, work: Callable[["Checkout"], Awaitable[T]]) -> T:
    """Does the work of a command on the checkout at this place. Its lake is the one that it was made from, unless
    another one was given with --lake. Raises NotFound."""
    from lochan.checkout import state
    from lochan.cli.lazy_group import flags
    from lochan.cli.session import on_lake

    top = state.find(place.absolute())
    given = flags(click.get_current_context())
    lake = None if top is None or given.lake else state.load(top).lake
    return on_lake(lambda found: work(found.checkout(place)), lake=lake)


def _files(count: object) -> str:
    return count_noun(_int(count), "file")


def _int(given: object) -> int:
    assert isinstance(given, int)
    return given
