"""The kinds of values, and the order of values of different kinds.

Values are sorted by kind first, then by value. Only this module defines that order: the order of a pool's key, `sort`,
`min`, `max` and `union` follow it, in Python and in the SQL of both engines. The first byte of a key on disk, in
`keys.py`, rises with it too; a test compares them. Null and missing values have no place in it: the pool or the query
decides at which end they stand."""

NULL, BOOL, INT, FLOAT, STRING, TIME, JSON = "null", "bool", "int", "float", "string", "time", "json"
OBJECT, ARRAY = "object", "array"
DECIMAL = "decimal"  # not a kind of rows: the exact value of a number that neither 64 bits nor a double hold
ORIGINAL = "original"  # not a kind of rows: the text of a time, if it is kept beside it
DURATION, IP = "duration", "ip"  # kinds that exist in queries, but not in files
ERROR = "error"  # only in queries: an expression without a result; its value is a message
SCALARS = (BOOL, INT, FLOAT, STRING, TIME)

CLASSES: tuple[tuple[str, ...], ...] = (
    (BOOL,),
    (INT, FLOAT, DECIMAL),  # numbers are compared exactly, whatever their kind
    (TIME,),
    (DURATION,),
    (IP,),
    (STRING,),
    (ARRAY, OBJECT, JSON),
)
PLACES = {kind: place for place, kinds in enumerate(CLASSES) for kind in kinds}
EVERY_NUMBER = CLASSES[PLACES[INT]]
COMPOSITE = frozenset(CLASSES[-1])
SIMPLE = tuple(kind for kinds in CLASSES[:-1] for kind in kinds)
