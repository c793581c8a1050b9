from collections.abc import Sequence

from google.protobuf.message import Message
from quorate.testing import PluginConformance
from quorate_zookeeper.v1 import commands_pb2 as pb, queries_pb2 as asked
from quorate_zookeeper.wire import jute
from quorate_zookeeper.wire.codes import Op

from tests.support.zookeeper.peers import create, delete, multi, set_data

#: The sessions that the first entry of a log opens, and the first after the slots of a shard.
FIRST, UNDER_FAULTS = 1 << 20, 2 << 20
OPEN = pb.OpenSession(timeout_ms=4_000, password_sha256=b"secret")


class TestZooKeeper(PluginConformance):
    plugin = "zookeeper"

    def log(self) -> Sequence[Message]:
        return [OPEN, *self._said(FIRST)]

    def begun(self) -> Sequence[Message]:
        return [OPEN]

    def under_faults(self) -> Sequence[Message]:
        return self._said(UNDER_FAULTS)

    def _said(self, session: int) -> list[Message]:
        """Return what a session asks for, and the examples."""

        def transact(type_: int, request: bytes) -> pb.Transact:
            return pb.Transact(session=session, connection=session, type=type_, request=request)

        return [
            transact(Op.CREATE, create("/a")),
            transact(Op.CREATE, create("/a")),
            transact(Op.CREATE, create("/a/e-", flags=3)),
            transact(Op.CREATE_TTL, create("/t", flags=5) + jute.int64(1)),
            transact(Op.CREATE_CONTAINER, create("/c", flags=4)),
            transact(Op.SET_DATA, set_data("/a", b"1", 0)),
            transact(Op.MULTI, multi((Op.CHECK, delete("/a", 1)), (Op.CREATE, create("/b")))),
            transact(Op.MULTI, multi((Op.CHECK, delete("/a", 7)), (Op.CREATE, create("/d")))),
            transact(Op.SET_DATA, b"short"),
            transact(Op.DELETE, delete("/a")),
            *super().log(),
            pb.Reap(keys=[b"/t", b"/c"]),
            pb.AttachSession(session=session, timeout_ms=4_000, password_sha256=b"wrong"),
            pb.RenewSessions(sessions=[pb.Activity(session=session), pb.Activity(session=7)]),
            pb.CloseSession(session=session, connection=session),
        ]

    def queries(self) -> Sequence[Message]:
        return [
            *super().queries(),
            asked.Find(lookups=[asked.Lookup(type=Op.GET_CHILDREN2, path="/")]),
            asked.CountTree(),
        ]
