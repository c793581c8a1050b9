"""Watches made by hand, each of which breaks one property."""

from __future__ import annotations

import pytest

from tests.support.watch_properties import Change, Listed, Part, Response, Write, judge

WRITES = (
    Write(rows={b"a/1": b"x", b"b/1": b"x"}, revision=10),
    Write(rows={b"a/1": b"y"}, revision=20),
    Write(rows={b"a/1": None}, revision=30),
    Write(rows={b"a/2": b"z"}, revision=40),
    Write(rows={b"a/3": b"lost"}),
)

A1 = Change(revision=10, key=b"a/1", value=b"x", created=True)
B1 = Change(revision=10, key=b"b/1", value=b"x", created=True)
Y = Change(revision=20, key=b"a/1", value=b"y", created=False, previous=b"x")
GONE = Change(revision=30, key=b"a/1", value=None, previous=b"y")
Z = Change(revision=40, key=b"a/2", value=b"z", created=True)


def given(*changes: Change, position: int | None = None) -> Response:
    last = max((change.revision for change in changes), default=0)
    return Response(changes=changes, position=last if position is None else position)


def part(*responses: Response, begun_at: int | None = 0, prefix: bytes = b"") -> Part:
    return Part(begun_at=begun_at, prefix=prefix, responses=list(responses))


def listed(*rows: Listed, at: int, then: tuple[Response, ...] = ()) -> Part:
    return Part(begun_at=None, rows=rows, responses=[Response(position=at), *then])


WHOLE = part(given(A1, B1), given(Y), given(GONE, Z))

SOUND = {
    "everything": [WHOLE],
    "nothing yet": [part(), Part(begun_at=None)],
    "in two parts": [part(given(A1, B1), given(Y)), part(given(GONE), given(Z), begun_at=20)],
    "a prefix and a bookmark": [WHOLE, part(given(B1), given(position=40), prefix=b"b/")],
    "bookmarks": [WHOLE, part(given(position=10), given(position=40), prefix=b"nothing")],
    "rows, then changes": [
        WHOLE,
        listed(
            Listed(revision=20, key=b"a/1", value=b"y"),
            Listed(revision=10, key=b"b/1", value=b"x"),
            at=20,
            then=(given(GONE), given(Z)),
        ),
    ],
    "a write of unknown outcome": [
        part(given(Z), given(Change(revision=50, key=b"a/3", value=b"lost")), begun_at=30)
    ],
}


@pytest.mark.parametrize("name", SOUND)
def test_what_is_as_promised_is_accepted(name: str) -> None:
    previous = name != "a write of unknown outcome"
    assert judge(SOUND[name], WRITES, keeps_previous=previous) == []


BROKEN = {
    "ordered": [part(given(A1, B1), given(GONE), given(Y), given(Z))],
    "unique": [part(given(A1, B1), given(Y, Y), given(GONE), given(Z))],
    "atomic": [part(given(A1, position=9), given(B1), given(Y), given(GONE), given(Z))],
    "reliable": [part(given(A1, B1), given(GONE), given(Z))],
    "resumable": [
        WHOLE,
        part(given(Change(revision=40, key=b"a/2", value=b"z", created=False)), begun_at=30),
    ],
    "bookmarkable": [part(given(A1, B1, position=20), given(Y), given(GONE), given(Z))],
    "filtered": [WHOLE, part(given(A1, B1), given(Y), given(GONE), given(Z), prefix=b"a/")],
    "previous value": [
        part(
            given(A1, B1),
            given(Change(revision=20, key=b"a/1", value=b"y", created=False, previous=b"w")),
            given(GONE, Z),
        )
    ],
    "created and updated told apart": [
        part(
            given(A1, B1),
            given(Change(revision=20, key=b"a/1", value=b"y", created=True, previous=b"x")),
            given(GONE, Z),
        )
    ],
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_named(name: str) -> None:
    assert name in {breach.name for breach in judge(BROKEN[name], WRITES, keeps_previous=True)}


UNRELIABLE = {
    "the last change is missing": [part(given(A1, B1), given(Y), given(GONE, position=40))],
    "the value differs": [
        part(given(A1, B1), given(Change(revision=20, key=b"a/1", value=b"x")), given(GONE, Z))
    ],
    "nobody wrote it": [part(given(Change(revision=50, key=b"a/3", value=b"!")), begun_at=40)],
    "a row is missing in the list": [WHOLE, listed(at=40)],
    "a row of the list is old": [
        WHOLE,
        listed(
            Listed(revision=10, key=b"a/1", value=b"x"),
            Listed(revision=10, key=b"b/1", value=b"x"),
            at=20,
        ),
    ],
}


@pytest.mark.parametrize("name", UNRELIABLE)
def test_whatever_is_left_out_or_made_up_is_unreliable(name: str) -> None:
    assert "reliable" in {breach.name for breach in judge(UNRELIABLE[name], WRITES)}


def test_a_token_behind_changes_that_come_later_is_no_bookmark() -> None:
    early = part(given(A1, B1, position=5), given(Y), given(GONE, Z))
    assert "bookmarkable" in {breach.name for breach in judge([early], WRITES)}
