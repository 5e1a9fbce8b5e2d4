"""`lochan completion`: the script that teaches a shell to complete our words."""

import click


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the script by which SHELL completes words.

    Repositories, pools, branches, tags, paths, users, policies and settings are completed from the lake that the
    command would use.

    \b
    For bash, add this to ~/.bashrc:        eval "$(lochan completion bash)"
    For zsh, add this to ~/.zshrc:          eval "$(lochan completion zsh)"
    For fish, run this once:                lochan completion fish > ~/.config/fish/completions/lochan.fish
    """
    from lochan.cli.root import cli
    from lochan.cli.shell_scripts import KINDS, VARIABLE

    click.echo(KINDS[shell](cli, {}, "lochan", VARIABLE).source())
