from collections.abc import Sequence
from typing import Any

from google.protobuf.message import Message
from quorate.testing import PluginConformance
from quorate_zookeeper.v1 import commands_pb2 as pb, queries_pb2 as asked, rows_pb2 as rows
from quorate_zookeeper.wire.codes import Op

#: The session that the first entry of a log opens.
FIRST = 1 << 20
OPEN = rows.Acl(perms=31, scheme="world", id="anyone")


class TestZooKeeper(PluginConformance):
    plugin = "zookeeper"

    def log(self) -> Sequence[Message]:
        def transact(type_: int, path: str, **fields: Any) -> pb.Transact:
            operation = pb.Operation(type=type_, path=path, acl=[OPEN], **fields)
            return pb.Transact(session=FIRST, connection=FIRST, operations=[operation])

        return [
            pb.OpenSession(timeout_ms=4_000, password_sha256=b"secret"),
            transact(Op.CREATE, "/a"),
            transact(Op.CREATE, "/a"),
            transact(Op.CREATE, "/a/e-", flags=3),
            transact(Op.CREATE_TTL, "/t", flags=5, ttl_ms=1),
            transact(Op.CREATE_CONTAINER, "/c"),
            transact(Op.SET_DATA, "/a", version=0),
            transact(Op.DELETE, "/a", version=-1),
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
