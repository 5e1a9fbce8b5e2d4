"""A policy of upkeep: what a file may say, and everything that can be wrong with one."""

from pathlib import Path

import pytest

from lochan.errors import Invalid, LochanError, NotFound, Refused
from lochan.pools.upkeep import STANDARD, UPKEEP, Policy, Rule, Upkeep
from lochan.pools.upkeep_file import read

WHOLE = """
every: 90s
defaults:
  branches: main
  compact: {overlapping: 3}
pools:
  logs-old: {compact: false}
  "logs-*":
    branches: [main, dev, main]
    compact:
      small: 20
      size: 64MiB
  quiet:
"""


def read_policy(folder: Path, text: str) -> Upkeep:
    (folder / "policy.yaml").write_text(text)
    return read(folder / "policy.yaml", "policy.yaml")


def test_rules_go_over_the_defaults_and_the_first_that_fits_counts(tmp_path: Path) -> None:
    upkeep = read_policy(tmp_path, WHOLE)
    assert upkeep.every_s == 90
    assert upkeep.rule("logs-old") == Rule(("main",), compact=False, overlapping_max=3)
    assert upkeep.rule("logs-new") == Rule(("main", "dev"), True, 3, 20, 64 << 20)
    assert upkeep.rule("logs-new").policy == Policy(3, 20)
    assert upkeep.rule("quiet") == upkeep.rule("anything") == upkeep.defaults == Rule(("main",), overlapping_max=3)


@pytest.mark.parametrize("text", ["", "# nothing\n", "every:\ndefaults:\npools:\n", "pools: {}\n"])
def test_a_policy_that_says_nothing_is_the_standard_one(tmp_path: Path, text: str) -> None:
    assert read_policy(tmp_path, text) == STANDARD
    assert STANDARD.rule("anything").policy == UPKEEP


def test_what_the_defaults_leave_alone_a_rule_may_take_up(tmp_path: Path) -> None:
    upkeep = read_policy(
        tmp_path, "defaults: {compact: no}\npools: {logs: {compact: {small: 2}}, more: {compact: yes}}"
    )
    assert [upkeep.rule(name).compact for name in ("logs", "more", "rest")] == [True, True, False]


@pytest.mark.parametrize(
    "text, kind, message",
    [
        ("defauls: {}", Invalid, "line 1: there is no 'defauls' in the policy; did you mean 'defaults'?"),
        ("pools:\n  logs:\n    compct: no", Invalid, "line 3: there is no 'compct' in pools.logs; did you mean"),
        ("defaults:\n  compact:\n    overlaping: 3", Invalid, "line 3: there is no 'overlaping' in defaults.compact"),
        ("defaults: {compact: {small: 0}}", Invalid, "defaults.compact.small is '0', which is not a number, 1 or more"),
        ("defaults: {compact: {small: [1]}}", Invalid, "defaults.compact.small is a list"),
        ("defaults: {compact: sometimes}", Invalid, "defaults.compact is 'sometimes', which is not true or false"),
        ("defaults: {compact: {size: big}}", Invalid, "defaults.compact.size is 'big', which is not a size"),
        ("defaults: {compact: {size: 0}}", Invalid, "defaults.compact.size is 0"),
        ("every: often", Invalid, "every is 'often', which is not a length of time"),
        ("every: 0s", Invalid, "every is '0s'"),
        ("every: -5m", Invalid, "every is '-5m'"),
        ("pools: [logs]", Invalid, "line 1: pools is a list, but should be made of"),
        ("- every", Invalid, "line 1: the policy is a list"),
        ("pools: {logs: {branches: []}}", Invalid, "pools.logs.branches names no branch"),
        ("pools: {logs: {branches: [a/b]}}", Invalid, "'a/b' cannot be a branch's"),
        ("pools: {logs: {branches: {a: b}}}", Invalid, "pools.logs.branches has a section in it"),
        ("pools:\n  logs: {}\n  logs: {}", Invalid, "line 3: 'logs' was already given in pools"),
        ("? [a]\n: b", Invalid, "a list cannot be a key"),
        ("every: 5m\n\tpools: {}", Invalid, "line 2: a tab"),
        ("vacuum: {older: 7d}", Refused, "line 1: vacuum is not implemented yet"),
        ("pools: {logs: {purge: yes}}", Refused, "purge is not implemented yet"),
        ("defaults: {index: [host]}", Refused, "index is not implemented yet"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, kind: type[LochanError], message: str) -> None:
    with pytest.raises(kind) as caught:
        read_policy(tmp_path, text)
    assert caught.value.message.startswith("policy.yaml, line ")
    assert message in caught.value.message


def test_there_is_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"nowhere\.yaml: there is no such policy file"):
        read(tmp_path / "nowhere.yaml", "nowhere.yaml")
