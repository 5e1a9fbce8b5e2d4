"""Results as HTML: lists as tables, differences in colours, histories as a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lochan.api.object_results import Change, StagedChange, WorkspaceChange
from lochan.api.results import Commit, LogEntry, Result
from lochan.notebook.commit_graph import CommitGraph
from lochan.notebook.html import HtmlRow, preformatted_block, table, text

_SHORT = 12  # characters of a commit's id


def items_html(items: Sequence[Any], *, more: bool) -> str | None:
    """Returns a table of the items, or None if they are better shown as text, such as bytes."""
    note = f"the first {len(items):,}; there are more" if more else ""
    match items:
        case []:
            return "<i>nothing</i>"
        case [Commit(), *_]:
            return _graph([LogEntry(commit=each, matches=True) for each in items], note)
        case [LogEntry(), *_]:
            return _graph(items, note)
        case [Change(), *_]:
            rows = [HtmlRow((each.kind, each.path, *_sizes(each)), each.kind) for each in items]
            return table(("", "path", "before", "after"), rows, note=note)
        case [StagedChange() | WorkspaceChange(), *_]:
            return _structs(items, note, coloured=True)
        case [Result(), *_]:
            return _structs(items, note)
    return None


def struct_html(result: Result) -> str:
    """Returns the fields, one below the other."""
    rows = [HtmlRow((name, getattr(result, name))) for name in result.__struct_fields__]
    return table(("", ""), rows, caption=type(result).__name__)


def _structs(items: Sequence[Result], note: str, *, coloured: bool = False) -> str:
    names = items[0].__struct_fields__
    rows = [HtmlRow([getattr(each, name) for name in names], _kind(each) if coloured else "") for each in items]
    return table(names, rows, note=note)


def _kind(change: Any) -> str:
    return str(change.kind)


def _sizes(change: Change) -> tuple[int | None, int | None]:
    return (
        None if change.left is None else change.left.size,
        None if change.right is None else change.right.size,
    )


def _graph(entries: Sequence[LogEntry], note: str) -> str:
    graph = CommitGraph()
    lines: list[str] = []
    shown = {each.commit.id for each in entries}
    for each in entries:
        commit = each.commit
        # If a list was cut or filtered, only edges to commits that are in it can be drawn.
        parents = [parent for parent in commit.parents if parent in shown]
        if not each.matches:
            lines += map(text, graph.skip(commit.id, parents))
            continue
        before, after = graph.commit(commit.id, parents)
        title = commit.message.partition("\n")[0]
        lines.append(
            f"{text(before)}<b>{text(commit.id[:_SHORT])}</b> {text(title)} "
            f'<span style="opacity:.6">{text(commit.author)} {text(commit.date)}</span>'
        )
        lines += map(text, after)
    return preformatted_block(lines, note=note)
