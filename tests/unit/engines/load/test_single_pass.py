"""A long input in one statement gives the objects that its rows would give as usual."""

import gzip
import json
import random
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from lochan.engines.duckdb.load import loader as loader_module
from lochan.engines.duckdb.load import single_pass
from lochan.engines.duckdb.load.load import LoaderOptions
from lochan.engines.duckdb.load.loader import Loader
from lochan.engines.duckdb.load.read_input import read_input
from lochan.engines.duckdb.session import DuckSession
from lochan.errors import Invalid
from lochan.formats.pool_settings import PoolSettings
from lochan.ingest.streams import Input, file_input
from lochan.pools.facts import from_metadata, to_metadata
from lochan.pools.json_row import SKIP, Faults, read_row, row_text
from lochan.pools.settings import parse
from tests.unit.engines.load.load_text import LIMITS, Made, load_bytes

BY_TIME = parse(["ts:time"])
REGULAR = [
    f'{{"ts":"2026-11-0{1 + n % 9}T10:00:{n % 60:02}.{n % 1000:03}Z","host":"h{n % 7}","n":{n}}}' for n in range(3_000)
]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows are worth it, in several batches, and few of them are looked at beforehand."""
    monkeypatch.setattr(loader_module, "_SAMPLE", 100)
    monkeypatch.setattr(single_pass, "_BYTES_MIN", 1_000)
    monkeypatch.setattr(single_pass, "_TRIAL_ROWS", 300)
    monkeypatch.setattr(single_pass, "_SLICE_ROWS", 500)


class Passes:
    """Counts how often rows were taken in one pass, and how many of them were not proven."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.missed: list[int | None] = []
        pass_lines = Loader.pass_lines

        def counted(loader: Loader, *given: object) -> list[int] | None:
            self.missed.append(None)
            found = pass_lines(loader, *given)  # type: ignore[arg-type]
            self.missed[-1] = None if found is None else len(found)
            return found

        monkeypatch.setattr(Loader, "pass_lines", counted)


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> Passes:
    return Passes(monkeypatch)


def load(input: Input | Path, pool: PoolSettings = BY_TIME, faults: Faults | None = None) -> list[Made]:
    input = file_input(input) if isinstance(input, Path) else input
    with DuckSession(LIMITS, ordered=False) as session:
        loader = Loader(session, pool, faults or Faults())
        read_input(loader, input, LoaderOptions(), alone=True)
        return [
            Made(from_metadata(to_metadata(each.facts)), pq.read_table(each.file, partitioning=None))
            for each in loader.objects()
        ]


def written(folder: Path, texts: Sequence[str]) -> Path:
    file = folder / "rows.ndjson"
    file.write_text("\n".join(texts) + "\n")
    return file


def same(made: Sequence[Made], texts: Sequence[str], pool: PoolSettings = BY_TIME) -> None:
    """The same facts, columns and rows as usual; the footer alone may list the shapes in another order."""
    usual = load_bytes("\n".join(texts).encode(), pool)
    assert [each.facts for each in made] == [each.facts for each in usual]
    for own, other in zip(made, usual, strict=True):
        assert own.table.schema.names == other.table.schema.names
        assert own.table.schema.types == other.table.schema.types
        assert own.table["ts"] == other.table["ts"]
        assert sorted(map(row_text, own.rows())) == sorted(map(row_text, other.rows()))


def test_regular_rows(tmp_path: Path, passes: Passes) -> None:
    made = load(written(tmp_path, REGULAR))
    assert passes.missed == [0]
    same(made, REGULAR)


def test_rows_of_many_shapes(tmp_path: Path, passes: Passes) -> None:
    texts = [
        json.dumps({f"f{bit}": n for bit in range(6) if n & 1 << bit} | {"ts": n}, separators=(",", ":"))
        for n in range(3_000)
    ]
    made = load(written(tmp_path, texts), parse(["ts"]))
    assert passes.missed == [0]
    same(made, texts, parse(["ts"]))


SURPRISES = [
    pytest.param('{"n":1,"host":"h1","ts":"2026-11-01T10:00:00.000Z"}', id="another order"),
    pytest.param('{"ts":"2026-11-01T10:00:00.000Z","host":"h1","n":1,"more":[1,{"a":null}]}', id="another field"),
    pytest.param('{"ts":"2026-11-01T10:00:00.000Z","host":7,"n":1}', id="another kind"),
    pytest.param('{"ts":"2026-11-01T10:00:00.000Z","host":"h1","n":1.5}', id="a float for an int"),
    pytest.param('{"ts":"2026-11-01T10:00:00.000Z","host":"h1","n":"1"}', id="a text for an int"),
    pytest.param('{"ts":"2026-11-01T10:00:00.000Z","host":"h1","n":9007199254740993123456}', id="a great int"),
    pytest.param('{"ts":"2026-11-01T10:00:00.000Z","host":null,"n":1}', id="a null"),
    pytest.param('{"ts":"2026-11-01T10:00:00.000Z","host":"h1"}', id="a field that is missing"),
    pytest.param('{"ts":"soon","host":"h1","n":1}', id="a text for a time"),
    pytest.param('{"ts":"2026-11-01T10:00:00+02:00","host":"h1","n":1}', id="an offset"),
    pytest.param('{"ts":null,"host":"h1","n":1}', id="a null for the key"),
    pytest.param("{}", id="no fields"),
]


