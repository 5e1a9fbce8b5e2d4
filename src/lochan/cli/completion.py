"""`lochan completion`: scripts by which bash, zsh and fish complete the words of our commands."""

import os
import re
from typing import ClassVar

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    split_arg_string,
)

from lochan.cli.suggestions import PART


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_command(shell: str) -> None:
    """Print the completion script for SHELL.

    Repositories, pools, branches, tags, paths, users, policies and settings are completed from the lake that the
    command would use.

    \b
    For bash, add this to ~/.bashrc:        eval "$(lochan completion bash)"
    For zsh, add this to ~/.zshrc:          eval "$(lochan completion zsh)"
    For fish, run this once:                lochan completion fish > ~/.config/fish/completions/lochan.fish
    """
    from lochan.cli.root import cli

    click.echo(KINDS[shell](cli, {}, "lochan", VARIABLE).source())


VARIABLE = "_LOCHAN_COMPLETE"

# Bash breaks words at @ and :, which are inside our words, so it passes the whole line, and gets what follows the last
# break.
_BASH = """\
%(complete_func)s() {
    local IFS=$'\\n' answer
    COMPREPLY=()
    for answer in $(COMP_LINE="$COMP_LINE" COMP_POINT="$COMP_POINT" COMP_BREAKS="$COMP_WORDBREAKS" \\
            %(complete_var)s=bash_complete "$1" 2>/dev/null); do
        case "${answer%%%%,*}" in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            part) compopt -o nospace; COMPREPLY+=("${answer#*,}") ;;
            *) COMPREPLY+=("${answer#*,}") ;;
        esac
    done
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""
_NOT_PLAIN = re.compile(r"([^\w@%+=:,./~^{}-])")  # characters that a shell would not leave as they are


# Where click's own script handles words that continue.
_ZSH_KINDS, _ZSH_END = 'elif [[ "$type" == "dir" ]]', 'if [ -n "$completions" ]'


class _CompletionRequest(ShellComplete):
    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[str]]:
        self.ctx_args["obj"] = args  # the words before it, including those that click could not parse
        return super().get_completions(args, incomplete)


class Bash(_CompletionRequest, BashComplete):
    source_template: ClassVar[str] = _BASH

    def source(self) -> str:
        return ShellComplete.source(self)  # this does not start a process that asks bash for its version

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ["COMP_LINE"][: int(os.environ["COMP_POINT"])]
        words = split_arg_string(line)
        self._word = re.search(r"(?:[^\s\\]|\\.)*$", line)  # as the user has typed it
        incomplete = words.pop() if self._word and self._word[0] and words else ""
        return words[1:], incomplete

    def format_completion(self, item: CompletionItem[str]) -> str:
        typed = self._word[0] if self._word else ""
        if typed.startswith(("'", '"')):
            return f"{item.type},{item.value}"
        breaks = os.environ.get("COMP_BREAKS", "")
        # An @ begins the next word; any other break ends the last one.
        behind = max((at + (letter != "@") for at, letter in enumerate(typed) if letter in breaks), default=0)
        escaped = _NOT_PLAIN.sub(r"\\\1", item.value)
        return f"{item.type},{escaped[behind:]}"


class Zsh(_CompletionRequest, ZshComplete):
    source_template: ClassVar[str] = (
        ZshComplete.source_template.replace("local -a response", "local -a response parts")
        .replace(_ZSH_KINDS, f'elif [[ "$type" == "{PART}" ]]; then\n            parts+=("$key")\n        {_ZSH_KINDS}')
        .replace(
            _ZSH_END, f'if [ -n "$parts" ]; then\n        compadd -U -S "" -V parts -a parts\n    fi\n\n    {_ZSH_END}'
        )
        .replace(" %(prog_name)s)}", " %(prog_name)s 2>/dev/null)}")
    )


class Fish(_CompletionRequest, FishComplete):
    source_template: ClassVar[str] = FishComplete.source_template.replace(
        'test $metadata[1] = "plain"', f"contains $metadata[1] plain {PART}"
    ).replace(" %(prog_name)s);", " %(prog_name)s 2>/dev/null);")


KINDS: dict[str, type[ShellComplete]] = {"bash": Bash, "zsh": Zsh, "fish": Fish}


def register() -> None:
    """Registers the classes with click, which answers if its variable is set."""
    for name, kind in KINDS.items():
        add_completion_class(kind, name)
