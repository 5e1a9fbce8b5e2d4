"""`lochan login` and `logout`: the servers that this user works with, and the access keys for them."""

import sys
from typing import TYPE_CHECKING

import click

from lochan.cli.output.records import printable, show_record
from lochan.cli.session import configuration
from lochan.cli.verb import verb
from lochan.config.profiles import DEFAULT, Profile, encode, find_profile, read_profiles
from lochan.errors import Invalid

if TYPE_CHECKING:
    from lochan.config.load import Config


@verb("login", "lochan login https://lake.example.org", "lochan login https://lake.example.org --profile work")
@click.argument("url", metavar="URL")
@click.option("--profile", "name", default=DEFAULT, show_default=True, metavar="NAME", help="What it is noted as.")
@click.option("--access-key-id", metavar="ID", help="The access key. Default: asked for.")
@click.option("--secret-stdin", is_flag=True, help="Read the secret from standard input instead of asking for it.")
def login_command(url: str, name: str, access_key_id: str | None, secret_stdin: bool, form: str) -> None:
    """Note the access key for a server, after trying it.

    It is kept in ~/.config/lochan/profiles.json, which only you may read. From then on `--lake URL`, `--profile NAME`
    or LOCHAN_PROFILE is all that a command needs. LOCHAN_REMOTE__ACCESS_KEY_ID and LOCHAN_REMOTE__SECRET_ACCESS_KEY in
    the environment are taken instead of asking.
    """
    from lochan.cli.user_state import write_file
    from lochan.config.find import is_server
    from lochan.connection import profiles_file

    config = configuration(url)
    address = config.settings.lake or ""
    if not is_server(address):
        raise Invalid(f"{url!r} is no address of a server", hint="such as https://lake.example.org")
    if not name.strip():
        raise Invalid("the name of a profile is empty")
    profile = Profile(address, *_keys(config, access_key_id, secret_stdin))
    user = _try_key(config, profile)
    write_file(profiles_file(), encode({**read_profiles(profiles_file()), name: profile}))
    if form == "json":
        show_record({"profile": name, "url": profile.url, "user": user}, form)
    else:
        click.echo(f"logged in to {printable(profile.url)} as {printable(user)}, noted as profile {printable(name)}")


@verb("logout", "lochan logout", "lochan logout work")
@click.argument("name", metavar="[PROFILE]", default=DEFAULT)
def logout_command(name: str, form: str) -> None:
    """Forget the access key for a server. The key itself stays valid: `lochan auth keys revoke` ends that."""
    from lochan.cli.user_state import write_file
    from lochan.connection import profiles_file

    profiles = read_profiles(profiles_file())
    gone = find_profile(profiles, name)
    write_file(profiles_file(), encode({each: kept for each, kept in profiles.items() if each != name}))
    if form == "json":
        show_record({"profile": name, "url": gone.url}, form)
    else:
        click.echo(f"forgot the key for {printable(gone.url)}")


def _keys(config: "Config", access_key_id: str | None, secret_stdin: bool) -> tuple[str, str]:
    """Returns the access key and its secret: given, configured, or asked for. Raises Invalid."""
    given = config.settings.remote
    access = access_key_id or given.access_key_id
    asks = sys.stdin.isatty() and not secret_stdin
    if access is None:
        if not asks:
            raise Invalid("no access key was given", hint="--access-key-id ID, or LOCHAN_REMOTE__ACCESS_KEY_ID")
        access = str(click.prompt("Access key ID", err=True)).strip()
    if secret_stdin:
        secret = sys.stdin.readline().strip()
    elif given.secret_access_key is not None:
        secret = given.secret_access_key
    elif asks:
        secret = str(click.prompt("Secret access key", hide_input=True, err=True)).strip()
    else:
        raise Invalid("no secret was given", hint="--secret-stdin, or LOCHAN_REMOTE__SECRET_ACCESS_KEY")
    if not access or not secret:
        raise Invalid("the access key or its secret is empty")
    return access, secret


def _try_key(config: "Config", profile: Profile) -> str:
    """Returns the user that the key belongs to. Raises the server's error."""
    from lochan import __version__
    from lochan.cli.session import run
    from lochan.remote.address import RemoteAddress

    async def ask() -> str:
        address = RemoteAddress(profile.url, __version__, profile.access_key_id, profile.secret_access_key)
        return await address.user()

    return run(config, ask())
