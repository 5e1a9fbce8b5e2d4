"""Requests to a repository, as values. The model predicts their effect, and `verbs.py` carries them out on a lake."""

from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

DEFAULT = "main"
NAMES = ("main", "dev", "other")
PATHS = ("a", "a/b", "a/c", "b", "ü/x", "z")
PREFIXES = ("", "a", "a/", "ü/")
FOLDERS = {  # outside the lake; never the bytes of anything that is put, for what is known of them is less
    "s3://out/one/": {"x": "outside 1x", "y/z": "outside 1yz"},
    "s3://out/two/": {"x": "outside 2x", "y/w": "outside 2yw"},
}


class Request(NamedTuple):
    verb: str
    words: tuple[object, ...]

    def __repr__(self) -> str:
        return f"{self.verb}{self.words}"


def draw(random: Random, works: Callable[[Request], bool]) -> Request:
    """Mostly a request that has some effect, because refusals are soon covered. All choices are equally likely here;
    Hypothesis would repeat what it has found until a workload hardly progresses."""
    request = _any(random)
    for _ in range(_TRIES if random.random() < _SENSIBLE else 0):
        if works(request):
            break
        request = _any(random)
    return request


def _any(random: Random) -> Request:
    verb = random.choice(_CHOICE)
    return Request(verb, tuple(word(random) for word in _VERBS[verb]))


Word = Callable[[Random], object]
_TRIES = 24
_SENSIBLE = 0.9


def _one_of(options: Sequence[object]) -> Word:
    return lambda random: random.choice(options)


def _dictionary(values: Sequence[str | None]) -> Word:
    return lambda random: {path: random.choice(values) for path in random.sample(PATHS, random.randint(1, 3))}


_branch = _one_of(NAMES)
_ref = _one_of([*NAMES, "v1", "main~1", "dev~1"])
_path, _prefix = _one_of(PATHS), _one_of(PREFIXES)
_data = _one_of(["0", "1", "22"])
_flag = _one_of([False, True])
_PATTERNS = [(), (), ("a/**",), ("?",), ("b", "z")]
_first = _one_of([None, None, *_PATTERNS])  # what is committed first
_to = _one_of(["c/", "a/"])
_pattern = _one_of(["dev", "o*"])
_blocked = _one_of([("stage",), ("commit",), ("rewrite",), ("stage", "commit", "rewrite")])
_strategy = _one_of(["default", "default", "source-wins", "dest-wins"])

_VERBS: dict[str, tuple[Word, ...]] = {
    "put": (_branch, _path, _data),
    "link": (_branch, _path, _data),
    "put_many": (_branch, _dictionary(["0", "1", "22"])),
    "put_runs": (_branch, _dictionary(["0", "1", None])),
    "delete": (_branch, lambda random: tuple(random.sample(PATHS, random.randint(1, 3)))),
    "delete_folder": (_branch, _prefix),
    "copy": (_ref, _path, _branch, _path),
    "copy_folder": (_ref, _prefix, _branch, _to),
    "move": (_branch, _path, _path),
    "move_folder": (_branch, _prefix, _to),
    "commit": (_branch, _one_of(_PATTERNS), _one_of([False, False, True])),
    "create_branch": (_one_of(NAMES[1:]), _ref),
    "delete_branch": (_branch,),
    "restore_branch": (_branch,),
    "rename_branch": (_branch, _one_of(NAMES[1:])),
    "create_tag": (_one_of(["v1", "other"]), _ref),
    "delete_tag": (_one_of(["v1", "other"]),),
    "reset_staged": (_branch,),
    "unstage": (_branch, lambda random: tuple(random.sample(PATHS, random.randint(0, 2))), _one_of([None, *PREFIXES])),
    "hard_reset": (_branch, _ref),
    "merge": (_ref, _branch, _strategy, _one_of([False, False, True]), _flag, _first),
    "revert": (_branch, _ref, _first),
    "cherry_pick": (_branch, _ref, _first),
    "rebase": (_branch, _ref),
    "bring_in": (_branch, _one_of(sorted(FOLDERS)), _one_of(["", "a/"]), _flag),
    "open_workspace": (_branch,),
    "put_workspace": (_path, _data),
    "delete_workspace": (_path,),
    "commit_workspace": (),
    "drop_workspace": (),
    "push": (_branch,),
    "pop": (_branch, _one_of(["", *NAMES])),
    "drop": (_branch,),
    "protect": (_pattern, _blocked),
    "unprotect": (_pattern,),
    "set_read_only": (_one_of([False, False, True]),),
    "compact": (_branch,),
}
_OFTEN = {
    "put": 6,
    "put_runs": 3,
    "delete": 3,
    "compact": 3,
    "commit": 8,
    "merge": 8,
    "revert": 3,
    "rebase": 2,
    "pop": 3,
    "put_workspace": 4,
    "commit_workspace": 3,
    "protect": 1,
    "set_read_only": 1,
    "drop_workspace": 1,
}
_CHOICE = [verb for verb in _VERBS for _ in range(_OFTEN.get(verb, 2))]
