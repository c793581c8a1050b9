"""The handlers of the commands on sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from quorate.plugin import Rejected, Txn, keys
from quorate.plugin.advanced import still_due

from quorate_zookeeper.families import LIVENESS, SESSIONS, session_key
from quorate_zookeeper.tree.changing import ENOUGH_BYTES, Tree, paths_of
from quorate_zookeeper.v1 import commands_pb2 as pb, rows_pb2 as rows

#: The session has ended or expired.
SESSION_EXPIRED: Final = "SESSION_ENDED"
#: The session has moved to another connection.
SESSION_MOVED: Final = "SESSION_MOVED"
#: Ephemeral znodes deleted by one transaction, whose writes are bounded.
MOST_EPHEMERALS: Final = 10_000


def find_session(txn: Txn, number: int) -> rows.Session | None:
    """Return a session that has not ended, or None."""
    stored = txn.get(SESSIONS, session_key(number))
    session = None if stored is None else rows.Session.FromString(stored)
    return None if session is None or session.ending else session


def demand_connection(txn: Txn, session: int, connection: int) -> None:
    """Refuse a request of an ended session, or over a former connection of a session."""
    found = find_session(txn, session)
    if found is None:
        raise Rejected(SESSION_EXPIRED, f"session {session:#x} has ended")
    if found.connection != connection:
        raise Rejected(SESSION_MOVED, f"session {session:#x} has another connection")


def open_session(txn: Txn, command: pb.OpenSession) -> pb.SessionOpened:
    """Open a session; its id is the revision of this transaction."""
    session = rows.Session(
        timeout_ms=command.timeout_ms,
        password_sha256=command.password_sha256,
        connection=txn.revision,
    )
    _put(txn, txn.revision, session)
    return pb.SessionOpened(session=txn.revision, connection=txn.revision)


def attach_session(txn: Txn, command: pb.AttachSession) -> pb.SessionOpened:
    """Attach a session to another connection; its earlier connection can no longer write."""
    session = find_session(txn, command.session)
    if session is None or session.password_sha256 != command.password_sha256:
        return pb.SessionOpened()
    session.timeout_ms = command.timeout_ms
    session.connection = txn.revision
    _put(txn, command.session, session)
    moved = rows.Attachment(session=command.session, connection=txn.revision)
    Tree(txn).commit(attached=[moved])
    return pb.SessionOpened(session=command.session, connection=txn.revision)


def close_session(txn: Txn, command: pb.CloseSession) -> pb.Transacted:
    """End a session at the request of its client, with its ephemerals."""
    demand_connection(txn, command.session, command.connection)
    _end(txn, [command.session])
    return pb.Transacted(zxid=txn.revision)


def renew_sessions(txn: Txn, command: pb.RenewSessions) -> pb.SessionsRenewed:
    """Extend the deadlines of sessions to one timeout after the last request of their clients."""
    ended = []
    for each in command.sessions:
        session = find_session(txn, each.session)
        if session is None:
            ended.append(each.session)
            continue
        key = session_key(each.session)
        ends_at_ms = txn.proposed_at_ms - each.idle_ms + session.timeout_ms
        if ends_at_ms > (txn.deadline(LIVENESS, key) or 0):
            txn.schedule(LIVENESS, key, ends_at_ms, ttl_ms=session.timeout_ms)
    return pb.SessionsRenewed(ended=ended)


def expire_sessions(txn: Txn, command: pb.ExpireSessions) -> None:
    """End the sessions that were silent for their timeout, with their ephemerals."""
    due = [int(keys.unpack(key)[0]) for key in still_due(txn, LIVENESS, command.keys)]
    if due:
        _end(txn, due)


def _end(txn: Txn, sessions: Sequence[int]) -> None:
    """End sessions; later transactions delete the ephemerals beyond the limit of one."""
    tree, left = Tree(txn), MOST_EPHEMERALS
    for number in sessions:
        paths, removed = paths_of(txn, number, left + 1), 0
        while removed < min(left, len(paths)) and tree.changes_bytes < ENOUGH_BYTES:
            tree.remove(paths[removed])
            removed += 1
        key = session_key(number)
        if len(paths) > removed:
            session = rows.Session.FromString(txn.get(SESSIONS, key) or b"")
            session.ending = True
            txn.put(SESSIONS, key, session.SerializeToString())
            txn.schedule(LIVENESS, key, txn.proposed_at_ms + 1, ttl_ms=1)
        else:
            txn.delete(SESSIONS, key)
            txn.schedule(LIVENESS, key, None)
        left -= removed
    tree.commit(ended=sessions)


def _put(txn: Txn, number: int, session: rows.Session) -> None:
    key = session_key(number)
    txn.put(SESSIONS, key, session.SerializeToString())
    ends_at_ms = txn.proposed_at_ms + session.timeout_ms
    txn.schedule(LIVENESS, key, ends_at_ms, ttl_ms=session.timeout_ms)
