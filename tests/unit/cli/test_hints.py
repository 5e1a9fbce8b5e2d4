"""The commands in error messages can be pasted as they are: they exist, with these options, and name the right
repository and lake.
"""

import ast
import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import lochan as package
from tests.unit.cli.commands_in_text import commands, options_of, parse
from tests.unit.cli.invoke import lochan

SOURCE = Path(package.__file__).parent


def texts() -> Iterator[tuple[str, ast.expr]]:
    """Every text of the source, with its place, except docstrings and the help of options and settings."""
    for file in sorted(SOURCE.rglob("*.py")):
        if "`lochan " not in (read := file.read_text(encoding="utf-8")):
            continue
        tree = ast.parse(read)
        left_out = {id(part) for node in ast.walk(tree) for part in _not_advice(node)}
        for node in ast.walk(tree):
            if id(node) not in left_out and isinstance(node, ast.JoinedStr | ast.Constant) and "`lochan" in _text(node):
                yield f"{file.relative_to(SOURCE)}:{node.lineno}", node


def _not_advice(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        if isinstance(node.body[0], ast.Expr):
            yield node.body[0].value
    elif isinstance(node, ast.JoinedStr):
        yield from node.values  # they are looked at together
    elif isinstance(node, ast.keyword) and node.arg == "help":
        yield node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and ast.unparse(node.func) == "re.compile":
        yield from node.args
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id == "Setting" or node.func.id in ("Invalid", "NotFound"):
            yield from node.args
    elif isinstance(node, ast.Lambda):  # what `pasteable` makes of a command
        yield node.body


def _text(node: ast.expr) -> str:
    """The text with something in place of each value."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    assert isinstance(node, ast.JoinedStr)
    return "".join(map(_part, node.values))


def _part(part: ast.expr) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    assert isinstance(part, ast.FormattedValue)
    return "" if _is_options(part.value) else "filled-in"


def _is_quoted(value: ast.expr) -> bool:
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "quote":
        return True
    return _is_options(value)


def _is_options(value: ast.expr) -> bool:
    """A part of a command that may be empty, itself made of quoted values."""
    return isinstance(value, ast.Name) and value.id.endswith("options")


TEXTS = [pytest.param(node, id=place) for place, node in texts()]


@pytest.mark.parametrize("node", TEXTS)
def test_every_command_in_the_source_is_taken(node: ast.expr) -> None:
    for command in commands(_text(node)):
        try:
            parse(command)
        except click.UsageError as error:
            pytest.fail(f"`{command}`: {error.format_message()}")


@pytest.mark.parametrize("node", TEXTS)
def test_what_is_filled_into_a_command_is_quoted(node: ast.expr) -> None:
    inside = False
    for part in node.values if isinstance(node, ast.JoinedStr) else []:
        if isinstance(part, ast.Constant):
            inside ^= str(part.value).count("`") % 2 == 1
        elif inside:
            assert isinstance(part, ast.FormattedValue)
            assert _is_quoted(part.value), ast.unparse(node)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake whose name must be quoted, with a repository, a pool, and something to stumble over."""
    folder = tmp_path_factory.mktemp("sample")
    place = f"{folder}/my lake"
    (folder / "rows.ndjson").write_text('{"k":1,"v":1}\n')
    for words in [
        ("init", place),
        ("repo", "create", "demo"),
        ("create", "rows", "--key", "k", "--primary-key", "k"),
        ("load", "rows", f"{folder}/rows.ndjson"),
        ("auth", "users", "create", "ada"),
    ]:
        given = () if words[0] == "init" else ("--lake", place)
        assert lochan(*given, *words).exit_code == 0, words
    for text in ("one", "two", "three"):
        assert lochan("--lake", place, "fs", "upload", "-", "demo/a.csv", stdin=text).exit_code == 0
        assert lochan("--lake", place, "commit", "demo", "-m", text).exit_code == 0
    return folder


@pytest.fixture
def lake(sample: Path, tmp_path: Path) -> str:
    """A copy for each test, so that no test sees the changes of another."""
    return f"{shutil.copytree(sample, tmp_path / 'copy')}/my lake"


FAILURES = [
    "log dmeo",
    "log demo@mian",
    "log demo@main@{1999-01-01}",
    "log demo@mian@{1999-01-01}",
    "branch delete demo@mian",
    "branch restore demo@dev",
    "branch unprotect demo 'x*'",
    "tag delete demo@v1",
    "stash pop demo",
    "stash drop demo x",
    "workspace show demo 17-9f3a6c21",
    "workspace show demo x",
    "workspace commit demo WORKSPACE -m x",
    "revert demo main~1",
    "cherry-pick demo main~2",
    "repo show dmeo",
    "repo delete dmeo --yes",
    "rename dmeo demo2",
    "events dmeo",
    "use dmeo",
    "use rows@mian",
    "status",
    "drop demo --yes",
    "drop rwos --yes",
    "compact demo",
    "manage demo --once",
    "load demo ROWS",
    "load rwos ROWS",
    "load rows",
    "load rows ROWSX",
    "load rows@mian ROWS",
    "delete rows 27aaaaaaaaaaaaaaaaaaaaaaaaa",
    "fs upload ROWS rows/x",
    "fs cat demo/b.csv",
    "fs cat demo@main/a.cvs",
    "fs rm demo/a.cvs",
    "blame demo/a.cvs",
    "diff demo@main/x demo@main~1/x --rows",
    "query 'from rwos'",
    "query 'from rows@mian'",
    "query 'from demo@main/x*.csv'",
    "query 'count()'",
    "sql 'update rows set k = 1'",
    "sql 'delete from rows'",
    "bisect good demo",
    "jobs show x",
    "auth users show adda",
    "auth policies show amdin",
    "auth keys revoke AKIAX --yes",
    "auth detach ada admin",
    "auth can ada fs:ReadObjcet '*'",
    "import demo /nowhere",
    "config show --set logging.levle=DEBUG",
    "merge demo@dev demo",
]


def failed(lake: str, command: str) -> tuple[str, str]:
    """The command as it was run, and its output."""
    file = shlex.quote(f"{Path(lake).parent}/rows.ndjson")
    words = shlex.split(command.replace("ROWSX", f"{file}x").replace("ROWS", file))
    if "WORKSPACE" in words:
        opened = lochan("--lake", lake, "workspace", "create", "demo", "--quiet").stdout.strip()
        words = [opened if word == "WORKSPACE" else word for word in words]
    result = lochan("--lake", lake, *words)
    assert result.exit_code > 2, (command, result.output)
    assert result.stderr.startswith("lochan: "), command
    return shlex.join(("lochan", *words)), result.stderr


@pytest.mark.parametrize("command", FAILURES)
def test_a_failure_advises_what_can_be_done(lake: str, command: str) -> None:
    """Commands that only read are run as they are; for the others, the parser must accept every word."""
    given, output = failed(lake, command)
    for advice in commands(output):
        assert "REPO" not in advice, output
        ctx = parse(advice)
        if "USER" not in advice and ctx.command.name in ("list", "ls", "log", "events", "show", "protection", "jobs"):
            assert lochan(*shlex.split(advice)[1:]).exit_code == 0, output
    outside = re.sub("`[^`]*`", "", output.partition("\n")[2])
    for option in re.findall(r"(?<!\S)--[a-z-]+", outside):
        assert option in options_of(given), (option, output)


@pytest.mark.parametrize(
    "command, near",
    [
        ("log dmeo", "demo"),
        ("repo show dmeo", "demo"),
        ("repo delete dmeo --yes", "demo"),
        ("rename dmeo demo2", "demo"),
        ("events dmeo", "demo"),
        ("use rwos", "rows"),
        ("drop rwos --yes", "rows"),
        ("manage rwos --once", "rows"),
        ("load rwos ROWS", "rows"),
        ("load rows ROWSX", "COPY/rows.ndjson"),
        ("fs upload ROWSX demo/x", "COPY/rows.ndjson"),
        ("log demo@mian", "main"),
        ("log demo@mian~1", "main"),
        ("log demo@mian@{1999-01-01}", "main"),
        ("branch delete demo@mian", "main"),
        ("use rows@mian", "main"),
        ("query 'from rows@mian~1'", "main"),
        ("fs cat demo/a.cvs", "a.csv"),
        ("fs rm demo/a.cvs", "a.csv"),
        ("blame demo/a.cvs", "a.csv"),
        ("fs ls demo/a.cvs", "a.csv"),
        ("auth users show adda", "ada"),
        ("auth attach ada amdin", "Admin"),
        ("config show --set logging.levle=DEBUG", "logging.level"),
    ],
)
def test_the_name_that_was_probably_meant(lake: str, command: str, near: str) -> None:
    first = failed(lake, command)[1].splitlines()[0]
    near = near.replace("COPY", str(Path(lake).parent))
    assert re.search(f"; did you mean ['`]{re.escape(near)}['`]\\?$", first), first


def test_a_file_of_the_same_kind_was_not_meant(lake: str) -> None:
    """The same folder and ending prove nothing."""
    assert "did you mean" not in failed(lake, "load rows nobody.ndjson")[1]
    assert lochan("--lake", lake, "fs", "upload", "-", "demo/data/people.csv", stdin="x").exit_code == 0
    assert "did you mean" not in failed(lake, "fs cat demo/data/report.csv")[1]
    assert "did you mean 'data/people.csv'?" in failed(lake, "fs cat demo/data/peopel.csv")[1]
    for command in ("fs ls demo/dtaa/", "fs ls -r demo/dtaa", "fs ls -f json demo/dtaa"):
        assert "did you mean 'data/'?" in failed(lake, command)[1]
        assert lochan("--lake", lake, *command.split()).exit_code == 3
    assert lochan("--lake", lake, *["repo", "create", "empty"]).exit_code == 0
    assert lochan("--lake", lake, *["fs", "ls", "empty"]).exit_code == 0


def test_a_tag_that_was_probably_meant(lake: str) -> None:
    assert lochan("--lake", lake, "tag", "create", "demo@v1.0", "--from", "main").exit_code == 0
    assert failed(lake, "tag delete demo@v1.1")[1].splitlines()[0] == "lochan: no tag 'v1.1'; did you mean 'v1.0'?"


def test_a_deleted_branch_that_was_probably_meant(lake: str) -> None:
    assert lochan("--lake", lake, "branch", "create", "demo@tests").exit_code == 0
    assert lochan("--lake", lake, "branch", "delete", "demo@tests").exit_code == 0
    assert "did you mean 'tests'?" in failed(lake, "branch restore demo@test")[1]


def test_a_missing_lake_can_be_made_as_advised(tmp_path: Path) -> None:
    output = lochan("--lake", f"{tmp_path}/a lake", "ls").stderr
    (advice,) = commands(output)
    assert lochan(*shlex.split(advice)[1:]).exit_code == 0
    assert lochan("--lake", f"{tmp_path}/a lake", "ls").exit_code == 0


def test_a_revert_recommends_nothing_that_it_has_not(lake: str) -> None:
    output = failed(lake, "revert demo main~1")[1]
    assert "revert the later commits first" in output
    assert lochan("--lake", lake, "revert", "demo", "main").exit_code == 0
    assert lochan("--lake", lake, "revert", "demo", "main~2").exit_code == 0


@pytest.mark.thorough
def test_only_a_merge_of_rows_recommends_a_strategy(lake: str, tmp_path: Path) -> None:
    """Both sides change the row of one key: the commit `one` does so at once."""
    (tmp_path / "both.ndjson").write_text('{"k":5,"v":1}\n{"k":6,"v":1}\n')
    (tmp_path / "other.ndjson").write_text('{"k":5,"v":2}\n')
    for command in (
        f"load rows {tmp_path}/both.ndjson",
        "branch create rows@dev",
        "branch create rows@one",
        "delete rows@dev --where k==5",
        f"load rows@dev {tmp_path}/other.ndjson",
        "merge rows@dev rows@one --squash",
        "delete rows --where k==5",
    ):
        assert lochan("--lake", lake, *command.split()).exit_code == 0, command
    picked, merged = failed(lake, "cherry-pick rows one")[1], failed(lake, "merge rows@one rows")[1]
    assert picked.splitlines()[0] == merged.splitlines()[0]
    assert picked.splitlines()[0] == "lochan: both sides changed 1 row of the same k: k=5"
    as_json = lochan("--lake", lake, *["merge", "rows@one", "rows", "-f", "json"])
    assert json.loads(as_json.stdout) == [{"k": 5}]
    assert "--strategy" in merged
    assert "--strategy" not in picked
