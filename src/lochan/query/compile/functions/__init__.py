"""The functions of the language (query/functions.py), compiled to values, with a file for each theme."""

from __future__ import annotations

from lochan.query import ast
from lochan.query.compile.calls import Function, FunctionCall
from lochan.query.compile.functions import casts, kinds, numbers, text
from lochan.query.compile.scope import Scope, query_error
from lochan.query.compile.value import Value

TABLE: dict[str, Function] = {
    **kinds.TABLE,
    **text.TABLE,
    **numbers.TABLE,
    **casts.TABLE,
}


def call_function(e: ast.Call, scope: Scope) -> Value:
    function = TABLE.get(e.name)
    if function is None:
        raise query_error(
            scope.query,
            e,
            f"`{e.name}` is an aggregate, which cannot be used here",
            "use it by itself, as in `count() by key`",
        )
    return function(FunctionCall(e, scope))
