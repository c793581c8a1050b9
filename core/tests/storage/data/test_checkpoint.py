from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from quorate.storage.data.checkpoint import Manifest, SnapshotFile
from quorate.storage.data.record import EMPTY
from quorate.storage.engine.port import DamagedError

if TYPE_CHECKING:
    from core.tests.storage.data.conftest import Homes, Written


def test_a_checkpoint_is_of_its_moment_and_takes_room_until_it_is_released(
    homes: Homes, written: Written
) -> None:
    data = homes.open()
    written.apply(data, *range(1, 20))
    digest = written.digest(data)
    data.flush()
    checkpoint = data.checkpoint()
    written.apply(data, *range(20, 30))

    manifest = checkpoint.manifest()

    assert manifest.record == checkpoint.record
    assert checkpoint.record.position.index == 19
    assert manifest.files == tuple(sorted(manifest.files))
    assert "checkpoint.1" in homes.home().folders()
    other = homes.open("other")
    incoming = written.send(checkpoint, other)
    checkpoint.release()
    checkpoint.release()
    assert homes.home().folders() == ("data.1",)
    incoming.finish()
    other.install(incoming)
    assert written.digest(other) == digest


@pytest.mark.parametrize("part", [1, 13, 1 << 20])
def test_parts_of_any_size_make_the_same_files(homes: Homes, written: Written, part: int) -> None:
    data, other = homes.open(), homes.open("other")
    written.apply(data, *range(1, 4))
    data.flush()
    incoming = written.send(data.checkpoint(), other, part)

    incoming.finish()

    other.install(incoming)
    assert written.rows(other) == [1, 2, 3]


def test_a_transfer_that_was_cut_is_not_finished(homes: Homes, written: Written) -> None:
    data, other = homes.open(), homes.open("other")
    written.apply(data, 1)
    data.flush()
    checkpoint = data.checkpoint()
    manifest = checkpoint.manifest()
    for cut in [place for place, file in enumerate(manifest.files) if file.size > 0]:
        incoming = other.incoming(manifest)
        for place, (name, size, _) in enumerate(manifest.files):
            length = size if place != cut else size - 1
            if length > 0:
                incoming.write(name, 0, checkpoint.read(name, 0, length))

        with pytest.raises(DamagedError, match=r"index 1 was received damaged.*ask for another"):
            incoming.finish()
        with pytest.raises(ValueError, match="not finished"):
            other.install(incoming)

        incoming.discard()
        incoming.discard()
        assert other.applied == 0
    assert "data.2" not in homes.home("other").folders()


def test_a_file_that_never_came_is_missed(homes: Homes, written: Written) -> None:
    data, other = homes.open(), homes.open("other")
    written.apply(data, 1)
    data.flush()
    incoming = other.incoming(data.checkpoint().manifest())

    with pytest.raises(DamagedError, match="received damaged"):
        incoming.finish()

    incoming.discard()


def test_a_flipped_bit_is_found(homes: Homes, written: Written) -> None:
    data, other = homes.open(), homes.open("other")
    written.apply(data, 1)
    data.flush()
    checkpoint = data.checkpoint()
    manifest = checkpoint.manifest()
    for spoilt in manifest.files:
        if spoilt.size == 0:
            continue
        incoming = other.incoming(manifest)
        for name, size, _ in manifest.files:
            content = bytearray(checkpoint.read(name, 0, size))
            if name == spoilt.name:
                content[size // 2] ^= 4
            incoming.write(name, 0, bytes(content))

        with pytest.raises(DamagedError, match=spoilt.name):
            incoming.finish()
        incoming.discard()


def test_parts_that_do_not_follow_are_refused(homes: Homes) -> None:
    incoming = homes.open().incoming(Manifest(EMPTY, (SnapshotFile("rows", 4, 0),)))
    incoming.write("rows", 0, b"ab")

    for name, offset, content in [
        ("rows", 0, b"a"),
        ("rows", 3, b"a"),
        ("rows", 2, b"abc"),
        ("other", 0, b"a"),
    ]:
        with pytest.raises(DamagedError, match="does not belong"):
            incoming.write(name, offset, content)


@pytest.mark.parametrize("name", ["", ".", "..", "../rows", "a/b", "/rows", "a\x00b"])
def test_a_name_that_leads_elsewhere_is_refused(homes: Homes, name: str) -> None:
    with pytest.raises(DamagedError, match="manifest"):
        homes.open().incoming(Manifest(EMPTY, (SnapshotFile(name, 1, 0),)))

    assert homes.home().folders() == ("data.1",)


def test_a_record_that_is_not_the_one_promised_is_found(homes: Homes, written: Written) -> None:
    data, other = homes.open(), homes.open("other")
    written.apply(data, 1)
    data.flush()
    checkpoint = data.checkpoint()
    manifest = checkpoint.manifest()
    incoming = other.incoming(replace(manifest, record=replace(manifest.record, generation=9)))
    for name, size, _ in manifest.files:
        incoming.write(name, 0, checkpoint.read(name, 0, size))

    with pytest.raises(DamagedError, match="its applied record"):
        incoming.finish()

    incoming.discard()
