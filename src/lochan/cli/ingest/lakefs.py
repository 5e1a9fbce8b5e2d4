"""`lochan import --from-lakefs`: repositories of a lakeFS, with their history."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from lochan.cli.output.progress import count_progress
from lochan.cli.output.records import count_noun as plural
from lochan.cli.output.records import printable, show_record, size
from lochan.errors import Invalid, NotFound

if TYPE_CHECKING:
    from lochan.api.lake import Lake
    from lochan.api.migration import LakefsSource, MigrationResult

_ACCESS, _SECRET = "LAKECTL_CREDENTIALS_ACCESS_KEY_ID", "LAKECTL_CREDENTIALS_SECRET_ACCESS_KEY"
_OPTIONS = (
    click.option("--from-lakefs", "lakefs", metavar="URL", help="Import repositories of this lakeFS."),
    click.option(
        "--repo", "repositories", multiple=True, metavar="NAME", help="One of them; may be repeated. Default: all."
    ),
    click.option("--to", default="", metavar="NAME", help="What the one repository is to be called here."),
    click.option(
        "--bodies",
        type=click.Choice(["auto", "link", "copy"]),
        default="auto",
        show_default=True,
        help="Leave the bytes of objects in the bucket of the lakeFS, or copy them; auto: link those that can be.",
    ),
    click.option(
        "--link-also",
        multiple=True,
        metavar="URL",
        help="Link files below this prefix, too, which the lakeFS imported; may be repeated.",
    ),
)


class LakefsOptions(NamedTuple):
    repositories: tuple[str, ...]
    to: str
    bodies: str
    link_also: tuple[str, ...]


def lakefs_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_OPTIONS):
        verb = option(verb)
    return verb


def import_from_lakefs(url: str, options: LakefsOptions, *, others: Sequence[str | None], form: str) -> None:
    """Imports repositories of a lakeFS. Raises Invalid for other arguments of `import`, which it does not take."""
    from lochan.api.migration import LakefsSource
    from lochan.cli.session import on_lake

    names = options.repositories
    if any(others):
        raise Invalid("with --from-lakefs there is no other source", hint="name repositories of it with --repo")
    if options.to and len(names) != 1:
        raise Invalid("--to is for one repository", hint="name it with --repo")
    source = LakefsSource(url, *_keys())

    async def work(lake: "Lake") -> None:
        for name in names or await _all_repositories(lake, source):
            with count_progress(f"importing {printable(name)}", "commits", visible=form != "json") as landed:
                done = await lake.import_lakefs(
                    source,
                    name,
                    to=options.to,
                    bodies=options.bodies,
                    link_also=options.link_also,
                    progress=landed,
                )
            _show(done, form)

    on_lake(work)


async def _all_repositories(lake: "Lake", source: "LakefsSource") -> list[str]:
    names = await lake.lakefs_repositories(source)
    if not names:
        raise NotFound(f"{source.url} shows no repositories", hint="may these keys see any?")
    return names


def _keys() -> tuple[str, str]:
    """Returns the access key and its secret. Raises Invalid."""
    found = dict(_lakectl_settings())
    access = os.environ.get(_ACCESS) or found.get("access_key_id")
    secret = os.environ.get(_SECRET) or found.get("secret_access_key")
    if not access or not secret:
        raise Invalid("there is no key for the lakeFS", hint=f"set {_ACCESS} and {_SECRET}, or write ~/.lakectl.yaml")
    return access, secret


def _lakectl_settings() -> Iterator[tuple[str, str]]:
    """Yields the credentials in lakectl's file. Raises Invalid."""
    import yaml

    path = Path(os.environ.get("LAKECTL_CONFIG_FILE") or Path.home() / ".lakectl.yaml")
    try:
        settings = yaml.safe_load(path.read_text())
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise Invalid(f"{path} cannot be read: {error}") from None
    section = settings.get("credentials") if isinstance(settings, dict) else None
    if isinstance(section, dict):
        yield from ((name, value) for name, value in section.items() if isinstance(value, str))


def _show(done: "MigrationResult", form: str) -> None:
    if form == "json":
        show_record(done.as_json(), form)
        return
    branches = "1 branch" if done.branches == 1 else f"{done.branches:,} branches"
    kinds = branches, plural(done.tags, "tag"), plural(done.commits, "new commit")
    moved = f"{plural(done.linked, 'object')} linked, {done.copied:,} copied ({size(done.bytes_copied)})"
    click.echo(f"{printable(done.repository)}: {', '.join(kinds)}; {moved}")
    for branch in done.uncommitted:
        click.echo(f"  branch {printable(branch)} has uncommitted changes there, which were left out")
