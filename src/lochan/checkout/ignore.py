"""`.lochanignore`, in the top folder of a checkout: files that `status` and `commit` leave out, in Git's notation.

    # a comment          *.tmp   in every folder          /build   only at the top
    logs/    folders     a/**/b  any folders between      !keep.tmp   not left out after all

The last line that fits decides. The contents of a folder that is left out are not examined. Files of the commit are
never left out.

A commit may come from anybody, and its ignore file with it, so a match takes time in proportion to the path: only the
last `**` and, within a name, the last `*` is ever tried in another place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from lochan.errors import Invalid

FILE = ".lochanignore"


class _Rule(NamedTuple):
    names: tuple[re.Pattern[str] | None, ...]  # None: any folders, `**`
    folders_only: bool
    leaves_out: bool


class Ignore:
    def __init__(self, text: str = "") -> None:
        """Raises Invalid for an invalid line."""
        self._rules = list(_rules(text))

    @classmethod
    def of(cls, folder: Path) -> Ignore:
        try:
            return cls((folder / FILE).read_text(encoding="utf-8"))
        except (FileNotFoundError, IsADirectoryError):
            return cls()
        except UnicodeDecodeError:
            raise Invalid(f"{folder / FILE} is not UTF-8") from None

    def leaves_out(self, path: str, *, is_folder: bool) -> bool:
        names = path.split("/")
        for rule in reversed(self._rules):
            if (is_folder or not rule.folders_only) and _fits(rule.names, names):
                return rule.leaves_out
        return False


def _fits(patterns: Sequence[re.Pattern[str] | None], names: Sequence[str]) -> bool:
    at = name = 0
    stars, behind = -1, 0  # the last `**`, and the name that follows what it takes
    while name < len(names):
        pattern = patterns[at] if at < len(patterns) else None
        if at < len(patterns) and pattern is None:
            stars, behind, at = at, name, at + 1
        elif pattern is not None and pattern.fullmatch(names[name]):
            at, name = at + 1, name + 1
        elif stars >= 0:
            behind += 1
            at, name = stars + 1, behind
        else:
            return False
    return all(each is None for each in patterns[at:])


def _rules(text: str) -> Iterator[_Rule]:
    for number, line in enumerate(text.splitlines(), 1):
        line = _without_spaces(line)
        if not line or line.startswith("#"):
            continue
        leaves_out = not line.startswith("!")
        line = line if leaves_out else line[1:]
        folders_only, line = line.endswith("/"), line.rstrip("/")
        if not line:
            raise Invalid(f"{FILE}, line {number}: nothing is named")
        try:
            names = list(_names(line.removeprefix("/")))
        except re.error:
            raise Invalid(f"{FILE}, line {number}: {line!r} is not a pattern") from None
        if "/" not in line:
            names.insert(0, None)
        if len(names) > 1 and names[-1] is None:  # what is in the folder, not the folder itself
            names.append(_ANY)
        yield _Rule(tuple(names), folders_only, leaves_out)


def _without_spaces(line: str) -> str:
    """Removes white space at the end of the line, unless a backslash is before it."""
    bare = line.rstrip(" \t")
    return f"{bare} " if bare.endswith("\\") and bare != line else bare


_STAR, _SLASH = "*", "/"
_ANY = re.compile(r"(?s:.*)")


def _names(glob: str) -> Iterator[re.Pattern[str] | None]:
    """Yields the pattern of each name in a path."""
    letters: list[str] = []
    for letter in [*_letters(glob), _SLASH]:
        if letter != _SLASH:
            letters.append(letter)
            continue
        yield None if letters == [_STAR, _STAR] else re.compile(_regex(letters), re.DOTALL)
        letters = []


def _letters(glob: str) -> Iterator[str]:
    """Yields a regular expression for each letter of a name, with stars and slashes between them."""
    at = 0
    while at < len(glob):
        letter = glob[at]
        if letter in (_STAR, _SLASH):
            yield letter
            at += 1
        elif letter == "?":
            yield "."
            at += 1
        elif letter == "[" and (end := _class_end(glob, at)):
            inner, but = glob[at + 1 : end], ""
            if inner[0] in "!^":
                inner, but = inner[1:], "^"
            for special in "\\[&~|":
                inner = inner.replace(special, f"\\{special}")
            yield f"[{but}{inner}]"
            at = end + 1
        else:
            at += letter == "\\" and at + 1 < len(glob)
            yield re.escape(glob[at])
            at += 1


def _regex(letters: Sequence[str]) -> str:
    """Returns a regular expression. After a star, the first place that fits is as good as any later one, so no other is
    tried: an atomic group."""
    parts: list[str] = [""]
    for letter in letters:
        if letter == _STAR:
            parts.append("")
        else:
            parts[-1] += letter
    first, *others = parts
    if not others:
        return first
    return first + "".join(f"(?>.*?{part})" for part in others[:-1] if part) + f".*{others[-1]}"


def _class_end(glob: str, at: int) -> int:
    """Returns the position of the closing bracket, or 0 if there is none; then the opening bracket stands for
    itself."""
    first = at + 2 if glob[at + 1 : at + 2] in ("!", "^") else at + 1
    return max(glob.find("]", first + 1), 0)
