"""Where the lake is: the order of precedence."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from lochan.config.find import LakeLocation, cache_folder, find_lake, lake_in, nearest_folder
from lochan.config.load import Flag, load
from lochan.errors import Invalid, Refused

HOME = Path("/home/ada")


def find(cwd: Path, *flags: Flag, text: str = "", env: dict[str, str] | None = None) -> LakeLocation:
    (cwd / "l.yaml").write_text(text)
    config = load(file=Path("l.yaml"), env=env or {}, flags=flags, cwd=cwd, home=HOME)
    return find_lake(config, cwd=cwd, env=env or {}, home=HOME)


def test_the_flag_then_the_variable_then_the_file(tmp_path: Path) -> None:
    env, flag, text = {"LOCHAN_LAKE": "/by-env"}, Flag("--lake", "lake", "/by-flag"), "lake: /by-file"
    assert find(tmp_path, flag, text=text, env=env) == LakeLocation("/by-flag", "--lake")
    assert find(tmp_path, text=text, env=env) == LakeLocation("/by-env", "LOCHAN_LAKE")
    assert find(tmp_path, text=text) == LakeLocation("/by-file", "l.yaml, line 1")


@pytest.mark.parametrize(
    "text, url",
    [
        pytest.param("blockstore: {local: {path: /data}}", "/data", id="a local block store is a lake's folder"),
        pytest.param("blockstore: {type: local, local: {path: /data}}", "/data", id="also when it says so"),
        pytest.param("lake: /lake\nblockstore: {local: {path: /data}}", "/lake", id="lake is the better word"),
        pytest.param("lake: s3://b\nblockstore: {type: s3, local: {path: /data}}", "s3://b", id="an idle local path"),
        pytest.param("lake: az://c/p\nblockstore: {type: azure}", "az://c/p", id="Azure"),
        pytest.param("blockstore: {type: memory}", "memory://", id="memory"),
    ],
)
def test_a_block_store(text: str, url: str, tmp_path: Path) -> None:
    assert find(tmp_path, text=text).url == url


def test_a_path_given_later_than_the_lake_wins(tmp_path: Path) -> None:
    found = find(tmp_path, text="lake: /lake", env={"LOCHAN_BLOCKSTORE__LOCAL__PATH": "/data"})
    assert found == LakeLocation("/data", "LOCHAN_BLOCKSTORE__LOCAL__PATH")


def test_a_store_without_a_bucket_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=r"l\.yaml, line 1: blockstore\.type is s3, but nothing says which bucket"):
        find(tmp_path, text="blockstore: {type: s3, local: {path: /data}}")


def test_a_file_that_contradicts_itself_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=r"l\.yaml, line 2: blockstore\.type is gs, but the lake is s3://b"):
        find(tmp_path, text="lake: s3://b\nblockstore: {type: gs}")
    assert find(tmp_path, Flag("--lake", "lake", "/x"), text="blockstore: {type: gs}").url == "/x"


def test_the_nearest_folder_that_is_a_lake(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    (deep / ".lochan").mkdir(parents=True)  # no lake.json in it: not a lake
    lake = tmp_path / ".lochan"
    lake.mkdir()
    (lake / "lake.json").write_text("{}")
    assert find(deep) == LakeLocation(str(lake), "the nearest .lochan folder")
    (deep / ".lochan" / "lake.json").write_text("{}")
    assert find(deep).url == str(deep / ".lochan")


def test_a_folder_stands_for_the_lake_in_it(tmp_path: Path) -> None:
    inside = tmp_path / "project" / ".lochan"
    inside.mkdir(parents=True)
    project = Flag("--lake", "lake", str(inside.parent))
    assert find(tmp_path, project).url == str(inside.parent), "there is no lake yet"
    (inside / "lake.json").write_text("{}")
    assert find(tmp_path, project) == LakeLocation(str(inside), "--lake")
    (inside.parent / "src").mkdir()
    below = str(inside.parent / "src")
    assert find(tmp_path, Flag("--lake", "lake", below)).url == below, "what was named is not looked for upwards"
    (inside.parent / "lake.json").write_text("{}")
    assert find(tmp_path, project).url == str(inside.parent), "it is a lake itself"


@pytest.mark.parametrize(
    "place", ["/etc/passwd", "/no/such/folder", "a\0b", "x" * 5_000, "s3://bucket", "https://host"]
)
def test_a_place_that_holds_no_lake_stays_what_it_is(place: str) -> None:
    assert lake_in(LakeLocation(place, "--lake")).url == place


def test_at_last_the_users_own(tmp_path: Path) -> None:
    assert find(tmp_path) == LakeLocation("/home/ada/.local/share/lochan", "the user's data folder", by_default=True)
    assert find(tmp_path, env={"XDG_DATA_HOME": "/data"}).url == "/data/lochan"
    assert find(tmp_path, env={"XDG_DATA_HOME": "relative"}).url == "/home/ada/.local/share/lochan"


def test_the_cache() -> None:
    config = load(env={}, cwd=HOME, home=HOME)
    assert cache_folder(config, env={}, home=HOME) == HOME / ".cache" / "lochan"
    assert cache_folder(config, env={"XDG_CACHE_HOME": "/c"}, home=HOME) == Path("/c/lochan")
    config = load(env={"LOCHAN_CACHE__PATH": "/d"}, cwd=HOME, home=HOME)
    assert cache_folder(config, env={"XDG_CACHE_HOME": "/c"}, home=HOME) == Path("/d")


def file(at: Path) -> None:
    at.write_text("")


def loop(at: Path) -> None:
    at.symlink_to(at)


def mark_is_a_folder(at: Path) -> None:
    (at / "lake.json").mkdir(parents=True)


@pytest.mark.parametrize("make", [file, loop, mark_is_a_folder])
def test_what_cannot_be_looked_into_is_not_passed_over(make: Callable[[Path], None], tmp_path: Path) -> None:
    """The next candidate is a different lake: one further up, or the user's own."""
    (tmp_path / ".lochan").mkdir()
    (tmp_path / ".lochan" / "lake.json").write_text("")
    here = tmp_path / "here"
    here.mkdir()
    make(here / ".lochan")
    with pytest.raises(Refused, match=str(here / ".lochan")) as message:
        find(here)
    assert "--lake" in message.value.hint


def test_a_disk_that_fails_is_not_an_absent_lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stat(path: Path, **rest: object) -> os.stat_result:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Path, "stat", stat)
    with pytest.raises(Refused, match="Input/output error"):
        find(tmp_path)


def test_a_folder_of_somebody_else_is_not_an_absent_lake(tmp_path: Path) -> None:
    """As a user for whom permissions hold: in a child process if the test runs as root."""
    here = tmp_path / "here"
    (here / ".lochan").mkdir(parents=True)
    (here / ".lochan" / "lake.json").write_text("")
    (here / ".lochan").chmod(0)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.chdir(here)
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            nearest_folder(Path())
        except Refused:
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    (here / ".lochan").chmod(0o755)
    assert os.waitstatus_to_exitcode(status) == 0
