"""All that Lochan says to people, to be read through in one go: `python -m docs.messages`.

Help texts of every command, then every error with its hint, by the file that says it. What is filled in at run time
stands in braces.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click

SOURCE = Path(__file__).parents[1] / "src" / "lochan"
_ERRORS = ("Error", "Invalid", "Refused", "NotFound", "AlreadyExists", "Gone", "Transient", "Unknown", "Conflict")


class Message(NamedTuple):
    file: str
    line: int
    text: str
    hint: str


def main() -> None:
    for words, text in helps():
        print(f"\n$ lochan {words} --help\n{text}")
    for message in messages():
        hint = f"\n  hint: {message.hint}" if message.hint else ""
        print(f"\n{message.file}:{message.line}\n  {message.text}{hint}")


def helps() -> Iterator[tuple[str, str]]:
    """Of each command, its words and its whole help."""
    from lochan.cli.root import cli

    context = click.Context(cli, info_name="lochan")
    yield from _helps(cli, context, ())


def _helps(command: click.Command, context: click.Context, words: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    yield " ".join(words), command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None:
                yield from _helps(inner, click.Context(inner, context, info_name=name), (*words, name))


def messages() -> Iterator[Message]:
    """Of every call that makes an error with a text, wherever it stands."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and (text := _text(node)):
                hint = next((_shown(each.value) for each in node.keywords if each.arg == "hint"), "")
                yield Message(str(path.relative_to(SOURCE)), node.lineno, text, hint)


def _text(call: ast.Call) -> str:
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    has_hint = any(each.arg == "hint" for each in call.keywords)
    if not call.args or not (has_hint or (name[:1].isupper() and name.endswith(_ERRORS))):
        return ""
    return _shown(call.args[0])


def _shown(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=values):
            return "".join(_shown(each) for each in values)
        case ast.FormattedValue(value=value):
            return "{" + ast.unparse(value) + "}"
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _shown(left) + _shown(right)
    return "{" + ast.unparse(node) + "}"


if __name__ == "__main__":
    main()
