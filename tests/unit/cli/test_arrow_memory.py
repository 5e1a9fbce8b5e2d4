"""A command takes Arrow's memory from the C library, and leaves no trace of that choice."""

import os
import subprocess
import sys

import pytest

from lochan.cli.arrow_memory import system_memory

VARIABLE = "ARROW_DEFAULT_MEMORY_POOL"


def test_the_choice_ends_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(KeyError), system_memory():
        assert os.environ[VARIABLE] == "system"
        raise KeyError
    assert VARIABLE not in os.environ


def test_what_the_user_has_chosen_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "mimalloc")
    with system_memory():
        assert os.environ[VARIABLE] == "mimalloc"
    assert os.environ[VARIABLE] == "mimalloc"


def test_arrow_follows_it() -> None:
    script = (
        "from lochan.cli.arrow_memory import system_memory\n"
        "with system_memory():\n"
        "    import pyarrow\n"
        "print(pyarrow.default_memory_pool().backend_name)"
    )
    env = {name: value for name, value in os.environ.items() if name != VARIABLE}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "system\n"
