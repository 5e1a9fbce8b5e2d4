"""The verbs on a real lake in a folder, as a newcomer would try them."""

import json
import re
from pathlib import Path

import pytest

from lochan import __version__
from lochan.api.lake import read_events
from lochan.cli import repo
from lochan.config.find import system_user
from lochan.formats.events import event_types
from lochan.formats.record import Actor
from lochan.journal import feed as event_text
from lochan.journal import pull_texts
from lochan.lake import Lake
from lochan.store.local import LocalStore
from lochan.versioning.repositories import KINDS
from tests.run import run
from tests.unit.cli.invoke import lochan


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "lake"
    monkeypatch.setenv("LOCHAN_LAKE", str(folder))
    assert lochan("init").exit_code == 0
    return folder


def test_a_first_hour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert lochan("init").output == f"made a lake at file://{tmp_path}/.lochan\n"
    assert lochan("repo", "create", "demo-repo").output == "created repository demo-repo\n"
    (tmp_path / "deeper").mkdir()
    monkeypatch.chdir(tmp_path / "deeper")
    title, row = lochan("ls").output.splitlines()
    assert title.split() == ["NAME", "KIND", "DEFAULT_BRANCH", "CREATED", "CREATED_BY"]
    assert row.split()[:3] == ["demo-repo", "files", "main"]
    assert "created repository demo-repo" in lochan("events").output
    assert lochan("repo", "delete", "demo-repo", "--yes").output == "deleted repository demo-repo\n"
    assert lochan("ls", "-f", "json").output == "[]\n"


def test_init_says_how_to_use_a_lake_that_is_elsewhere(tmp_path: Path) -> None:
    result = lochan("init", str(tmp_path / "a" / ".." / "b"))
    assert result.stderr == f"to use it: lochan --lake {tmp_path}/b …, or set LOCHAN_LAKE\n"
    assert lochan("ls", "--lake", str(tmp_path / "b")).exit_code == 0


def test_init_as_json(tmp_path: Path) -> None:
    made = json.loads(lochan("init", str(tmp_path), "-f", "json").output)
    assert made["url"] == f"file://{tmp_path}"
    assert json.loads((tmp_path / "lake.json").read_text())["lake"] == made["id"]


def test_a_second_init_changes_nothing(lake: Path) -> None:
    before = (lake / "lake.json").read_bytes()
    result = lochan("init")
    assert result.exit_code == 4
    assert result.stderr.startswith(f"lochan: there is a lake at {lake} already\n")
    assert (lake / "lake.json").read_bytes() == before


def test_a_journal_in_a_database_that_is_not_named(tmp_path: Path) -> None:
    result = lochan("init", str(tmp_path / "lake"), "-s", "journal=postgres")
    assert result.exit_code == 6
    assert "--set journal: journal.type is postgres, but no database is named" in result.stderr
    assert not (tmp_path / "lake").exists()


def test_a_file_named_by_a_variable(tmp_path: Path) -> None:
    (tmp_path / "l.yaml").write_text("lake: data\n")
    env = {"LOCHAN_CONFIG": str(tmp_path / "l.yaml")}
    assert lochan("init", env=env).output == f"made a lake at file://{tmp_path}/data\n"
    missing = lochan("ls", env={"LOCHAN_CONFIG": "/missing.yaml"})
    assert missing.exit_code == 3
    assert missing.stderr.endswith("LOCHAN_CONFIG in the environment names it\n")


def test_a_working_folder_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    result = lochan("ls", env={"LOCHAN_CONFIG": ""})
    assert (result.exit_code, result.stderr) == (
        3,
        "lochan: the working folder is no longer there\n  change to one that is\n",
    )


def test_two_places_for_one_lake() -> None:
    result = lochan("init", "/a", "--lake", "/b")
    assert result.exit_code == 6
    assert "PATH-OR-URL: lake was already given (--lake)" in result.stderr


