"""`lochan lifecycle render` and `lochan policy render`: rules of a bucket for logical paths."""

import json
from typing import TYPE_CHECKING

import click

from lochan.cli.error_boundary import print_message
from lochan.cli.lazy_group import LazyGroup
from lochan.cli.output.records import show_record
from lochan.cli.target import Target, repository_uri, work_on
from lochan.errors import Invalid

if TYPE_CHECKING:
    from lochan.api.bucket_rules import BucketRules


@click.group("lifecycle", cls=LazyGroup)
def lifecycle_group() -> None:
    """Lifecycle rules of the bucket that the lake is in."""


@click.group("policy", cls=LazyGroup)
def policy_group() -> None:
    """Access policies of the bucket that the lake is in."""


@lifecycle_group.verb("render", "lochan lifecycle render demo --prefix logs/ --expire-days 30 > rules.json")
@click.argument("repository", metavar="REPO")
@click.option("--prefix", required=True, metavar="FOLDER/", help="The folder whose objects the rule is for.")
@click.option("--expire-days", type=click.IntRange(min=1), metavar="N", help="Delete their bytes after so many days.")
@click.option("--transition-days", type=click.IntRange(min=0), metavar="N", help="Move their bytes after so many days.")
@click.option(
    "--storage-class", default="", metavar="NAME", help="With --transition-days: where to, such as GLACIER_IR."
)
@click.option("--xml", "as_xml", is_flag=True, help="Print XML, as the S3 protocol has it. Default: JSON.")
def lifecycle_command(
    repository: str,
    prefix: str,
    expire_days: int | None,
    transition_days: int | None,
    storage_class: str,
    as_xml: bool,
    form: str,
) -> None:
    """Print the bucket's rule for a folder, and what it would break.

    The rule expires or moves the bytes of objects under the folder. Nothing is set: give the output to your store. The
    lake must be written with blockstore.tag_paths.
    """

    async def work(target: Target) -> "BucketRules":
        return await target.repository.render_lifecycle(
            prefix, expire_days=expire_days, transition_days=transition_days, storage_class=storage_class
        )

    _show(work_on(repository_uri(repository), work), form, as_xml=as_xml)


@policy_group.verb(
    "render",
    "lochan policy render demo --user ann --prefix logs/ --allow read",
    "lochan policy render demo --principal arn:aws:iam::111122223333:role/etl --prefix raw/ --allow write",
)
@click.argument("repository", metavar="REPO")
@click.option("--user", default="", metavar="NAME", help="For a policy of a user or role, which names nobody.")
@click.option("--principal", default="", metavar="ARN", help="For a policy of the bucket: whom it is for.")
@click.option("--prefix", "prefixes", multiple=True, metavar="FOLDER/", help="A folder; may be repeated.")
@click.option(
    "--allow", type=click.Choice(["read", "write"]), default="read", show_default=True, help="What it allows there."
)
def policy_command(
    repository: str, user: str, principal: str, prefixes: tuple[str, ...], allow: str, form: str
) -> None:
    """Print a policy for some folders, and what it leaves open.

    It allows to read or write the bytes of objects there. Nothing is set: give the output to your store. The
    lake must be written with blockstore.address_style path.
    """
    if bool(user) == bool(principal):
        raise Invalid("a policy is for a user or for a principal", hint="give --user NAME or --principal ARN")

    async def work(target: Target) -> "BucketRules":
        return await target.repository.render_policy(prefixes, allow=allow, principal=principal)

    _show(work_on(repository_uri(repository), work), form)


def _show(rules: "BucketRules", form: str, *, as_xml: bool = False) -> None:
    if form == "json":
        show_record(rules.as_json(), form)
        return
    for warning in rules.warnings:
        print_message(warning)
    click.echo(rules.xml.rstrip() if as_xml else json.dumps(rules.document, indent=2))
