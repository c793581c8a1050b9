"""The vocabulary of the plugin: commands with their handlers, queries and timers."""

from __future__ import annotations

from typing import Any, Final

from quorate.plugin import Command, Query, Timer
from quorate.plugin.advanced import constant_key

from quorate_zookeeper.families import GROUP, LIVENESS, REAPING, session_key
from quorate_zookeeper.sessions import apply as sessions
from quorate_zookeeper.tree import apply as tree
from quorate_zookeeper.tree.browsing import get_znode, list_znodes
from quorate_zookeeper.tree.finding import count_tree, find
from quorate_zookeeper.v1 import commands_pb2 as pb, queries_pb2 as asked, tree_pb2
from quorate_zookeeper.wire import jute
from quorate_zookeeper.wire.codes import Op
from quorate_zookeeper.wire.requests import EVERYBODY

_CREATE: Final = jute.text("/a") + jute.buffer(b"1") + EVERYBODY + jute.int32(0)
_HANDLERS: Final[tuple[tuple[Any, Any, tuple[Any, ...]], ...]] = (
    (
        pb.Transact,
        tree.transact,
        (pb.Transact(session=1, connection=1, type=Op.CREATE, request=_CREATE),),
    ),
    (pb.Reap, tree.reap, (pb.Reap(keys=[b"/a"]),)),
    (pb.OpenSession, sessions.open_session, (pb.OpenSession(timeout_ms=4_000),)),
    (pb.AttachSession, sessions.attach_session, (pb.AttachSession(session=1, timeout_ms=9_000),)),
    (pb.CloseSession, sessions.close_session, (pb.CloseSession(session=1, connection=1),)),
    (
        pb.RenewSessions,
        sessions.renew_sessions,
        (pb.RenewSessions(sessions=[pb.Activity(session=1)]),),
    ),
    (pb.ExpireSessions, sessions.expire_sessions, (pb.ExpireSessions(keys=[session_key(1)]),)),
)

COMMANDS: Final = tuple(
    Command(message=message, group=GROUP, apply=apply, examples=examples, shard_key=constant_key)
    for message, apply, examples in _HANDLERS
)
QUERIES: Final[tuple[Query[Any], ...]] = (
    Query(message=asked.Find, group=GROUP, run=find, shard_key=constant_key),
    Query(message=asked.CountTree, group=GROUP, run=count_tree, shard_key=constant_key),
    Query(message=tree_pb2.GetZnode, group=GROUP, run=get_znode, shard_key=constant_key),
    Query(message=tree_pb2.ListZnodes, group=GROUP, run=list_znodes, shard_key=constant_key),
)
TIMERS: Final = (
    Timer(
        name=LIVENESS,
        group=GROUP,
        due=lambda keys: pb.ExpireSessions(keys=keys),
        batch=100,
        liveness=True,
    ),
    Timer(name=REAPING, group=GROUP, due=lambda keys: pb.Reap(keys=keys)),
)