@pytest.mark.parametrize("odd", SURPRISES)
def test_rows_that_cannot_be_proven_are_taken_as_usual(odd: str, tmp_path: Path, passes: Passes) -> None:
    texts = [*REGULAR[:2_010], odd, *REGULAR[2_010:2_510], odd, *REGULAR[2_510:]]  # between those of the sample
    made = load(written(tmp_path, texts))
    assert passes.missed == [2]
    assert sum(each.facts.rows for each in made) == len(texts)
    rows = [row_text(row) for each in made for row in each.rows()]
    assert sorted(rows) == sorted(row_text(read_row(text)) for text in texts)
    usual = load_bytes("\n".join(texts).encode(), BY_TIME)
    assert [each.facts.shapes for each in made] == [each.facts.shapes for each in usual]
    assert [(each.facts.key_min, each.facts.key_max, each.facts.keyless) for each in made] == [
        (each.facts.key_min, each.facts.key_max, each.facts.keyless) for each in usual
    ]


def test_escapes_and_blanks_are_no_surprise(tmp_path: Path, passes: Passes) -> None:
    texts = list(REGULAR)
    texts[1_500] = texts[1_500].replace(':"h', ':"\\u0068')
    texts[1_600] = "  " + texts[1_600].replace(":", " : ", 1) + "\t"
    made = load(written(tmp_path, texts))
    assert passes.missed == [0]
    same(made, texts)


def test_blank_lines_are_left_out(tmp_path: Path, passes: Passes) -> None:
    texts = [*REGULAR[:1_000], "", "\r", *REGULAR[1_000:], ""]
    made = load(written(tmp_path, texts))
    assert passes.missed == [0]
    same(made, texts)


def test_a_line_that_is_not_json_is_a_fault_at_its_place(tmp_path: Path, passes: Passes) -> None:
    texts = [*REGULAR[:2_000], '{"ts": nonsense}', *REGULAR[2_000:]]
    file = written(tmp_path, texts)
    with pytest.raises(Invalid, match=r"rows\.ndjson:2001"):
        load(file)
    faults = Faults(SKIP)
    made = load(file, faults=faults)
    assert passes.missed == [None, None]
    assert sum(each.facts.rows for each in made) == len(REGULAR)
    assert sorted(row_text(row) for each in made for row in each.rows()) == sorted(REGULAR)


def test_a_line_that_is_not_utf8_is_a_fault_at_its_place(tmp_path: Path) -> None:
    file = written(tmp_path, [*REGULAR[:2_000], "@", *REGULAR[2_000:]])
    file.write_bytes(file.read_bytes().replace(b"\n@\n", b'\n{"ts":"\xff"}\n'))
    with pytest.raises(Invalid, match=r"rows\.ndjson:2001"):
        load(file)


def test_packed_input(tmp_path: Path, passes: Passes) -> None:
    file = tmp_path / "rows.ndjson.gz"
    file.write_bytes(gzip.compress("\n".join(REGULAR).encode()))
    made = load(file)
    assert passes.missed == [0]
    same(made, REGULAR)


def test_packed_input_that_is_damaged(tmp_path: Path) -> None:
    random_ = random.Random(1)
    texts = [text.replace("h", f"h{random_.random()}") for text in REGULAR * 20]
    file = tmp_path / "rows.ndjson.gz"
    file.write_bytes(gzip.compress("\n".join(texts).encode())[:-2_000])
    with pytest.raises(Invalid, match="cannot be unpacked"):
        load(file)


def test_rows_beyond_the_room_are_taken_as_usual(
    tmp_path: Path, passes: Passes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A packed file may have more rows than its size suggests."""
    monkeypatch.setattr(single_pass, "_UNPACKED", 0)
    monkeypatch.setattr("lochan.ingest.lines.lines.__defaults__", (40_000,))
    monkeypatch.setattr(Loader, "passes_bytes_max", 100_000)
    file = tmp_path / "rows.ndjson.gz"
    file.write_bytes(gzip.compress("\n".join(REGULAR).encode()))
    made = load(file)
    assert passes.missed == [0]
    same(made, REGULAR)


@pytest.mark.parametrize(
    "pool",
    [pytest.param(parse([]), id="a pool without a key"), pytest.param(parse(["ts"], size_bytes=1 << 20), id="no room")],
)
def test_it_is_not_used(pool: PoolSettings, tmp_path: Path, passes: Passes) -> None:
    texts = REGULAR * 8
    made = load(written(tmp_path, texts), pool)
    assert not passes.missed
    assert sum(each.facts.rows for each in made) == len(texts)


def test_a_file_that_changes_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(tmp_path, [*REGULAR[:2_010], '{"ts":1}', *REGULAR[2_010:]])
    pass_lines = Loader.pass_lines

    def then_cut(loader: Loader, *given: object) -> list[int] | None:
        found = pass_lines(loader, *given)  # type: ignore[arg-type]
        written(tmp_path, REGULAR[:10])
        return found

    monkeypatch.setattr(Loader, "pass_lines", then_cut)
    with pytest.raises(Invalid, match="has changed"):
        load(file)
