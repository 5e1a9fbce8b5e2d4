"""From where an ingest comes, and to where it goes."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from lochan.cli.listed import folder
from lochan.cli.uri import Uri, on_branch, prefix_uri

if TYPE_CHECKING:
    from lochan.cli.opened import Opened
    from lochan.versioning.import_ import ImportPlan


def places(verb: Callable[..., Any]) -> Callable[..., Any]:
    """The options that both verbs have."""
    for option in reversed(_OPTIONS):
        verb = option(verb)
    return verb


_OPTIONS = (
    click.option("--from-path", "source", required=True, metavar="URL", help="The folder or prefix outside the lake."),
    click.option("--to-path", "target", required=True, metavar="REPO[@BRANCH][/PREFIX]", help="What it is to become."),
    click.option("--keep-removed", is_flag=True, help="Leave alone what is not at the source any more."),
)


def ingest_uri(target: str) -> Uri:
    uri = on_branch(prefix_uri(target))
    return uri._replace(path=folder(uri.path))


async def gathered(opened: "Opened", source: str, uri: Uri, *, keep_removed: bool, bar: bool) -> "ImportPlan":
    from lochan.cli.places import place_url
    from lochan.cli.progress import counted
    from lochan.versioning.import_ import ImportSource, for_ingest

    with counted("listing", "files", wanted=bar) as seen:
        return await for_ingest(
            opened.repository, ImportSource(place_url(source), uri.path), keep_removed=keep_removed, seen=seen
        )
