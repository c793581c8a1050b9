"""What a partition makes of the answers to its batches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Self

import pytest

pa = pytest.importorskip("pyarrow", reason='pip install "quorate-spark[testing]"')
pytest.importorskip("pyspark", reason='pip install "quorate-spark[testing]"')

from quorate.plugin.slots import SLOTS  # noqa: E402 - behind what may be missing
from quorate.v1.batch_pb2 import BatchReply, ItemRefusal  # noqa: E402
from quorate.v1.command_pb2 import CommandReply  # noqa: E402
from quorate_spark.source import sending  # noqa: E402
from quorate_spark.source.errors import SourceError  # noqa: E402
from quorate_spark.source.options import write_options  # noqa: E402
from quorate_spark.source.reporting import Sent  # noqa: E402
from quorate_spark.source.sending import send  # noqa: E402
from quorate_spark.source.shards import ShardPlan  # noqa: E402

Sending = Callable[[CommandReply], Sent]

PLAN = ShardPlan(group="metadata", holders=[0] * SLOTS, leaders={0: "a"})


class Cluster:
    """Gives every batch one answer; it is its client, its sessions and each of them, too."""

    def __init__(self, answer: CommandReply) -> None:
        self._answer = answer
        self.sessions = self

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def topology(self) -> None:
        pass

    async def open(self, *_: object) -> Cluster:
        return self

    async def execute(self, *_: object, **__: object) -> CommandReply:
        return self._answer


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sending:
    """Send two rows of one shard to a cluster that gives this answer."""

    def sent(answer: CommandReply) -> Sent:
        monkeypatch.setattr(sending, "async_client_of", lambda _: Cluster(answer))
        monkeypatch.setattr(sending, "plan_of", lambda *_: PLAN)
        column: Any = pa.array([b"a", b"b"], pa.binary())
        rows = pa.RecordBatch.from_arrays([column, column], names=["key", "value"])
        options = write_options({"table": "kv.pairs", "load_id": "today"})
        return asyncio.run(send(options, 3, iter([rows])))

    return sent


def test_rows_that_are_not_refused_are_loaded(sent: Sending) -> None:
    reply = BatchReply(items=2)

    assert sent(CommandReply(payload=reply.SerializeToString())).rows == 2


def test_a_row_that_is_refused_fails_the_partition(sent: Sending) -> None:
    reply = BatchReply(items=2, refusals=[ItemRefusal(item=1, code="FENCED", message="no")])

    with pytest.raises(SourceError, match="row 2: FENCED: no"):
        sent(CommandReply(payload=reply.SerializeToString()))


def test_an_answer_that_was_not_kept_is_never_taken_for_rows_that_are_loaded(
    sent: Sending,
) -> None:
    with pytest.raises(SourceError, match="batch 1 of partition 3 of load today"):
        sent(CommandReply(forgotten=True))
