"""Identifies a process by the parts of its environment that cannot be handed to another one. If two processes differ in
this, the companion runs nothing for that front."""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# Python, the dynamic linker and some libraries read these once, when they start or are imported.
_READ_ONCE = (b"ARROW_", b"GLIBC_", b"LD_", b"MALLOC_", b"MIMALLOC_", b"OMP_", b"POLARS_", b"PYTHON", b"RAYON_")
_NAMESPACES = ("mnt", "net", "pid", "user", "uts")
_CONFINED_BY = (b"Cap", b"NoNewPrivs", b"Seccomp")  # lines of /proc/self/status


def identity(env: "Mapping[bytes, bytes]") -> tuple[object, ...]:
    """Returns the user and groups, and their restrictions; the root folder and namespaces, since containers have their
    own; and the variables that matter at the start."""
    root = os.stat("/")  # noqa: PTH116 - pathlib takes longer to import than all of the front
    return (
        os.getresuid(),
        os.getresgid(),
        tuple(sorted(os.getgroups())),
        (root.st_dev, root.st_ino),
        tuple(map(_namespace, _NAMESPACES)),
        _confinement(),
        tuple(sorted((name, value) for name, value in env.items() if name.startswith(_READ_ONCE))),
    )


def _namespace(name: str) -> str:
    try:
        return os.readlink(f"/proc/self/ns/{name}")  # noqa: PTH115
    except OSError:
        return ""


def _confinement() -> tuple[bytes, ...]:
    """Returns the restrictions of a sandbox: capabilities, and whether system calls are filtered. A confined process
    must not have another process do what it may not do itself."""
    return (*(line for line in _read("status").splitlines() if line.startswith(_CONFINED_BY)), _read("attr/current"))


def _read(name: str) -> bytes:
    """Reads a file of /proc/self at once, because a file object takes longer than this whole module."""
    try:
        file = os.open(f"/proc/self/{name}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(file, 1 << 16)
    except OSError:  # this kernel has no such file
        return b""
    finally:
        os.close(file)
