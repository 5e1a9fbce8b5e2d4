"""`lochan use`: the pool that verbs work on when none is named."""

from typing import Any

import click

from lochan.cli.hints import speak_of
from lochan.cli.shown import format_option, printable, show_record
from lochan.cli.uri import given, ref_uri


@click.command("use")
@click.argument("pool", metavar="[POOL[@REF]]", required=False)
@click.option("--clear", is_flag=True, help="Use none from now on.")
@format_option
def command(pool: str | None, clear: bool, form: str) -> None:
    """Choose the pool for verbs and queries that name none. Without POOL, say which is in use.

    It is remembered for this lake and this user. LOCHAN_POOL in the environment counts more.

    \b
    Example:
      lochan use logs@main
    """
    from lochan.cli import current
    from lochan.cli.session import configuration, open_lake, run

    if clear and pool is not None:
        raise click.UsageError("--clear takes no pool.")
    uri = given(ref_uri, pool)
    config = configuration()

    async def work() -> dict[str, Any]:
        async with open_lake(config) as lake:
            if clear:
                current.forget(lake.id)
                return {"pool": None, "ref": None}
            at = uri or current.in_use(config, lake.id)
            repository = await lake.open_repository(at.repository)
            speak_of(at.repository)
            try:
                ref = at.ref or repository.repository.default_branch
                await repository.resolve(ref)
            finally:
                await repository.close()
            if uri is not None:
                current.use(lake.id, uri)
            return {"pool": at.repository, "ref": ref}

    record = run(config, work())
    if form == "json":
        show_record(record, form)
    elif clear:
        click.echo("no pool is in use")
    else:
        click.echo(f"using {printable(record['pool'])}@{printable(record['ref'])}")
