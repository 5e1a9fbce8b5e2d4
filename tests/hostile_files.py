"""Hostile files: small valid files with one place changed, and files that no writer would write.

Each is `Hostile(path, data)`. `said` is part of the error message that the file must cause. It is empty if any message
will do, and None if the file is odd but valid and must be read.
"""

from __future__ import annotations

import gzip
import io
import json
import random
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq

SYNC = bytes(range(16))


class Hostile(NamedTuple):
    path: str
    data: bytes
    said: str | None = ""

    @property
    def id(self) -> str:
        return self.path


# ── Arrow ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def arrow_file(table: pa.Table, compression: str | None = None) -> bytes:
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_file(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return sink.getvalue()


def arrow_stream(table: pa.Table, compression: str | None = None) -> bytes:
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return sink.getvalue()


def patched(data: bytes, old: bytes, new: bytes, times: int = -1) -> bytes:
    assert old in data, "the place that is to be changed is there"
    return data.replace(old, new, times)


def _ints(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}i", *values)


def _longs(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}q", *values)


def arrow() -> Iterator[Hostile]:
    texts = pa.table({"s": pa.array(["aaaa", "bbbb", "cccc"])})
    plain, stream = arrow_file(texts), arrow_stream(texts)
    offsets = _ints(0, 4, 8, 12)
    for name, wild in {
        "beyond": _ints(0, 4, 8, 500_000),
        "far": _ints(0, 4, 8, 0x7FFFFFFF),
        "before": _ints(-400_000, 4, 8, 12),
        "backwards": _ints(0, 12, 4, 12),
    }.items():
        yield Hostile(f"offsets-{name}.arrow", patched(plain, offsets, wild))
        yield Hostile(f"offsets-{name}.arrows", patched(stream, offsets, wild))
    yield Hostile("not-utf8.arrow", patched(plain, b"bbbb", b"\xff\xfe\xc0\x80"), "UTF")
    yield Hostile("name-not-utf8.arrow", patched(arrow_file(pa.table({"nnnn": [1]})), b"nnnn", b"\xff\xfe\xc0\x80"))
    lists = pa.table({"l": pa.array([[1, 2], [3], [4, 5, 6]], pa.list_(pa.int64()))})
    yield Hostile("list-offsets.arrow", patched(arrow_file(lists), _ints(0, 2, 3, 6), _ints(0, 2, 3, 60_000)))
    many = arrow_file(pa.table({"n": pa.array(range(777), pa.int64())}))
    yield Hostile("rows-announced.arrow", patched(many, _longs(777), _longs(1 << 40)))
    nulls = arrow_file(pa.table({"n": pa.nulls(777)}))
    yield Hostile("nulls-announced.arrow", patched(nulls, _longs(777, 777), _longs(1 << 40, 1 << 40)))
    coded = pa.table({"d": pa.array(["x", "y", "x", "y"]).dictionary_encode()})
    yield Hostile("dictionary-index.arrow", patched(arrow_file(coded), _ints(0, 1, 0, 1), _ints(0, 1, 0, 1 << 30)))
    packed = pa.table({"n": pa.array([7] * 5_000, pa.int64())})
    for size in (1 << 31, 1 << 40, -2, 40_001):
        for codec in ("lz4", "zstd"):
            data = patched(arrow_file(packed, codec), _longs(40_000), _longs(size))
            yield Hostile(f"unpacked-{size}-{codec}.arrow", data)
    yield Hostile("extension-pickle.arrow", arrow_file(_extension(b"arrow.py_extension_type", b"cos\nsystem\n.")), None)
    yield Hostile("extension-unknown.arrow", arrow_file(_extension(b"nobody.knows", b"\xff\x00")), None)
    union = pa.UnionArray.from_dense(
        pa.array([0, 1] * 3, pa.int8()),
        pa.array([0, 0, 1, 1, 2, 2], pa.int32()),
        [pa.array([1, 2, 3]), pa.array(["x"] * 3)],
    )
    unions = arrow_file(pa.table({"u": union}))
    yield Hostile("union-offsets.arrow", patched(unions, _ints(0, 0, 1, 1, 2, 2), _ints(0, 0, 9999, 1, 2, 2)))
    yield Hostile("cut.arrow", plain[: len(plain) // 2])
    yield Hostile("cut.arrows", stream[: len(stream) - 40])
    yield Hostile("only-magic.arrow", b"ARROW1\0\0")
    yield Hostile("footer-length.arrow", plain[:-10] + _ints(0x7FFFFFFF) + b"ARROW1")
    yield Hostile("metadata-length.arrows", b"\xff\xff\xff\xff" + _ints(0x7FFFFF00) + stream[8:])
    deep = pa.int64()
    for _ in range(60):
        deep = pa.list_(deep)
    yield Hostile("deep.arrow", arrow_file(pa.table({"x": pa.nulls(1, deep)})), None)


def _extension(name: bytes, payload: bytes) -> pa.Table:
    metadata = {b"ARROW:extension:name": name, b"ARROW:extension:metadata": payload}
    return pa.table([pa.array([1, 2])], schema=pa.schema([pa.field("n", pa.int64(), metadata=metadata)]))


# ── Parquet, ORC ─────────────────────────────────────────────────────────────────────────────────────────────────────


def parquet_file(table: pa.Table, **how: object) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **how)
    return sink.getvalue()


def parquet() -> Iterator[Hostile]:
    plain = parquet_file(pa.table({"n": [1, 2, 3], "s": ["aaaa", "bbbb", "cccc"]}), compression="none")
    yield Hostile("magic.parquet", b"PAR1" + plain[4:-4] + b"PARX")
    yield Hostile("encrypted.parquet", b"PARE" + plain[4:-4] + b"PARE")
    yield Hostile("encrypted-footer.parquet", plain[:-4] + b"PARE")
    for size in (0x7FFFFFFF, 0, len(plain) * 2):
        yield Hostile(f"footer-{size}.parquet", plain[:-8] + struct.pack("<I", size) + b"PAR1")
    yield Hostile("cut.parquet", plain[:100])
    yield Hostile("no-footer.parquet", plain[: -len(plain) // 2] + b"PAR1")
    texts = parquet_file(pa.table({"s": ["aaaa", "bbbb"]}), compression="none", use_dictionary=False)
    yield Hostile("not-utf8.parquet", patched(texts, b"bbbb", b"\xff\xfe\xc0\x80"), "UTF")
    yield Hostile("value-length.parquet", patched(texts, _ints(4) + b"bbbb", _ints(0x7FFFFFF0) + b"bbbb", 1))
    yield Hostile("pages.parquet", _page_sizes())
    yield Hostile("bomb.parquet", dictionary_bomb())
    deep = pa.int64()
    for _ in range(200):
        deep = pa.struct([("x", deep)])
    yield Hostile("deep.parquet", parquet_file(pa.table({"x": pa.nulls(1, deep)})))


def dictionary_bomb(rows: int = 80_000, size: int = 25_000) -> bytes:
    """Some kB that are two GB of texts."""
    column = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["x" * size]))
    return parquet_file(pa.table({"s": column}), compression="zstd", write_statistics=False)


def _page_sizes() -> bytes:
    """The header of a page claims a larger size, both stored and unpacked."""
    data = bytearray(parquet_file(pa.table({"n": list(range(5_000))}), compression="zstd", use_dictionary=False))
    # A page begins with its header in Thrift's compact form: type, size unpacked, size packed.
    assert data[4:7] == b"\x15\x00\x15"
    data[7:10] = b"\xfe\xff\x7f"
    return bytes(data)


def orc_files() -> Iterator[Hostile]:
    sink = io.BytesIO()
    orc.write_table(pa.table({"n": list(range(5_000)), "s": [f"text {n}" for n in range(5_000)]}), sink)
    plain = sink.getvalue()
    yield Hostile("cut.orc", plain[: len(plain) // 2])
    yield Hostile("postscript.orc", plain[:-1] + b"\xff")
    yield Hostile("zeros.orc", plain[:100] + bytes(len(plain) - 400) + plain[-300:])
    yield Hostile("only-magic.orc", b"ORC")


# ── Avro ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def avro_long(value: int) -> bytes:
    rest, found = (value << 1) ^ (value >> 63), bytearray()
    while rest > 0x7F:
        found.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*found, rest])


def avro_file(schema: object, count: int, data: bytes, codec: str = "null", *, size: int | None = None) -> bytes:
    text = schema if isinstance(schema, bytes) else json.dumps(schema).encode()
    pairs = {b"avro.schema": text, b"avro.codec": codec.encode()}
    head = b"".join(avro_long(len(each)) + each for pair in pairs.items() for each in pair)
    block = avro_long(count) + avro_long(len(data) if size is None else size) + data + SYNC
    return b"Obj\x01" + avro_long(len(pairs)) + head + b"\0" + SYNC + block


def record(**fields: object) -> dict[str, object]:
    return {"type": "record", "name": "r", "fields": [{"name": name, "type": type} for name, type in fields.items()]}


def avro() -> Iterator[Hostile]:
    longs = record(n="long")
    yield Hostile("count.avro", avro_file(longs, 1 << 40, avro_long(1)), "more values")
    yield Hostile("count-of-nothing.avro", avro_file(record(), 1 << 40, b""), "more values")
    yield Hostile("count-of-nulls.avro", avro_file(record(n="null"), 1 << 40, b""), "more values")
    yield Hostile("count-negative.avro", avro_file(longs, -5, avro_long(1)), "less than no rows")
    yield Hostile("block-length.avro", avro_file(longs, 1, avro_long(1), size=1 << 40))
    yield Hostile("block-length-negative.avro", avro_file(longs, 1, avro_long(1), size=-1))
    yield Hostile("text-length.avro", avro_file(record(s="string"), 1, avro_long(1 << 40) + b"x"))
    yield Hostile("text-length-negative.avro", avro_file(record(s="string"), 1, avro_long(-7) + b"x"))
    yield Hostile("text-not-utf8.avro", avro_file(record(s="string"), 1, avro_long(2) + b"\xff\xfe"))
    items = {"type": "array", "items": "null"}
    yield Hostile("items.avro", avro_file(record(a=items), 1, avro_long(1 << 40) + b"\0"), "more values")
    yield Hostile("items-negative.avro", avro_file(record(a=items), 1, avro_long(-(1 << 40)) + b"\0\0"), "more values")
    lists = b"".join(avro_long(20_000) + b"\0" for _ in range(20_000))
    yield Hostile("items-again.avro", avro_file(record(a=items), 20_000, lists), "more values")
    endless = record(next="r")
    yield Hostile("recursion-endless.avro", avro_file(endless, 1, b""), "deeply")
    nested = record(next=["null", "r"])
    yield Hostile("recursion-deep.avro", avro_file(nested, 1, b"\x02" * 100_000 + b"\0"), "deeply")
    yield Hostile("schema-deep.avro", avro_file(b'{"type":' * 100_000 + b'"long"' + b"}" * 100_000, 1, b"\0"))
    yield Hostile("schema-none.avro", avro_file(b"[]", 1, b"\0"))
    yield Hostile("schema-odd.avro", avro_file({"type": "record", "name": 5, "fields": 7}, 1, b"\0"))
    letters = {"type": "enum", "name": "e", "symbols": ["a"]}
    yield Hostile("enum-index.avro", avro_file(record(e=letters), 1, b"\x7e"), "branch or symbol 63")
    yield Hostile("enum-index-negative.avro", avro_file(record(e=letters), 1, b"\x01"), "branch or symbol -1")
    unions = record(u=["null", "long", "string"])
    yield Hostile("union-branch-negative.avro", avro_file(unions, 1, b"\x01\x02a"), "branch or symbol -1")
    yield Hostile("rows-left.avro", avro_file(unions, 1, b"\0\0"), "more bytes than its rows")
    yield Hostile(
        "number-endless.avro", avro_file(record(n="long", m={"type": "map", "values": "long"}), 1, b"\xff" * 99)
    )
    yield Hostile(
        "days.avro",
        avro_file(record(d={"type": "int", "logicalType": "date"}), 1, avro_long(1 << 30)),
        "no row can have",
    )
    zeros = zlib.compressobj(9, zlib.DEFLATED, -15)
    bomb = zeros.compress(bytes(200 << 20)) + zeros.flush()
    yield Hostile("bomb.avro", avro_file(record(m={"type": "map", "values": "long"}), 1, bomb, "deflate"), "become")
    yield Hostile("bomb-simple.avro", avro_file(longs, 200 << 20, bomb, "deflate"), "become")
    snappy = b"\xff\xff\xff\xff\x07" + b"\0" * 20
    yield Hostile("snappy-length.avro", avro_file(longs, 1, snappy, "snappy"), "longer than it can be")
    compressed = bytes(pa.compress(avro_long(1), "snappy", asbytes=True))
    yield Hostile("snappy-checksum.avro", avro_file(longs, 1, compressed + b"\0\0\0\0", "snappy"), "checksum")
    yield Hostile("codec.avro", avro_file(longs, 1, b"\x02", "rot13"), "rot13")


# ── Texts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def xml() -> Iterator[Hostile]:
    laughs = "".join(f'<!ENTITY l{n + 1} "{f"&l{n};" * 10}">' for n in range(10))
    yield Hostile(
        "laughs.xml", f'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY l0 "ha">{laughs}]><a><r>&l10;</r></a>'.encode()
    )
    yield Hostile("deep.xml", b"<r>" + b"<a>" * 1_000_000, "nested")
    yield Hostile("deep-closed.xml", b"<r>" + b"<a>" * 50_000 + b"</a>" * 50_000 + b"</r>", "nested")
    outside = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a><r>&x;</r></a>'
    yield Hostile("outside.xml", f'<?xml version="1.0"?>{outside}'.encode(), "entity")
    yield Hostile("encoding.xml", b'<?xml version="1.0" encoding="klingon"?><a><r>1</r></a>')
    yield Hostile("not-utf8.xml", b'<?xml version="1.0"?><a><r>\xff\xfe</r></a>')
    yield Hostile("cut.xml", b'<?xml version="1.0"?><a><r>1</r><r>')


def csv() -> Iterator[Hostile]:
    yield Hostile("zeros.csv", b"a,b\n1,\0\0\n2,x\n", None)
    yield Hostile("quotes.csv", b'a,b\n1,"x\n2,y\n' * 50, None)
    yield Hostile("long-line.csv", b"a,b\n1," + b"x" * (20 << 20) + b"\n", "more than 8 MiB")
    yield Hostile("utf16.csv", "a,b\n1,x\n".encode("utf-16"))
    yield Hostile("not-utf8.csv", b"a,b\n1,\xff\xfe\n", "UTF")
    yield Hostile("name-not-utf8.csv", b"a,\xff\xfe\n1,2\n", "UTF")
    yield Hostile("values.csv", b"a,b\n1,2,3\n", "values")
    yield Hostile("empty.csv", b"\n\n\n")


def csv_of_many_columns() -> Iterator[Hostile]:
    yield Hostile("columns.csv", b",".join(b"c%d" % n for n in range(100_000)) + b"\n" + b"," * 99_999 + b"\n", None)


def json_files() -> Iterator[Hostile]:
    deep = b'{"a":' * 100_000 + b"1" + b"}" * 100_000
    yield Hostile("deep.ndjson", deep + b"\n", "deeply")
    yield Hostile("deep.json", b"[" + deep + b"]", "deeply")
    yield Hostile("deep-lists.ndjson", b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n", "deeply")
    yield Hostile("twice.ndjson", b'{"a":1,"a":2}\n', "twice")
    yield Hostile("nan.ndjson", b'{"a":NaN}\n', "NaN")
    yield Hostile("infinity.ndjson", b'{"a":-Infinity}\n', "Infinity")
    yield Hostile("surrogate.ndjson", b'{"a":"\\ud800"}\n', "surrogate")
    yield Hostile("not-utf8.ndjson", b'{"a":"\xff\xfe"}\n', "UTF")
    yield Hostile("not-utf8.txt", b"fine\n\xff\xfe\n", "UTF")
    yield Hostile("digits.ndjson", b'{"a":' + b"9" * 10_000 + b"}\n", "digits")
    yield Hostile("cut.json", b'[{"a":1},{"a":', "too early")
    yield Hostile("no-object.ndjson", b"[1,2]\n5\n")


def json_of_many_keys() -> Iterator[Hostile]:
    keys = b",".join(b'"k%d":1' % n for n in range(1_000_000))
    yield Hostile("keys.ndjson", b"{" + keys + b"}\n", None)


def packed() -> Iterator[Hostile]:
    yield Hostile("bomb.csv.gz", gzip.compress(b"a\n" + b"1\n" * 10, 9)[:-8] + b"\0" * 8)
    yield Hostile("cut.ndjson.gz", gzip.compress(b'{"a":1}\n' * 5_000)[:-20], "too early")
    yield Hostile("cut.ndjson.zst", pa.compress(b'{"a":1}\n' * 5_000, "zstd", asbytes=True)[:-5], "too early")
    yield Hostile("garbage.ndjson.gz", b"\x1f\x8b" + b"\xff" * 100)
    yield Hostile("garbage.ndjson.zst", b"\x28\xb5\x2f\xfd" + b"\xff" * 100)
    yield Hostile("nested.ndjson.gz", gzip.compress(gzip.compress(b'{"a":1}\n')))
    yield Hostile("bomb.parquet.gz", gzip.compress(dictionary_bomb()))


_WIDE = [f"f{n}" for n in range(20_000)]  # of files that are not hostile: rows with very many fields


def wide_texts() -> Iterator[Hostile]:
    yield Hostile("wide.ndjson", json.dumps(dict.fromkeys(_WIDE, 1)).encode() + b"\n", None)
    fields = b"".join(b"<%s>1</%s>" % ((name.encode(),) * 2) for name in _WIDE)
    yield Hostile("wide.xml", b"<?xml version='1.0'?><a><r>%s</r></a>" % fields, None)


def wide() -> Iterator[Hostile]:
    yield Hostile("wide.csv", ",".join(_WIDE).encode() + b"\n" + ",".join("1" * len(_WIDE)).encode() + b"\n", None)
    table = pa.table({name: [1] for name in _WIDE})
    yield Hostile("wide.parquet", parquet_file(table), None)
    yield Hostile("wide.arrow", arrow_file(table), None)
    schema = record(**dict.fromkeys(_WIDE, "long"))
    yield Hostile("wide.avro", avro_file(schema, 1, avro_long(1) * len(_WIDE)), None)


def every() -> list[Hostile]:
    return [*fast(), *json_of_many_keys(), *csv_of_many_columns(), *wide()]


def fast() -> list[Hostile]:
    """Those that are small, and quickly made and found out."""
    makers: list[Callable[[], Iterator[Hostile]]] = [
        arrow, parquet, orc_files, avro, xml, csv, json_files, packed, wide_texts,
    ]  # fmt: skip
    return [each for make in makers for each in make()]


def valid_files() -> list[tuple[str, bytes]]:
    """One of each format, with nothing wrong."""
    rows = 200
    table = pa.table({
        "n": list(range(rows)),
        "t": [f"text {n}" for n in range(rows)],
        "l": [[n, n + 1] for n in range(rows)],
        "d": pa.array([f"kind {n % 3}" for n in range(rows)]).dictionary_encode(),
        "s": [{"x": n / 2, "y": None} for n in range(rows)],
    })  # fmt: skip
    flat = table.drop_columns(["d"])
    sink = io.BytesIO()
    orc.write_table(flat.drop_columns(["s"]), sink)
    schema = record(n="long", t="string", a={"type": "array", "items": "long"}, u=["null", "string", "long"])
    values = b"".join(avro_long(n) + b"\x08text" + b"\x04\x02\x04\0" + b"\x04\x06" for n in range(rows))
    simple = b"".join(avro_long(n) + b"\x08text" for n in range(rows))
    lines = "".join(json.dumps(row) + "\n" for row in flat.to_pylist())
    elements = "".join(f'<r n="{n}"><t>text</t><l>1</l><l>2</l></r>' for n in range(rows))
    return [
        ("a.arrow", arrow_file(table)),
        ("a.arrows", arrow_stream(table, "zstd")),
        ("a.parquet", parquet_file(table)),
        ("plain.parquet", parquet_file(flat, compression="none", use_dictionary=False)),
        ("a.orc", sink.getvalue()),
        ("a.avro", avro_file(schema, rows, values)),
        ("simple.avro", avro_file(record(n="long", t="string"), rows, simple)),
        ("a.xml", f"<?xml version='1.0'?><a>{elements}</a>".encode()),
        ("a.csv", b"n,t\n" + b"".join(b'%d,"text, %d"\n' % (n, n) for n in range(rows))),
        ("a.ndjson", lines.encode()),
        ("a.json", json.dumps(flat.to_pylist()).encode()),
        ("a.ndjson.gz", gzip.compress(lines.encode())),
        ("a.ndjson.zst", pa.compress(lines.encode(), "zstd", asbytes=True)),
    ]


def changed(name: str, data: bytes, count: int) -> Iterator[bytes]:
    """The same ones whenever they are made."""
    dice = random.Random(name)
    for _ in range(count):
        found = bytearray(data)
        for _ in range(dice.choice((1, 1, 1, 2, 5))):
            at = dice.randrange(len(found))
            match dice.randrange(6):
                case 0:
                    found[at] ^= 1 << dice.randrange(8)
                case 1:
                    found[at : at + 4] = struct.pack(
                        "<i", dice.choice((-1, 0, 1 << 30, -(1 << 31), 0x7FFFFFFF, 65_536))
                    )
                case 2:
                    found[at : at + 8] = struct.pack("<q", dice.choice((-1, 1 << 40, -(1 << 63), (1 << 63) - 1)))
                case 3:
                    del found[at : at + dice.randrange(1, 20)]
                case 4:
                    found[at:at] = found[max(0, at - 50) : at]
                case _:
                    found[at] = dice.choice(b"\x00\xff\x7f\x80")
        yield bytes(found[: dice.randrange(1, len(found))] if dice.random() < 0.1 else found)
