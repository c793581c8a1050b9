from __future__ import annotations

import pytest
from quorate.consensus.messages import Peer
from quorate.observe.failpoints import arm
from quorate.plugin.catalog import Catalog
from quorate.storage.data.home import MemoryHome
from quorate.testing.shard import MemoryShard

from tests.support.sim import facts
from tests.support.sim.history import History
from tests.support.sim.loop import ProcessEndedError

FACT = facts.Truncated("sample/0", Peer("n0", 1), 1)


class Opening:
    """Opens a replica of its own for what it judges."""

    name = "opening"
    judges = (facts.Truncated,)

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self.opened = 0

    def see(self, fact: facts.Fact) -> None:
        MemoryShard(self._catalog, "sample")
        self.opened += 1


def die() -> None:
    raise ProcessEndedError


def test_a_judge_that_comes_to_a_failpoint_ends_no_process(catalog: Catalog) -> None:
    first, second = Opening(catalog), Opening(catalog)
    history = History([first, second], lambda: None)

    with arm("pointer.written", die), arm("pointer.renamed", die):
        history.tell(FACT)
        history.tell(FACT)
        with pytest.raises(ProcessEndedError):
            MemoryHome().point(b"")

    assert (first.opened, second.opened) == (2, 2)
