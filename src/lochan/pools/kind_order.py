"""The order of values of different kinds: by kind first, then by value. It is written here alone.

The order of a pool's key, `sort`, `min`, `max` and `union` follow this table, in Python and in the SQL of both engines.
The first byte of a key on disk (`keys.py`) rises with it too; a test compares them. Null and missing values have no
place here: the pool or the query decides at which end they stand.
"""

from lochan.pools.shape import ARRAY, BOOL, DECIMAL, FLOAT, INT, JSON, OBJECT, STRING, TIME

DURATION, IP = "duration", "ip"  # kinds that a query has, but no file

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
