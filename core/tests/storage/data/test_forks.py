from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from quorate.consensus.journal import Position
from quorate.storage.data.shard_data import Fork, ShardData
from quorate.storage.engine.port import Batch, EngineError

if TYPE_CHECKING:
    from core.tests.storage.data.conftest import Homes, Written


@pytest.fixture
def data(homes: Homes, written: Written) -> ShardData:
    found = homes.open()
    written.apply(found, *range(1, 4))
    found.flush()
    return found


def begun(fork: Fork, data: ShardData) -> ShardData | None:
    return fork.begin(data.record)


def test_a_fork_takes_what_is_committed_before_and_after_it_is_opened(
    homes: Homes, written: Written, data: ShardData
) -> None:
    fork = data.follow(homes.home("other"))
    written.apply(data, 4)
    fork.open()
    written.apply(data, 5)
    fork.catch_up()
    written.apply(data, 6)

    other = begun(fork, data)
    assert other is not None
    assert (other.record, written.rows(other)) == (data.record, written.rows(data))
    # From here on each goes its own way, also after a restart.
    written.apply(data, 7)
    written.apply(other, 7, 8)
    other.close()
    again = homes.open("other")
    assert (again.applied, data.applied) == (8, 7)
    assert again.installed == Position(6, 1)


def test_a_fork_that_did_not_begin_leaves_its_home_to_the_next(
    homes: Homes, written: Written, data: ShardData
) -> None:
    fork = data.follow(homes.home("other"))
    fork.open()
    fork.catch_up()
    fork.close()
    written.apply(data, 4)

    assert homes.home("other").pointer() is None
    data.fork(homes.home("other"))
    assert homes.open("other").record == data.record


def ingested(_: Homes, data: ShardData) -> None:
    data.ingest({})


def installed(homes: Homes, data: ShardData) -> None:
    other = homes.open("third")
    other.commit(Batch(), replace(data.record, position=Position(9, 1)))
    checkpoint = other.checkpoint()
    manifest = checkpoint.manifest()
    incoming = data.incoming(manifest)
    for name, size, _ in manifest.files:
        incoming.write(name, 0, checkpoint.read(name, 0, size))
    incoming.finish()
    data.install(incoming)
    checkpoint.release()


@pytest.mark.parametrize("act", [ingested, installed])
def test_a_fork_that_lacks_something_does_not_begin(
    homes: Homes, data: ShardData, act: Callable[[Homes, ShardData], None]
) -> None:
    fork = data.follow(homes.home("other"))
    fork.open()
    fork.catch_up()

    act(homes, data)

    assert (fork.lost, fork.follows) == (True, False)
    assert begun(fork, data) is None
    assert homes.home("other").pointer() is None


def test_a_write_that_a_fork_cannot_take_is_one_that_its_data_has(
    homes: Homes, written: Written, data: ShardData, monkeypatch: pytest.MonkeyPatch
) -> None:
    fork = data.follow(homes.home("other"))
    fork.open()
    fork.catch_up()
    assert fork._data is not None

    def fails(*_: object) -> None:
        raise EngineError("no room")

    monkeypatch.setattr(fork._data.engine, "write", fails)
    written.apply(data, 4)

    assert data.applied == 4
    assert begun(fork, data) is None
