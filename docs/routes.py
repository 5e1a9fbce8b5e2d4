"""The page of the routes of verbs, `docs/api/routes.md`: `python -m docs.routes` writes it."""

from __future__ import annotations

import inspect
from pathlib import Path

from lochan.api.verbs import NOUN_PATHS
from lochan.api.wire.call import Argument, ArgumentPlace, Shape, WireCall, wire_calls

PAGE = Path(__file__).parent / "api" / "routes.md"
_HEAD = """# Routes of the verbs

Made from the table of verbs by `python -m docs.routes`. How arguments and answers are sent is in
[0016](../design/0016-verbs-over-http.md); `/openapi.json` has the types. lakeFS's routes are in [REST](rest.md).
"""
_ANSWERS = {
    Shape.NOTHING: "nothing",
    Shape.LINES: "lines of ",
    Shape.HANDLE: "a handle: ",
    Shape.OPENED: "what is known of the object",
    Shape.BYTES: "bytes",
    Shape.TABLE: "an Arrow table",
    Shape.ROWS: "rows, as Arrow",
    Shape.ROW_DIFF: "rows that differ, as Arrow",
}


def main() -> None:
    PAGE.write_text(page())


def page() -> str:
    nouns = [noun for noun in NOUN_PATHS if any(call.verb.noun == noun for call in wire_calls().values())]
    return "\n".join([_HEAD, *(_section(noun) for noun in nouns)])


def _section(noun: str) -> str:
    rows = [_row(call) for call in wire_calls().values() if call.verb.noun == noun]
    head = f"## {noun}\n\n| verb | route | arguments | answer |\n|---|---|---|---|"
    return "\n".join([head, *rows, ""])


def _row(call: WireCall) -> str:
    said = " ".join((inspect.getdoc(call.function) or "").split("\n\n")[0].split()).partition(". ")[0].rstrip(".")
    arguments = ", ".join(_argument(each) for each in call.arguments.values() if each.place in _SHOWN)
    route = f"`{call.method} {call.path.removeprefix('/api/v1')}`"
    return f"| **{call.verb.name}**: {said} | {route} | {arguments} | {_answer(call)} |".replace(" |  |", " | |")


_SHOWN = (ArgumentPlace.QUERY, ArgumentPlace.BODY, ArgumentPlace.BYTES)


def _argument(argument: Argument) -> str:
    place = " (the body)" if argument.place is ArgumentPlace.BYTES else ""
    return f"`{argument.name}`{'' if argument.required else '?'}{place}"


def _answer(call: WireCall) -> str:
    result = str(call.signature.return_annotation).removeprefix("AsyncIterator[")
    named = result.removesuffix("]") if call.shape is Shape.LINES else result
    text = _ANSWERS.get(call.shape, "")
    return text if text and not text.endswith(" ") else f"{text}`{named}`".replace("|", "or")


if __name__ == "__main__":
    main()
