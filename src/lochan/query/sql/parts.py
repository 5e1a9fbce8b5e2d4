"""Which parts each node may have. sqlglot tells much by a node's arguments, such as NOT LIKE and BETWEEN SYMMETRIC: one
that is not known here is refused, for to overlook it would give other rows."""

from __future__ import annotations

from sqlglot import exp

from lochan.query.sql.parse import Text

_ALWAYS = {"this", "expression", "expressions"}
_SET = {"with_", "distinct", "by_name", "order", "limit", "offset"}
_MORE: dict[type[exp.Expr], set[str]] = {
    exp.Select: {"from_", "joins", "where", "group", "having", "qualify", "order", "limit", "offset"}
    | {"distinct", "with_"},
    exp.Union: _SET,
    exp.Intersect: _SET,
    exp.Except: _SET,
    exp.With: {"recursive"},
    exp.CTE: {"alias"},
    exp.Table: {"alias", "db", "catalog"},
    exp.TableAlias: {"columns"},
    exp.Subquery: {"alias", "with_"},
    exp.Join: {"on", "using", "side", "kind", "method"},
    exp.Column: {"table", "db", "catalog"},
    exp.Identifier: {"quoted"},
    exp.Alias: {"alias"},
    exp.Star: {"except_", "replace", "rename"},
    exp.Literal: {"is_string"},
    exp.Cast: {"to"},
    exp.TryCast: {"to", "safe", "requires_string"},
    exp.Case: {"ifs", "default"},
    exp.If: {"true", "false"},
    exp.Between: {"low", "high"},
    exp.In: {"query"},
    exp.Like: {"negate"},
    exp.ILike: {"negate"},
    exp.Div: {"typed", "safe"},
    exp.DPipe: {"safe"},
    exp.Bracket: {"offset", "safe", "returns_list_for_maps"},
    exp.Group: {"all"},
    exp.Ordered: {"desc", "nulls_first"},
    exp.Distinct: {"on"},
    exp.Window: {"partition_by", "order", "spec", "over", "alias", "first"},
    exp.WindowSpec: {"kind", "start", "start_side", "end", "end_side", "exclude"},
    exp.Lag: {"offset", "default"},
    exp.Lead: {"offset", "default"},
    exp.Count: {"big_int"},
    exp.GroupConcat: {"separator"},
    exp.ArrayAgg: {"nulls_excluded"},
    exp.Greatest: {"ignore_nulls"},
    exp.Least: {"ignore_nulls"},
    exp.Coalesce: {"is_nvl"},
    exp.Interval: {"unit"},
    exp.TimestampTrunc: {"unit"},
    exp.DateTrunc: {"unit", "unabbreviate"},
    exp.DateBin: {"unit"},
    exp.TimeToStr: {"format"},
    exp.StrToTime: {"format"},
    exp.Round: {"decimals"},
    exp.Substring: {"start", "length"},
    exp.Trim: {"position"},
    exp.Replace: {"replacement"},
    exp.RegexpReplace: {"replacement", "modifiers", "single_replace"},
    exp.RegexpLike: {"flag"},
    exp.Array: {"bracket_notation"},
    exp.Concat: {"safe", "coalesce"},
}


def check_parts(text: Text, tree: exp.Query) -> None:
    """Raises QueryError."""
    for node in tree.walk(prune=lambda node: isinstance(node, exp.DataType)):
        if isinstance(node, exp.DataType):
            continue
        known = _ALWAYS | _MORE.get(type(node), set())
        extra = [key for key, value in node.args.items() if value and key not in known]
        if extra:
            word = extra[0].rstrip("_").replace("_", " ").upper()
            raise text.refused(node, f"{word} is not understood here", "the page on SQL lists what there is")
        lacking = [key for key, needed in node.arg_types.items() if needed and node.args.get(key) in (None, [])]
        if lacking and isinstance(node, exp.Func):
            raise text.refused(node, f"`{node.sql_name().lower()}` lacks an argument")
