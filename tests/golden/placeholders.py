"""Replaces what differs from run to run by placeholders: ids, times, keys, folders.

A placeholder with a number stands for one thing throughout a script: `<commit:1>` is the first commit that was printed,
wherever it shows up again, whole or shortened (`<commit:1…>`). Commands may name it too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial

_WORD = r"(?<![0-9A-Za-z])(?=[0-9A-Za-z]*[A-Z])[0-9A-Za-z]{%d}(?![0-9A-Za-z])"  # one in a thousand has no digit
_HASH = r"[0-9a-f]{64}(?![0-9A-Za-z])"
_SHORT_HASH = r"[0-9a-f]{12}(?![0-9A-Za-z])"  # one in three hundred is all digits: scripts print no such numbers

# Each kind with the whole length of such an id, and how one is told apart. The first that fits counts.
_KINDS: dict[str, tuple[int, str]] = {
    "tree": (64, rf'(?<=tree        ){_HASH}|(?<="tree": "){_HASH}'),
    "commit": (64, rf'(?<![0-9A-Za-z])(?<!"sha256": ")(?:{_HASH}|{_SHORT_HASH})'),
    "workspace": (0, r"(?<![0-9A-Za-z-])[0-9]+-[0-9a-f]{8}(?![0-9A-Za-z-])"),
    "access-key": (20, r"\bLKIA[A-Z2-7]{16}\b"),
    "secret": (40, _WORD % 40),
    "id": (27, _WORD % 27),
}
_NUMBERED = re.compile("|".join(f"(?P<{name.replace('-', '_')}>{how})" for name, (_, how) in _KINDS.items()))
_NAMED = re.compile(r"<([a-z-]+):([0-9]+)>")

# What needs no number: nobody compares it. What a group holds stays. A time of whole seconds was given by the script,
# unless it says until when something can be restored: the stamps of a bucket have no fractions.
_PLAIN = [
    (re.compile(r"\b20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-9:]{8}\.(?!000000)[0-9]{6}Z"), "<time>"),
    (re.compile(r"(\bno {7}|ann {9})20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-9:]{8}\.000000Z"), "<time>"),
    (re.compile(r"(?<![0-9])1[0-9]{15}-[0-9a-f]{16}\b"), "<request-key>"),
    (re.compile(r"(?<![0-9A-Za-z])1[7-9][0-9]{14}(?![0-9A-Za-z])"), "<microseconds>"),
    (re.compile(r"\b[0-9]+\.[0-9]+(?= s\b)"), "<seconds>"),
    # Arrow decides the size of Parquet files; we promise nothing about it.
    (re.compile(r"(objects?, )[0-9.]+ [kM]?B(?: of [0-9.]+ [kM]?B)?"), "<size>"),
    (re.compile(r"(rows, )[0-9.]+ [kM]?B(?: into [0-9.]+ [kM]?B)?"), "<size>"),
    (re.compile(r"(of [0-9,]+ files?, )[0-9.]+ [kM]?B of [0-9.]+ [kM]?B"), "<size>"),
    (re.compile(r"(copied [0-9,]+ files?, )[0-9.]+ [kM]?B"), "<size>"),
    (re.compile(r"(\"(?:all_)?bytes\": )[0-9]+"), "<size>"),
    (re.compile(r"([0-9A-Za-z]{27} +[0-9]+ +)[0-9.]+ [kM]?B"), "<size>"),
]


_KEEPING = {pattern for pattern, _ in _PLAIN if pattern.groups}


@dataclass
class Placeholders:
    """`texts` are those that are known from the beginning, such as the folder: each with its placeholder."""

    texts: dict[str, str]
    _seen: dict[str, list[str]] = field(default_factory=dict)  # of each kind, the ids in the order of their coming

    def hide(self, text: str) -> str:
        """The text with placeholders; ids that were not seen before get the next number."""
        for known in sorted(self.texts, key=len, reverse=True):
            text = text.replace(known, self.texts[known])
        for pattern, word in _PLAIN:
            text = pattern.sub(partial(_in_column, word), text)
        return _NUMBERED.sub(lambda found: _in_column(self._name(found), found), text)

    def fill(self, command: str) -> str:
        """The command with the values of its placeholders. Raises ValueError if one has not been printed yet."""
        for known, word in self.texts.items():
            command = command.replace(word, known)
        return _NAMED.sub(self._value, command)

    def _name(self, found: re.Match[str]) -> str:
        kind = next(name for name, value in found.groupdict().items() if value is not None).replace("_", "-")
        whole, text = _KINDS[kind][0], found.group()
        for other, ids in self._seen.items():
            for at, id in enumerate(ids):
                if id.startswith(text) or text.startswith(id):
                    ids[at] = max(id, text, key=len)
                    return _word(other, at, len(text) < whole)
        self._seen.setdefault(kind, []).append(text)
        return _word(kind, len(self._seen[kind]) - 1, len(text) < whole)

    def _value(self, found: re.Match[str]) -> str:
        kind, number = found.group(1), int(found.group(2))
        ids = self._seen.get(kind, [])
        if not 1 <= number <= len(ids):
            raise ValueError(f"no {kind} {number} has been printed before this command")
        return ids[number - 1]


def _in_column(word: str, found: re.Match[str]) -> str:
    """The placeholder, as wide as the text it replaces if that is in a column of a table."""
    kept = found.group(1) if found.re in _KEEPING else ""
    word = kept + word
    return word.ljust(len(found.group())) if found.string[found.end() : found.end() + 2] == "  " else word


def _word(kind: str, at: int, shortened: bool) -> str:
    return f"<{kind}:{at + 1}{'…' if shortened else ''}>"
