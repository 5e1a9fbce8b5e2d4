"""Lines that are typed, or come in a pipe, as whole queries; with a history and completion where somebody types."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress

import click

from lochan.store.private import FILE_MODE, make_private_folder

PROMPT, MORE = "lochan> ", "     -> "
_HISTORY_LINES = 1_000
_BRACKETS = {"(": ")", "[": "]", "{": "}"}

Complete = Callable[[str, str], list[str]]


def questions(complete: Complete | None) -> Iterator[str]:
    """Each query, or command that begins with a backslash, when it is whole."""
    if complete is not None:
        _set_up(complete)
    text = ""
    while True:
        line = _line(MORE if text else PROMPT, typed=complete is not None)
        if line is None:
            if text.strip():
                yield text.strip()
            return
        text += line + "\n"
        if not is_open(text):
            if text.strip():
                yield text.strip()
            text = ""


def is_open(text: str) -> bool:
    """Whether the query goes on in the next line."""
    if text.lstrip().startswith("\\"):
        return False
    quote, depth, escaped = "", 0, False
    for letter in text:
        if escaped:
            escaped = False
        elif quote:
            escaped = letter == "\\"
            quote = "" if letter == quote else quote
        elif letter in "\"'`":
            quote = letter
        elif letter in _BRACKETS:
            depth += 1
        elif letter in _BRACKETS.values():
            depth -= 1
    return bool(quote) or depth > 0 or text.rstrip().endswith("|")


def _line(prompt: str, *, typed: bool) -> str | None:
    if not typed:
        line = sys.stdin.readline()
        return line.rstrip("\n") if line else None
    while True:
        try:
            return input(prompt)
        except EOFError:
            click.echo()
            return None
        except KeyboardInterrupt:  # forget what was typed so far
            click.echo()
            return ""


def _set_up(complete: Complete) -> None:
    with suppress(ImportError):
        import atexit
        import readline

        from lochan.cli.session import state_place

        file = state_place() / "history"
        make_private_folder(str(file.parent))
        with suppress(OSError):  # what somebody asks is nobody else's to read
            os.close(os.open(file, os.O_CREAT | os.O_CLOEXEC, FILE_MODE))
        with suppress(OSError):
            readline.read_history_file(file)
        readline.set_history_length(_HISTORY_LINES)
        atexit.register(readline.write_history_file, file)
        readline.set_completer_delims(" \t\n|(),=<>!+*/[]{}\"'`")
        readline.set_completer(_by_number(complete, readline.get_line_buffer, readline.get_begidx))
        readline.parse_and_bind("tab: complete")


def _by_number(
    complete: Complete, line: Callable[[], str], begin: Callable[[], int]
) -> Callable[[str, int], str | None]:
    """As readline asks: for the first, the second …, until there is none."""
    found: list[str] = []

    def completed(word: str, number: int) -> str | None:
        if number == 0:
            found[:] = complete(line()[: begin()], word)
        return found[number] if number < len(found) else None

    return completed
