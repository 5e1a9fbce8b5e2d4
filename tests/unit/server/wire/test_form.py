"""Forms of a browser: fields and a file, however they are cut, within their limits."""

import tracemalloc
from collections.abc import Sequence
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.form import FormReader

BOUNDARY = "----WebKitFormBoundary7MA4YWxk"
TYPE = f"multipart/form-data; boundary={BOUNDARY}"


def field(name: str, value: str) -> bytes:
    return f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()


def file(data: bytes, filename: str = "cat.png") -> bytes:
    head = f'Content-Disposition: form-data; name="file"; filename="{filename}"\r\nContent-Type: image/png\r\n\r\n'
    return f"--{BOUNDARY}\r\n{head}".encode() + data + b"\r\n"


END = f"--{BOUNDARY}--\r\n".encode()
FORM = (
    field("key", "user/${filename}")
    + field("empty", "")
    + file(b"meow\r\n--not the end\r\n")
    + field("submit", "x")
    + END
)


def play(data: bytes, step: int = 1 << 20, content_type: str = TYPE) -> tuple[FormReader, bytes]:
    reader = FormReader(content_type)
    found = b"".join(piece for at in range(0, len(data), step) for piece in reader.feed(data[at : at + step]))
    reader.finish()
    return reader, found


def refused(data: bytes, content_type: str = TYPE) -> str:
    with pytest.raises(S3Error) as caught:
        play(data, content_type=content_type)
    return caught.value.code


@pytest.mark.parametrize("step", [1, 2, 3, 17, 100, 1 << 20])
def test_a_form_is_read_however_it_is_cut(step: int) -> None:
    reader, found = play(FORM, step)
    assert found == b"meow\r\n--not the end\r\n"
    assert reader.fields == [("key", "user/${filename}"), ("empty", "")]
    assert (reader.filename, reader.file_type) == ("cat.png", "image/png")


def test_the_fields_are_complete_before_the_file_comes() -> None:
    reader = FormReader(TYPE)
    for _ in reader.feed(FORM):
        assert len(reader.fields) == 2
        break


@given(
    data=st.binary(max_size=300),
    cuts=st.lists(st.integers(1, 50), min_size=1),
    value=st.text(st.characters(codec="utf-8")),
)
def test_whatever_the_file_and_the_cuts(data: bytes, cuts: Sequence[int], value: str) -> None:
    form = field("key", value) + file(data) + END
    reader, found, at, turn = FormReader(TYPE), b"", 0, 0
    while at < len(form):
        found += b"".join(reader.feed(form[at : at + cuts[turn % len(cuts)]]))
        at, turn = at + cuts[turn % len(cuts)], turn + 1
    reader.finish()
    assert (found, reader.fields) == (data, [("key", value)])


def test_a_file_may_be_empty_and_a_boundary_quoted() -> None:
    assert play(field("key", "k") + file(b"") + END)[1] == b""
    assert play(FORM, content_type=f'Multipart/Form-Data; charset=utf-8; boundary="{BOUNDARY}"')[1].startswith(b"meow")
    assert play(b"a preamble\r\n" + FORM)[0].fields[0][0] == "key"


def test_a_file_without_its_end_is_none() -> None:
    whole = field("key", "k") + file(b"meow" * 100) + END
    for cut in range(len(END), len(whole)):
        assert refused(whole[:-cut]) == "IncompleteBody"


@pytest.mark.parametrize(
    "data, code",
    [
        (field("key", "k") + END, "InvalidArgument"),
        (END, "InvalidArgument"),
        (b"", "IncompleteBody"),
        (b"nothing of the kind", "IncompleteBody"),
        (FORM.replace(b'; name="key"', b""), "MalformedPOSTRequest"),
        (f"--{BOUNDARY}\r\n\r\nvalue\r\n".encode() + END, "MalformedPOSTRequest"),
        (f"--{BOUNDARY}more\r\n".encode() + FORM, "MalformedPOSTRequest"),
        (field("key", "?").replace(b"?", b"\xff") + END, "MalformedPOSTRequest"),
        (b"".join(field(f"f{number}", "v") for number in range(101)) + FORM, "MalformedPOSTRequest"),
        (field("key", "k" * 30_000) + FORM, "MaxPostPreDataLengthExceededError"),
        (field("key", "k" * 15_000) * 2 + FORM, "MaxPostPreDataLengthExceededError"),
        (b"x" * 30_000 + FORM, "MaxPostPreDataLengthExceededError"),
    ],
)
def test_invalid_forms(data: bytes, code: str) -> None:
    assert refused(data) == code


@pytest.mark.parametrize(
    "content_type",
    ["", "text/plain", "multipart/form-data", "multipart/form-data; boundary=", "application/x; boundary=a"],
)
def test_invalid_types_of_a_form(content_type: str) -> None:
    assert refused(FORM, content_type) == "MalformedPOSTRequest"


def test_a_large_file_takes_little_memory_and_time() -> None:
    reader = FormReader(TYPE)
    tracemalloc.start()
    started, size = perf_counter(), 0
    list(reader.feed(field("key", "k") + file(b"")[:-2]))
    block = (b"\r\n--" + BOUNDARY.encode()[:-1]) * 2000
    for _ in range(300):
        size += sum(map(len, reader.feed(block)))
    spent, peak = perf_counter() - started, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert size > 300 * len(block) - 100
    assert peak < 2_000_000 and spent < 10
    with pytest.raises(S3Error):
        reader.finish()
