"""A key is taken out of a stream, wherever the chunks are cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeai_engine.adapters.redaction import Credential, Redactor, read_credential

MARK = b"[redacted: NAME]"


def kept(key: str, *chunks: bytes) -> bytes:
    redactor = Redactor(Credential("NAME", key))
    return b"".join([*(redactor.feed(chunk) for chunk in chunks), redactor.finish()])


@given(st.text("ab", min_size=2, max_size=6), st.lists(st.text("ab")), st.data())
def test_where_the_chunks_are_cut_makes_no_difference(
    key: str, others: list[str], data: st.DataObject
) -> None:
    content = key.join(["c", *others, "c"]).encode()
    places = data.draw(st.lists(st.integers(0, len(content)), max_size=4).map(sorted))
    edges = [0, *places, len(content)]
    chunks = [content[a:b] for a, b in pairwise(edges)]
    assert kept(key, *chunks) == content.replace(key.encode(), MARK)


@given(st.binary())
def test_without_a_key_nothing_changes(content: bytes) -> None:
    redactor = Redactor(None)
    assert redactor.feed(content) + redactor.finish() == content
    assert redactor.text("value") == "value"


@pytest.mark.parametrize(
    ("end", "expected"), [(b"sec", MARK), (b"se", b"se"), (b"secre", MARK), (b"secret", MARK)]
)
def test_half_of_a_key_at_the_end_counts_as_the_key(end: bytes, expected: bytes) -> None:
    assert kept("secret", b"it is ", end) == b"it is " + expected


def test_only_the_name_of_a_credential_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAME", " secret\n")
    credential = read_credential("NAME")
    assert credential.value == "secret"  # a file's last line feed is no part of a key
    assert "secret" not in repr(credential)
    assert "NAME" in repr(credential)
