"""What the word that is being typed may become: a pool behind `from`, else an operator, a function, a field."""

import re
from collections.abc import Callable

_SOURCE = re.compile(r"\bfrom\s+([\w.-]+)")


def candidates(line: str, word: str, pools: Callable[[], list[str]], fields: Callable[[str], list[str]]) -> list[str]:
    """`line` is what stands before the word."""
    before = line.rstrip()
    if before.endswith(("from", "from,")) or re.search(r"\bfrom\s[^|]*,$", before):
        return _beginning(word, pools())
    from lochan.query.functions import AGGREGATES, FUNCTIONS
    from lochan.query.syntax.pipes import OPERATORS

    source = _SOURCE.search(line)
    known = fields(source[1]) if source and source[1] in pools() else []
    calls = [f"{name}(" for name in (*AGGREGATES, *FUNCTIONS)]
    first = [*OPERATORS, *calls] if not before or before.endswith(("|", "=>", "(")) else calls
    return _beginning(word, [*known, *first])


def _beginning(word: str, names: list[str]) -> list[str]:
    return sorted({name for name in names if name.startswith(word)})
