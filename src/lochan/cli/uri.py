"""What of `repo@ref/path` each verb wants (`lochan.api.uri`)."""

from collections.abc import Callable

from lochan.api.uri import HINT as _HINT
from lochan.api.uri import Uri as Uri
from lochan.api.uri import on_branch as on_branch
from lochan.api.uri import prefix_uri as prefix_uri
from lochan.api.uri import writable as writable
from lochan.errors import Invalid


def optional_uri(parse: Callable[[str], Uri], text: str | None) -> Uri | None:
    """What may be left out where a pool is in use."""
    return None if text is None else parse(text)


def object_uri(text: str) -> Uri:
    uri = prefix_uri(text)
    if not uri.path:
        raise Invalid(f"{text!r} names no object: the path is missing", hint=_HINT)
    return uri


def ref_uri(text: str) -> Uri:
    """Without a path."""
    uri = prefix_uri(text)
    if uri.path or ("/" in text and "://" not in text):
        raise Invalid(f"{text!r}: no path is wanted here", hint="give a repository and a ref, such as demo@main")
    return uri


def branch_uri(text: str) -> Uri:
    """A place to be changed, and so a branch itself, not something behind it; without a path."""
    return on_branch(ref_uri(text))


def named_uri(text: str) -> Uri:
    """A branch or a tag that is to be made or deleted: it must be said which."""
    uri = branch_uri(text)
    if not uri.ref:
        raise Invalid(f"{text!r}: the name behind the @ is missing", hint="such as demo@dev")
    return uri


def repository_uri(text: str) -> Uri:
    """The repository alone."""
    uri = ref_uri(text)
    if uri.ref:
        raise Invalid(f"{text!r}: only a repository is wanted here", hint=f"give {uri.repository}")
    return uri


def staged_uri(text: str) -> Uri:
    """What may hold changes that are not committed: a branch, or a workspace; without a path."""
    return writable(ref_uri(text))


def folder(path: str) -> str:
    """The prefix of everything in it; of an empty path, all there is."""
    return path if not path or path.endswith("/") else f"{path}/"


def last_name(path: str) -> str:
    return path.rpartition("/")[2]
