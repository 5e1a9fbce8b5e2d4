"""`lochan init`, `ls`, `use`, `config` and `doctor`: make a lake, show its contents and configuration, and check it."""

from typing import TYPE_CHECKING, Any

import click

from lochan.cli import exit_codes
from lochan.cli.error_boundary import about_repository
from lochan.cli.lazy_group import LazyGroup
from lochan.cli.output.records import cell, echo_table, printable, show_record, show_records
from lochan.cli.repo import show_repositories
from lochan.cli.target import optional_uri, ref_uri
from lochan.cli.verb import verb
from lochan.errors import LochanError

if TYPE_CHECKING:
    from lochan.api.doctor import DoctorCheck
    from lochan.api.lake import Lake


@verb("init", "lochan init s3://bucket/lake")
@click.argument("location", metavar="[PATH-OR-URL]", required=False)
def init_command(location: str | None, form: str) -> None:
    """Create a lake in a folder or on an object store.

    Without PATH-OR-URL the lake is created where --lake, LOCHAN_LAKE or the configuration says, or else in the folder
    .lochan here. Commands in this folder and below it find that one by themselves.
    """
    from lochan.cli.session import configuration, run
    from lochan.connection import create_lake, new_lake_place

    config = configuration(lake=location)
    found = new_lake_place(config)

    async def work() -> dict[str, str]:
        lake = await create_lake(config, found)
        try:
            return {"url": lake.url, "id": lake.id}
        finally:
            await lake.close()

    made = run(config, work())
    if form == "json":
        show_record(made, form)
        return
    click.echo(f"made a lake at {printable(made['url'])}")
    if not _is_found(found.url):
        click.echo(f"to use it: lochan --lake {printable(found.url)} …, or set LOCHAN_LAKE", err=True)


def _is_found(url: str) -> bool:
    """Returns whether a command without --lake would use this lake. The configuration may not name any."""
    from lochan.cli.session import configuration
    from lochan.connection import lake_place

    try:
        return lake_place(configuration()).url == url
    except LochanError:
        return False


@verb("ls", "lochan ls")
@click.argument("name", metavar="[REPO]", required=False)
def ls_command(name: str | None, form: str) -> None:
    """List repositories and pools, or the branches of one."""
    if name is None:
        show_repositories(form)
    else:
        from lochan.cli.refs import show_branches

        show_branches(name, form)


@verb("use", "lochan use logs@main")
@click.argument("pool", metavar="[POOL[@REF]]", required=False)
@click.option("--clear", is_flag=True, help="Use no pool from now on.")
def use_command(pool: str | None, clear: bool, form: str) -> None:
    """Choose the pool for verbs and queries that name none. Without POOL, show the one in use.

    The choice is remembered for this lake and this user. LOCHAN_POOL in the environment takes precedence.
    """
    from lochan.cli import user_state
    from lochan.cli.session import configuration, on_lake

    if clear and pool is not None:
        raise click.UsageError("--clear takes no pool.")
    uri = optional_uri(ref_uri, pool)

    async def work(lake: "Lake") -> dict[str, Any]:
        if clear:
            user_state.forget(lake.id)
            return {"pool": None, "ref": None}
        at = uri or user_state.in_use(configuration(), lake.id)
        repository = lake.repository(at.repository)
        ref = at.ref or (await repository.show()).default_branch
        about_repository(at.repository)
        await repository.ref(ref).resolve()
        if uri is not None:
            user_state.use(lake.id, uri)
        return {"pool": at.repository, "ref": ref}

    record = on_lake(work)
    if form == "json":
        show_record(record, form)
    elif clear:
        click.echo("no pool is in use")
    else:
        click.echo(f"using {printable(record['pool'])}@{printable(record['ref'])}")


@click.group("config", cls=LazyGroup)
def config_group() -> None:
    """Show the configuration."""


@config_group.verb("show", "lochan config show")
def config_show_command(form: str) -> None:
    """Show every setting, its value and where that came from.

    The setting `lake` shows the lake that commands use here, and how it was found. Secrets are masked.
    """
    from lochan.cli.session import configuration
    from lochan.connection import lake_place

    config = configuration()
    records = [{"key": key, "value": config.shown(key), "source": config.source(key).text} for key in config]
    found = lake_place(config)
    for record in records:
        if record["key"] == "lake" and not config.is_set("lake"):
            record.update(value=found.url, source=found.source)
    show_records(records, form, columns=("key", "value", "source"))


# `lochan doctor` checks whether this machine and this store can carry a lake.


@verb("doctor", "lochan doctor")
@click.option("--spark", is_flag=True, help="Also start Spark on one core and run a small job (about ten seconds).")
def doctor_command(spark: bool, form: str) -> None:
    """Check versions, disks, store and lake. For each problem it says what to do.

    The store is tested for what everything depends on: several writers race to create one object. If two of them win,
    the store is refused, with exit code 5.
    """
    import msgspec

    from lochan.cli.session import configuration, run
    from lochan.lake_check import doctor

    config = configuration()
    checks = run(config, doctor(config, spark=spark))
    if form == "json":
        show_records([msgspec.to_builtins(each) for each in checks], form, columns=())
    else:
        _print(checks)
    failed = [each for each in checks if each.kind]
    if failed:
        click.get_current_context().exit(exit_codes.BY_KIND[failed[0].kind])


def _print(checks: list["DoctorCheck"]) -> None:
    rows = []
    for each in checks:
        rows.append((f"{each.status:<4}", each.check, cell(each.found)))
        if each.advice:
            rows.append(("    ", "", f"→ {cell(each.advice)}"))
    echo_table(("", "", ""), rows, begun=True)
