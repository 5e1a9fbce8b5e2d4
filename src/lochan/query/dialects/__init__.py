"""Renders a plan's SQL as text for an engine."""

from __future__ import annotations

from sqlglot import exp

from lochan.errors import Refused
from lochan.query.checkpoint import checkpoint
from lochan.query.dialects.neutral import Forms, Neutral


def render(query: exp.Expr, dialect: str, *, copy: bool = True) -> str:
    """Returns the query's text. Raises Refused if the engine has no form for a part. Without `copy` the tree is used
    up."""
    return render_neutral(query, dialect, copy=copy).sql(dialect=dialect, copy=False, comments=False)


def render_neutral(query: exp.Expr, dialect: str, *, copy: bool = True) -> exp.Expr:
    """Returns the tree with every Neutral replaced by its text in this engine, the innermost first."""
    forms = _forms(dialect)
    query = query.copy() if copy else query
    if dialect == "spark":
        query = _with_plain_texts(query)
    for node in reversed(list(query.find_all(Neutral))):
        checkpoint()
        form = forms.get(node.this)
        if form is None:
            raise Refused(f"{dialect} cannot run this query: it has no form for `{node.this}`")
        text = form([each.sql(dialect=dialect, comments=False) for each in node.expressions], node.options)
        made = exp.Var(this=text)
        if node is query:
            return made
        node.replace(made)
    return query


def _with_plain_texts(query: exp.Expr) -> exp.Expr:
    """Writes all texts in our own notation, so that Spark expands nothing in them."""
    from lochan.query.dialects.spark_words import quote_text

    for node in list(query.find_all(exp.Literal)):
        if node.is_string and "$" in node.this:
            made = exp.Var(this=quote_text(node.this))
            if node is query:
                return made
            node.replace(made)
    return query


def _forms(dialect: str) -> Forms:
    if dialect == "duckdb":
        from lochan.query.dialects.duckdb import FORMS
    elif dialect == "spark":
        from lochan.query.dialects.spark import FORMS
    else:
        raise Refused(f"there is no engine {dialect!r}", hint="use duckdb or spark")
    return FORMS
