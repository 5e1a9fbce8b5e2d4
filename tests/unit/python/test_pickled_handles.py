"""A handle can be sent to another process: it takes its names and what opens its lake with it."""

import multiprocessing
import os
import pickle
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

import lochan
from lochan.api import blocking
from lochan.api.handles import Blocking

pytestmark = pytest.mark.thorough


def nouns(lake: lochan.Lake) -> dict[str, Blocking[object]]:
    repo, main = lake.repository("shop"), lake.repository("shop").branch("main")
    every: list[Blocking[object]] = [
        lake,
        repo,
        lake.pool("logs"),
        repo.ref("main~1"),
        main,
        main.workspace("a note"),
        repo.gc,
        repo.storage,
        lake.deleted,
        lake.access,
        lake.checkout("a/folder"),
        repo.pull("7"),
    ]
    if not lake.url.startswith("http"):  # a server has these not
        every += [main.create_upload("big.bin"), lake.frames]
    return {type(each).__name__: each for each in every}


def test_every_noun_is_pickled(lake: lochan.Lake, shop: lochan.Repository) -> None:
    found = nouns(lake)
    of_a_moment = {"OpenObject", "RefSnapshot", "BlockingFrameWrite"}
    if lake.url.startswith("http"):
        of_a_moment |= {"Upload", "BlockingFrames"}
    classes = {name for name, each in vars(blocking).items() if isinstance(each, type) and issubclass(each, Blocking)}
    assert {each for each in classes if not each.startswith("_")} - {"Blocking"} - of_a_moment == set(found)
    for name, handle in found.items():
        arrived = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(handle))))
        assert type(arrived) is type(handle), name
        if name != "BlockingFrames":
            assert repr(arrived) == repr(handle)


def test_what_arrives_works_like_what_was_sent(lake: lochan.Lake, shop: lochan.Repository) -> None:
    found = {name: pickle.loads(pickle.dumps(each)) for name, each in nouns(lake).items()}
    assert [each.name for each in found["Lake"].repositories()] == ["shop"]
    assert found["Branch"].read("README.md") == b"# Shop\n"
    assert found["Ref"].resolve().message == "Repository created"
    found["Workspace"].put("new.txt", b"new")
    assert found["Workspace"].commit("by another handle").message == "by another handle"
    assert "Upload" not in found or found["Upload"].show().path == "big.bin"
    assert shop.branch("main").read("new.txt") == b"new"
    assert found["Branch"].transaction("x") is not None
    assert found["Lake"].repository("shop").branch("main").resolve().author in (
        "ann",
        shop.branch("main").resolve().author,
    )


def test_nothing_is_opened_before_it_is_needed(shop: lochan.Repository, place: Path, tmp_path: Path) -> None:
    sent = pickle.dumps(shop.branch("main"))
    (tmp_path / "lake").rename(tmp_path / "away")
    arrived = pickle.loads(sent)
    with pytest.raises(lochan.LochanError, match="no lake at"):
        arrived.read("README.md")
    (tmp_path / "away").rename(tmp_path / "lake")
    assert arrived.read("README.md") == b"# Shop\n"


def test_what_is_of_one_moment_is_not_pickled(shop: lochan.Repository) -> None:
    with pytest.raises(TypeError, match="of one moment"):
        pickle.dumps(shop.branch("main").open("README.md"))


def read_readme(branch: lochan.Branch) -> tuple[int, bytes]:
    return os.getpid(), branch.read("README.md")


@pytest.mark.parametrize("method", ["spawn", pytest.param("forkserver", marks=pytest.mark.thorough)])
def test_a_pool_of_processes_reads_by_one_handle(
    shop: lochan.Repository, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")  # the place was given from another folder, perhaps
    with ProcessPoolExecutor(1, multiprocessing.get_context(method)) as workers:
        (first, second) = workers.map(read_readme, [shop.branch("main"), shop.branch("main")])
    assert first == second and first[0] != os.getpid()


def test_a_relative_place_is_the_same_from_another_folder(
    place: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(place.parent)
    with lochan.connect("lake") as lake:
        sent = pickle.dumps(lake)
    monkeypatch.chdir("/")
    assert list(pickle.loads(sent).repositories()) == []


def test_errors_are_pickled_whole() -> None:
    from lochan.errors import PathsInTheWay

    sent = PathsInTheWay("in the way", paths=["a", "b"], count=7, hint="do this")
    arrived = pickle.loads(pickle.dumps(sent))
    assert (arrived.paths, arrived.count, arrived.hint, str(arrived)) == (("a", "b"), 7, "do this", str(sent))
    lost = pickle.loads(pickle.dumps(lochan.errors.NotFound("gone").named("x", lambda: ["y"])))
    assert lost.name == "x" and lost.among is None
