from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from quorate.consensus.journal import Position
from quorate.storage.data.record import EMPTY
from quorate.storage.engine.port import Batch

if TYPE_CHECKING:
    from core.tests.storage.data.conftest import Homes, Written


def test_it_does_not_depend_on_how_it_is_sliced_or_on_what_was_deleted(
    homes: Homes, written: Written
) -> None:
    one, two = homes.open("one"), homes.open("two")
    written.apply(one, *range(1, 40))
    written.apply(two, 39)
    batch = Batch()
    for index in range(30, 40):
        batch.put("rows", b"%06d" % index, b"value of %d" % index)
    two.commit(batch, two.record)

    digests = {written.digest(one, size) for size in (1, 2, 3, 1_000)}

    assert digests == {written.digest(two)}


@pytest.mark.parametrize(
    ("family", "key", "value"),
    [("rows", b"k", b"other"), ("rows", b"kv", b""), ("other", b"k", b"v"), ("rows", b"l", b"v")],
)
def test_it_tells_states_apart(homes: Homes, family: str, key: bytes, value: bytes) -> None:
    digests = set()
    for name, row in [("one", ("rows", b"k", b"v")), ("two", (family, key, value))]:
        data = homes.open(name, ("rows", "other"))
        batch = Batch()
        batch.put(*row)
        data.commit(batch, replace(EMPTY, position=Position(1, 1)))
        digest = data.digest()
        while not digest.step():
            pass
        digests.add(digest.hexdigest())

    assert len(digests) == 2


def test_the_record_belongs_to_it(homes: Homes, written: Written) -> None:
    one, two = homes.open("one"), homes.open("two")
    one.commit(Batch(), replace(EMPTY, checksum=1))
    two.commit(Batch(), replace(EMPTY, checksum=2))

    assert written.digest(one) != written.digest(two)


def test_a_family_without_rows_counts_for_nothing(homes: Homes, written: Written) -> None:
    one = homes.open("one", ("rows",))
    two = homes.open("two", ("rows", "another", "zoo"))
    written.apply(one, 1, 2)
    written.apply(two, 1, 2)

    assert written.digest(one) == written.digest(two)


def test_it_is_of_the_moment_at_which_it_was_begun(homes: Homes, written: Written) -> None:
    data = homes.open(families=("a", "z"))
    written.apply(data, 1, 2, family="a")
    written.apply(data, 3, family="z")
    before = written.digest(data)
    digest = data.digest()
    assert not digest.step(1)
    with pytest.raises(ValueError, match="incomplete"):
        digest.hexdigest()
    written.apply(data, 4, family="z")

    while not digest.step(1):
        pass

    assert digest.hexdigest() == before
    assert digest.position == Position(3, 1)
    assert written.digest(data) != before
