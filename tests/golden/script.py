"""A golden script: commands with what they print, as in a terminal session, with prose between them.

    Prose begins at the margin; a script begins with a line of it that says what the script shows.

      $ write rows.ndjson          makes a file of the lines below it
      > {"a": 1}
      $ lochan load logs - < rows.ndjson
      loaded 1 row into logs       what it printed
      ! lochan: no such pool       what it said on stderr
      [3]                          its exit code, if not 0

`parse` and `render` are inverse to each other, but for blank lines.
"""

from __future__ import annotations

from dataclasses import dataclass, field

MARGIN = "  "
COMMAND, INPUT, SAID = "$ ", "> ", "! "


@dataclass
class Step:
    """One command. `line` is its line in the script, for messages."""

    command: str
    line: int
    given: list[str] = field(default_factory=list)  # the lines of the file that it makes
    printed: list[str] = field(default_factory=list)  # stdout, stderr and exit code, as the script shows them


@dataclass
class Script:
    parts: list[str | Step]  # prose lines and steps, in order

    @property
    def steps(self) -> list[Step]:
        return [part for part in self.parts if isinstance(part, Step)]


def parse(text: str) -> Script:
    """Raises ValueError with the number of the line."""
    parts: list[str | Step] = []
    step: Step | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(MARGIN + COMMAND):
            step = Step(line.removeprefix(MARGIN + COMMAND), number)
            parts.append(step)
        elif line and not line.startswith(MARGIN):
            step = None
            parts.append(line)
        elif step is not None:
            _add(step, line.removeprefix(MARGIN))
        elif line:
            raise ValueError(f"line {number}: the output of no command: {line!r}")
        else:
            parts.append(line)
    for each in parts:
        if isinstance(each, Step):
            each.printed = without_blank_end(each.printed)
    return Script(parts)


def _add(step: Step, line: str) -> None:
    if (line == INPUT.strip() or line.startswith(INPUT)) and not step.printed:
        step.given.append(line[len(INPUT) :])
    else:
        step.printed.append(line)


def render(script: Script) -> str:
    """With one blank line where prose and commands meet, and between paragraphs."""
    lines: list[str] = []
    before: str | Step = ""
    for part in script.parts:
        if isinstance(part, str) != isinstance(before, str) and lines[-1:] != [""]:
            lines.append("")
        if part != "" or lines[-1:] != [""]:
            lines += [part] if isinstance(part, str) else _shown(part)
        before = part
    return "\n".join(without_blank_end(lines)) + "\n"


def _shown(step: Step) -> list[str]:
    lines = [COMMAND + step.command, *(INPUT + line if line else INPUT.strip() for line in step.given), *step.printed]
    return [MARGIN + line if line else "" for line in lines]


def output_lines(stdout: str, stderr: str, code: int) -> list[str]:
    """The output of a command, as a script shows it. Raises ValueError if it could not be read back from a script."""
    lines = stdout.splitlines()
    for line in lines:
        if line.startswith((COMMAND, SAID)):
            raise ValueError(f"a line of the output looks like one of the script's own: {line!r}")
    if stdout and not stdout.endswith("\n"):
        lines[-1] += "<no newline>"
    lines += [SAID + line if line else SAID.strip() for line in stderr.splitlines()]
    return without_blank_end(lines) + ([f"[{code}]"] if code else [])


def without_blank_end(lines: list[str]) -> list[str]:
    lines = list(lines)
    while lines and not lines[-1].strip():
        lines.pop()
    return lines
