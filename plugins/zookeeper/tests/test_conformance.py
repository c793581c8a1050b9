from collections.abc import Sequence

from google.protobuf.message import Message
from quorate.testing import PluginConformance
from quorate_zookeeper.v1 import commands_pb2 as pb, queries_pb2 as asked
from quorate_zookeeper.wire import jute
from quorate_zookeeper.wire.codes import Op

from tests.support.zookeeper.peers import create, delete, multi, set_data

#: The session that the first entry of a log opens.
FIRST = 1 << 20


class TestZooKeeper(PluginConformance):
    plugin = "zookeeper"

    def log(self) -> Sequence[Message]:
        def transact(type_: int, request: bytes) -> pb.Transact:
            return pb.Transact(session=FIRST, connection=FIRST, type=type_, request=request)

        return [
            pb.OpenSession(timeout_ms=4_000, password_sha256=b"secret"),
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
            pb.AttachSession(session=FIRST, timeout_ms=4_000, password_sha256=b"wrong"),
            pb.RenewSessions(sessions=[pb.Activity(session=FIRST), pb.Activity(session=7)]),
            pb.CloseSession(session=FIRST, connection=FIRST),
        ]

    def queries(self) -> Sequence[Message]:
        return [
            *super().queries(),
            asked.Find(lookups=[asked.Lookup(type=Op.GET_CHILDREN2, path="/")]),
            asked.CountTree(),
        ]
