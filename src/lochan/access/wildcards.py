"""`*` stands for any letters, `?` for one: as a regular expression that takes no longer for many stars than for few."""

import re


def regex(pattern: str, letter: str = ".") -> str:
    """`letter` is what one of the letters may be. Each part between two stars is looked for once, from the left, and
    what was found is kept (an atomic group): that is enough to find a match, and there is nothing to try again."""
    first, *rest = ("".join(letter if each == "?" else re.escape(each) for each in part) for part in pattern.split("*"))
    if not rest:
        return first
    *middle, last = rest
    return first + "".join(f"(?>{letter}*?{part})" for part in middle if part) + f"{letter}*{last}"
