"""The same fields in another order."""

import pyarrow as pa

from lochan.engines.spark.frames.field_order import in_order_of, same_fields

AB = pa.struct([("a", pa.int64()), ("b", pa.string())])
BA = pa.struct([("b", pa.string()), ("a", pa.int64())])


def test_types_with_the_same_fields() -> None:
    assert same_fields(AB, BA) and same_fields(pa.list_(AB), pa.list_(BA))
    assert same_fields(pa.struct([("x", pa.list_(AB))]), pa.struct([("x", pa.list_(BA))]))
    assert not same_fields(AB, pa.struct([("a", pa.int64())]))
    assert not same_fields(AB, pa.struct([("a", pa.int64()), ("b", pa.int64())]))
    assert not same_fields(AB, pa.list_(AB)) and not same_fields(pa.int64(), pa.float64())


def test_values_keep_what_they_say() -> None:
    objects = [{"b": "x", "a": 1}, None, {"b": None, "a": 2}]
    made = in_order_of(pa.array(objects, BA), AB)
    assert made.type == AB and made.to_pylist() == objects
    lists = [[{"b": "x", "a": 1}], None, [], [None, {"b": "y", "a": 3}]]
    array = pa.array([[{"b": "cut off", "a": 0}], *lists], pa.list_(BA))[1:]
    made = in_order_of(array, pa.list_(AB))
    assert made.type == pa.list_(AB) and made.to_pylist() == lists
    assert in_order_of(pa.array([1, None]), pa.float64()).to_pylist() == [1.0, None]
    nested = pa.array([{"x": [{"b": "z", "a": 5}]}], pa.struct([("x", pa.list_(BA))]))
    assert in_order_of(nested, pa.struct([("x", pa.list_(AB))])).to_pylist() == [{"x": [{"a": 5, "b": "z"}]}]
