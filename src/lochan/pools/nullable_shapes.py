"""Joins shapes that differ only by nulls. Otherwise a table of twelve nullable columns would have 4,096 shapes.

Shapes with the same names in the same order are joined by the types that they have at each field:

    int null                 int?            it is null where its column is NULL
    int string null          int? string     null joins one of them, the first in the order of their encodings
    {c int} {c null} null    {c int?}?       the same within objects
    {} null                  {} null         only the shape can tell: such an object has no column

The columns that hold the rows stay the same: a row whose shape is replaced by the wider one is the same row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from lochan.pools.kinds import NULL
from lochan.pools.shape import Maybe, Object, Type, encode, sure


def join_shapes(shapes: Iterable[Object]) -> dict[Object, Object]:
    """Returns the joined shape of each shape. It does not depend on the order of the shapes. Joining the result changes
    nothing."""
    found: dict[Object, Object] = {}
    for shape, into in _join_types(set(shapes)).items():
        assert isinstance(shape, Object) and isinstance(into, Object)
        found[shape] = into
    return found


def has_column(type: Type) -> bool:
    """Returns whether layouts have a column for it. An object without values has none."""
    type = sure(type)
    if isinstance(type, Object):
        return any(has_column(each) for _, each in type.fields)
    return type != NULL


def is_ambiguous(shapes: Iterable[Object]) -> bool:
    """Returns whether one row, with its nulls, can have two of these joined shapes."""
    return _is_ambiguous(set(shapes))


def _join_types(types: Collection[Type]) -> dict[Type, Type]:
    into: dict[Type, Type] = {}
    for alike in _group_by_names(types):
        into |= _joined_objects(alike)
    for type in map(sure, types):
        if not isinstance(type, Object) and type != NULL:
            into[type] = type
    nullable = {into[sure(type)] for type in types if isinstance(type, Maybe)}
    if NULL in types:
        columns = [type for type in into.values() if has_column(type)]
        home = min(columns, key=lambda type: (type not in nullable, encode(type)), default=NULL)
        into[NULL] = home
        nullable |= {home} - {NULL}
    return {type: Maybe(each) if (each := into[sure(type)]) in nullable else each for type in types}


def _joined_objects(objects: list[Object]) -> dict[Type, Type]:
    """Joins objects with the same names."""
    if len(objects) == 1:
        return {objects[0]: objects[0]}
    fields = zip(*(each.fields for each in objects), strict=True)
    found = [_join_types({type for _, type in each}) for each in fields]
    return {
        each: Object(tuple((name, into[type]) for (name, type), into in zip(each.fields, found, strict=True)))
        for each in objects
    }


def _group_by_names(types: Iterable[Type]) -> Iterable[list[Object]]:
    by_names: dict[tuple[str, ...], list[Object]] = {}
    for type in dict.fromkeys(map(sure, types)):
        if isinstance(type, Object):
            by_names.setdefault(type.names(), []).append(type)
    return by_names.values()


def _is_ambiguous(types: Collection[Type]) -> bool:
    if sum(isinstance(type, Maybe) or type == NULL for type in types) > 1:
        return True
    fields = (zip(*(each.fields for each in alike), strict=True) for alike in _group_by_names(types))
    return any(_is_ambiguous({type for _, type in each}) for every in fields for each in every)
