"""Reads whole queries, from a terminal with history and completion, or from a pipe."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import click

from lochan.store.disk import FILE_MODE, make_private_folder

PROMPT, MORE = "lochan> ", "     -> "
_HISTORY_LINES = 1_000
_BRACKETS = {"(": ")", "[": "]", "{": "}"}

Complete = Callable[[str, str], list[str]]


def questions(complete: Complete | None) -> Iterator[str]:
    """Yields each complete query, or command that begins with a backslash."""
    remember = _set_up(complete) if complete is not None else None
    text = ""
    while True:
        line = _line(MORE if text else PROMPT, typed=complete is not None)
        if line is None:
            if text.strip():
                yield text.strip()
            return
        if remember is not None:
            remember()
        text += line + "\n"
        if not is_open(text):
            if text.strip():
                yield text.strip()
            text = ""


def is_open(text: str) -> bool:
    """Returns whether the query continues on the next line."""
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
        except KeyboardInterrupt:  # drop what was typed so far
            click.echo()
            return ""


def _set_up(complete: Complete) -> Callable[[], None] | None:
    """Returns a function to call after each line, so that the history has it however this process ends."""
    try:
        import readline
    except ImportError:
        return None
    from lochan.connection import state_place

    readline.set_completer_delims(" \t\n|(),=<>!+*/[]{}\"'`")
    readline.set_completer(_numbered_completer(complete, readline.get_line_buffer, readline.get_begidx))
    readline.parse_and_bind("tab: complete")
    return _history(state_place() / "history")


def _history(file: Path) -> Callable[[], None]:
    """Reads the history file, and returns a function that appends the last line. Other shells may append to the same
    file."""
    import readline

    readline.set_history_length(_HISTORY_LINES)
    with suppress(OSError):
        make_private_folder(str(file.parent))
        os.close(os.open(file, os.O_CREAT | os.O_CLOEXEC, FILE_MODE))  # only its owner may read these queries
        readline.read_history_file(file)
        if readline.get_current_history_length() > _HISTORY_LINES:
            readline.write_history_file(file)  # the newest of them
    kept = readline.get_current_history_length()

    def append() -> None:
        nonlocal kept
        new, kept = readline.get_current_history_length() - kept, readline.get_current_history_length()
        with suppress(OSError):
            if new > 0:  # readline leaves out a line that is the same as the one before
                readline.append_history_file(new, file)

    return append


def _numbered_completer(
    complete: Complete, line: Callable[[], str], begin: Callable[[], int]
) -> Callable[[str, int], str | None]:
    """Returns a function that returns the first, the second … suggestion for readline, and None after the last."""
    found: list[str] = []

    def complete_word(word: str, number: int) -> str | None:
        if number == 0:
            found[:] = complete(line()[: begin()], word)
        return found[number] if number < len(found) else None

    return complete_word
