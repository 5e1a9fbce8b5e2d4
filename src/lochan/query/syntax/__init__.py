"""The pipe language: parses text to `lochan.query.ast`.

    parse(text) -> Pipe     raises QueryError, with the place
    text_of(expr) -> str    parses to the same again

    cursor ◀─ tokens ◀─ literals        the position in the text
      ▲
    expressions ◀─ search ◀─ operators ─▶ sources ◀─ parse        one file for each part of the grammar

A compiler may rely on the following, beyond the types of the tree: names of functions and aggregates are of
`query.functions`, with a valid number of arguments; an aggregate occurs only in an Aggregate, at the top of a value; a
Regexp or a Glob is an argument of grep, regexp or regexp_replace, or in a Term; Terms are joined by and, or, not within
a Where; `this.a` is Name("a"); an Assigned without a path has a value that names it (a field, or a call); a From is the
first of its pipe, and only where the pipe is the query itself or the other side of a join or a union; and no tree is
deeper than DEPTH_MAX. Whether fields exist and what kinds they have is not known here.
"""
