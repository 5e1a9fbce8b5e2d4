"""`lochan completion`: the script that teaches a shell to complete our verbs and options."""

import click


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script for SHELL.

    For bash, add this to ~/.bashrc:  eval "$(lochan completion bash)"
    """
    from click.shell_completion import BashComplete, FishComplete, ZshComplete

    from lochan.cli.root import cli

    kind = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}[shell]
    click.echo(kind(cli, {}, "lochan", "_LOCHAN_COMPLETE").source())
