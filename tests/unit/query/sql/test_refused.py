"""What SQL could reach beyond the rows of the lake: files, the environment, settings, other programs. All of it is
refused before an engine sees it, because only known names are accepted.
"""

from __future__ import annotations

import pytest

from lochan.errors import LochanError
from lochan.query import ast
from lochan.query.sql.query import read
from tests.unit.query.toy_source import ToySource

REFUSED = """
select getenv('HOME') from p
select * from read_text('/etc/passwd')
select * from read_csv('/etc/passwd')
select * from '/etc/passwd'
select * from "/etc/passwd"
select * from glob('/*')
select * from query('select 1')
select * from query_table('p')
select * from duckdb_secrets()
select * from duckdb_settings()
select current_setting('temp_directory') from p
select * from pragma_version()
select * from sniff_csv('/etc/passwd')
select * from parquet_metadata('/x')
select * from range(10)
select * from unnest([1,2])
select * from (values (1)) t
select * from generate_series(1, 1000000000000)
select * from information_schema.tables
select * from pg_catalog.pg_class
select * from summary('p')
select java_method('java.lang.System','getenv','HOME') from p
select reflect('java.lang.System','getenv','HOME') from p
select try_reflect('java.lang.System','getenv','HOME') from p
select input_file_name() from p
select current_user() from p
select current_user from p
select user from p
select session_user from p
select current_database() from p
select current_schema() from p
select version() from p
select current_catalog() from p
select xpath('<a/>','a') from p
select from_avro(s,'x') from p
select aes_decrypt(s,'k') from p
select text.`/etc/passwd` from p
select * from csv.`/etc/passwd`
select * from parquet.`/etc/passwd`
select * from text.'/etc/passwd'
select a from p limit (select count(*) from read_text('/etc/passwd'))
select ${env:HOME} from p
select a from p where s similar to '(a+)+b'
select a from p using sample 10
select a from p tablesample (10 percent)
select * from p pivot (sum(a) for s in ('x'))
select a into x from p
copy p to '/tmp/x'
attach 'x'
set x=1
pragma database_list
install httpfs
load httpfs
export database 'x'
call pragma_version()
with x as materialized (select 1) select * from x
with recursive x as (select 1) select * from x
select a from p; select 1
create table x as select 1
describe p
show tables
explain select 1 from p
select list_transform([1], x -> getenv('HOME')) from p
select a from p order by getenv('HOME')
select a from p group by getenv('x')
select sum(getenv('x')) over () from p
select count(*) filter (where getenv('x') is null) from p
select a::json from p
select a::secret from p
select cast(s as blob) from p
select nextval('x') from p
select uuid() from p
select random() from p
select columns('.*') from p
select * replace (getenv('x') as a) from p
select $1 from p
select ? from p
select :x from p
select @x from p
select getvariable('x') from p
select parse_path(s) from p
select read_blob(s) from p
select system_user() from p
select struct_pack(a := getenv('x')) from p
select {'a': getenv('x')} from p
select if(a=1, getenv('x'), 1) from p
select coalesce(getenv('x'), 1) from p
select trim(both getenv('x') from s) from p
select date_trunc(getenv('x'), a) from p
select a from p join lateral (select getenv('x')) t on true
select a from p where exists (select getenv('x') from p)
select a from p where a in (select getenv('x') from p)
from p select getenv('x')
select a from p at (version => 1)
select a collate nocase from p
select array(select getenv('x') from p) from p
select map([1],[getenv('x')]) from p
"""


def open_source(source: ast.Source) -> ToySource:
    assert source.name == "p"
    return ToySource([{"a": 1, "s": "x", "l": [1], "o": {"p": 1}}])


@pytest.mark.parametrize("text", REFUSED.strip().splitlines())
def test_what_reaches_beyond_the_rows_is_refused(text: str) -> None:
    with pytest.raises(LochanError):
        read(text).plan(open_source, 0)


def test_a_hint_to_an_engine_does_not_reach_it() -> None:
    plan = read("select /*+ BROADCAST(p) */ a /* ${env:HOME} */ from p -- ${env:HOME}").plan(open_source, 0)
    for engine in ("duckdb", "spark"):
        assert "/*" not in plan.sql(engine) and "$" not in plan.sql(engine)


@pytest.mark.parametrize("name", ["duckdb_tables", "sqlite_master", "pragma_database_list", "open_source"])
def test_a_table_is_a_source_of_the_lake(name: str) -> None:
    """Never a view of the engine, nor a variable of this program."""
    asked: list[object] = []

    def opened(source: ast.Source) -> ToySource:
        asked.append(source.name)
        return ToySource([{"a": 1}])

    plan = read(f"select a from {name}").plan(opened, 0)
    assert asked == [name]
    assert name not in plan.sql("duckdb")