@pytest.mark.parametrize("verb", [("ls",), ("repo", "create", "demo-repo"), ("events",)], ids=" ".join)
def test_no_lake(verb: tuple[str, ...], tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        result = lochan("--lake", str(folder), *verb)
        assert result.exit_code == 3
        assert result.stderr.startswith(f"lochan: no lake at {folder} (from --lake)\n")
        assert f"`lochan init {folder}`" in result.stderr


def test_no_lake_without_any_configuration(newcomer: Path) -> None:
    result = lochan("ls")
    assert result.stderr.splitlines() == [
        f"lochan: no lake at {newcomer}/.local/share/lochan (from the user's data folder)",
        "  make one here with `lochan init`, or name another with --lake",
    ]


def test_a_lake_from_the_future(lake: Path) -> None:
    (lake / "lake.json").write_text('{"format": 99, "lake": "x"}')
    assert lochan("ls").exit_code == 7


def test_a_lake_that_is_damaged(lake: Path) -> None:
    (lake / "lake.json").write_text("{")
    assert lochan("ls").exit_code == 8


def test_an_empty_name_is_not_some_other_lake(lake: Path) -> None:
    for words in (("--lake", "", "ls"), ("init", "")):
        result = lochan(*words)
        assert result.exit_code == 6
        assert "the name of the lake is empty" in result.stderr


def test_a_repository_from_beginning_to_end(lake: Path) -> None:
    words = ("--kind", "pool", "--default-branch", "trunk", "--metadata", "owner=ada", "--metadata", "a=b=c")
    made = json.loads(lochan("-s", "user=ada", "repo", "create", "logs", *words, "-f", "json").output)
    assert {**made, "read_only": False} == json.loads(lochan("repo", "show", "logs", "-f", "json").output)
    assert [made] == json.loads(lochan("repo", "list", "-f", "json").output)
    assert {key: made[key] for key in ("name", "kind", "default_branch", "created_by", "metadata")} == {
        "name": "logs",
        "kind": "pool",
        "default_branch": "trunk",
        "created_by": system_user(),  # who it is, whatever is said
        "metadata": {"owner": "ada", "a": "b=c"},
    }
    assert "metadata        owner=ada a=b=c\n" in lochan("repo", "show", "logs").output


@pytest.mark.parametrize(
    "words, code, message",
    [
        pytest.param(("create", "demo-repo"), 4, "there is a repository 'demo-repo' already", id="a taken name"),
        pytest.param(("create", "No Name"), 6, "'No Name' cannot be a repository's name", id="not a name"),
        pytest.param(("create", "new", "--metadata", "x"), 6, "--metadata 'x': metadata is given as", id="not a note"),
        pytest.param(("create", "new", "--metadata", "x=1", "--metadata", "x=2"), 6, "already given", id="note twice"),
        pytest.param(("create", "new", "--kind", "pol"), 2, "'pol' is not one of 'files', 'pool'", id="not a kind"),
        pytest.param(("show", "none"), 3, "no repository 'none' in this lake", id="none to show"),
        pytest.param(("delete", "none", "--yes"), 3, "no repository 'none' in this lake", id="none to delete"),
        pytest.param(("delete", "demo-repo"), 5, "demo-repo was not deleted: nobody confirmed it", id="unconfirmed"),
    ],
)
def test_a_repository_is_refused(words: tuple[str, ...], code: int, message: str, lake: Path) -> None:
    lochan("repo", "create", "demo-repo")
    result = lochan("repo", *words)
    assert result.exit_code == code
    assert message in result.stderr
    assert [each["name"] for each in json.loads(lochan("ls", "-f", "json").output)] == ["demo-repo"]


@pytest.mark.parametrize("answer, code", [("y\n", 0), ("n\n", 5), ("\n", 5)])
def test_on_a_terminal_it_asks(answer: str, code: int, lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lochan("repo", "create", "demo-repo")
    monkeypatch.setattr("lochan.cli.options.is_terminal", lambda: True)
    result = lochan("repo", "delete", "demo-repo", stdin=answer)
    assert result.exit_code == code
    assert "Delete repository demo-repo with all its history?" in result.stdout
    assert lochan("repo", "show", "demo-repo").exit_code == (3 if code == 0 else 0)


def test_kinds_are_those_of_the_engine() -> None:
    (kind,) = (each for each in repo.create_command.params if each.name == "kind")
    assert tuple(kind.type.choices) == KINDS  # type: ignore[attr-defined]


def test_events(lake: Path) -> None:
    for name in ("one", "two", "three"):
        lochan("-s", "user=ada", "repo", "create", name)
    lines = [json.loads(line) for line in lochan("events", "_lake", "-f", "json").output.splitlines()]
    assert [(line["number"], line["payload"]["name"]) for line in lines] == [(1, "one"), (2, "two"), (3, "three")]
    told = {(line["user"], line["author"], line["client"], line["repository"], line["type"]) for line in lines}
    assert told == {(system_user(), "ada", f"lochan-cli/{__version__}", "_lake", "repository-created")}
    later = lochan("events", "_lake", "--after", "1", "-n", "1", "-f", "json").output
    assert [json.loads(line) for line in later.splitlines()] == lines[1:2]
    assert lochan("events", "--after", "1").exit_code == 6
    assert lochan("events", "one").output.endswith(f"  {system_user()} for ada  began with branch main\n")
    assert lochan("events", "none").exit_code == 3


def test_events_of_all_repositories_in_one_list(lake: Path) -> None:
    for name in ("one", "two"):
        lochan("repo", "create", name)
    whole = [line.split(maxsplit=3)[2:] for line in lochan("events").output.splitlines()]
    assert [" ".join(rest) for rest in whole] == [
        "root one  began with branch main",
        "root _lake  created repository one",
        "root two  began with branch main",
        "root _lake  created repository two",
    ]
    assert lochan("events", "-n", "1").output.endswith("created repository two\n")
    assert lochan("events", "--all", "-f", "json").output.count("\n") == 4


def test_events_have_named_fields_and_no_secrets(lake: Path) -> None:
    lochan("repo", "create", "demo")
    lochan("fs", "upload", "-", "demo@main/a.csv", stdin="1,2\n")
    lochan("commit", "demo@main", "-m", "one")
    lochan("auth", "users", "create", "ada")
    lochan("auth", "keys", "create", "ada")
    events = [json.loads(line) for line in lochan("events", "-f", "json").output.splitlines()]
    by_type = {event["type"]: event for event in events}
    (put,) = by_type["staged"]["payload"]["puts"]
    assert (put["path"], put["size"], put["blocks"][0]["size"]) == ("a.csv", 4, 4)
    assert by_type["staged"]["text"] == "on main: put a.csv"
    commit = by_type["committed"]["payload"]["commit"]
    assert (commit["message"], by_type["committed"]["repository"]) == ("one", "demo")
    assert set(by_type["key-created"]["payload"]) == {"user", "id", "limits", "expires"}


@pytest.mark.parametrize(
    "words, near",
    [
        (("fs", "ls", "demmo-repo@main/"), "demo-repo"),
        (("fs", "ls", "demo-repo@mian/"), "main"),
        (("commit", "demo-repo@mian", "-m", "x"), "main"),
        (("fs", "cat", "demo-repo@main/data/fruits.csv"), "data/fruit.csv"),
    ],
    ids=["a repository", "a ref", "a branch", "a path"],
)
def test_a_name_that_is_near_is_offered(lake: Path, words: tuple[str, ...], near: str) -> None:
    lochan("repo", "create", "demo-repo")
    lochan("fs", "upload", "-", "demo-repo@main/data/fruit.csv", stdin="1\n")
    result = lochan(*words)
    assert result.exit_code == 3
    assert f"; did you mean {near!r}?" in result.stderr


def test_a_query_of_a_pool_that_is_not_there_has_the_code_of_what_is_not_there(lake: Path) -> None:
    assert lochan("query", "from nothing").exit_code == 3


def test_every_type_of_event_has_words() -> None:
    """A type without its own case would be shown by its bare name."""
    source = Path(event_text.__file__).read_text() + Path(pull_texts.__file__).read_text()
    for type in event_types().values():
        module = type.__module__.rpartition(".")[2].removesuffix("_events")
        assert re.search(rf"case {module}s?\.{type.__name__}\(\):", source), type


def test_follow_stops_at_the_limit(lake: Path) -> None:
    lochan("repo", "create", "one")
    assert lochan("events", "--follow", "-n", "1").output.count("\n") == 1


def test_following_does_not_show_what_was_left_out_at_first(lake: Path) -> None:
    async def follow() -> list[str]:
        opened = await Lake.open(LocalStore(str(lake)))
        found = []
        async for line in read_events(opened, last=1, follow=True):
            found.append(line.text)
            if len(found) == 1:
                await opened.create_repository("three", actor=Actor("ada", "test", "here"))
            if len(found) == 3:
                break
        await opened.close()
        return found

    for name in ("one", "two"):
        lochan("repo", "create", name)
    first, *rest = run(follow())
    assert first == "created repository two"
    assert sorted(rest) == ["began with branch main", "created repository three"]


def test_a_store_that_does_not_answer_is_an_error_at_once() -> None:
    settings = {
        "endpoint": "http://127.0.0.1:1",
        "credentials.access_key_id": "a",
        "credentials.access_secret_key": "b",
    }
    words = [word for key, value in settings.items() for word in ("-s", f"blockstore.s3.{key}={value}")]
    for verb in ("ls", "init"):
        result = lochan("--lake", "s3://bucket/lake", *words, verb)
        assert result.exit_code == 9
        assert "s3://bucket/lake/lake.json: " in result.stderr
        assert "check its endpoint and the network" in result.stderr
        assert "Traceback" not in result.stderr


def test_a_profile_that_is_not_there_is_not_a_missing_lake() -> None:
    result = lochan("--lake", "s3://bucket", "-s", "blockstore.s3.profile=none", "ls")
    assert result.exit_code == 3
    assert "credentials" in result.stderr
    assert "init" not in result.stderr
