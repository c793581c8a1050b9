"""Exactly-once sessions and fences of a shard."""

from quorate.apply import fences, sessions
from quorate.apply.control import ControlledShard
from quorate.apply.txn import ShardTxn
from quorate.plugin import Rejected
from quorate.shards.topology_rows import INVALID
from quorate.v1 import control_pb2 as pb


def open_session(
    txn: ShardTxn, command: pb.OpenSession, shard: ControlledShard
) -> pb.OpenSessionReply:
    """Open a session, or return the one of that name."""
    if not command.name and command.ttl_ms < 1:
        raise Rejected(INVALID, "a session without a name needs a ttl_ms of at least 1")
    session = sessions.open_session(
        txn.layer,
        sessions.number_at(txn.revision, shard.id.number),
        command.name.encode(),
        command.ttl_ms,
        txn.now_ms,
        command.owner,
        most=command.most,
        any_owner=command.any,
    )
    found = sessions.find(txn.layer, session)
    if found is not None:
        state = shard.state
        state.sessions_ms = min(state.sessions_ms, found.expires_ms)
    return pb.OpenSessionReply(session=session)


def seal_session(
    txn: ShardTxn, command: pb.SealSession, shard: ControlledShard
) -> pb.SealSessionReply:
    """Seal a named session against more commands, and return the revisions of its commands."""
    if not command.name:
        raise Rejected(INVALID, "only a session with a name can be sealed")
    session, revisions = sessions.seal_session(
        txn.layer,
        sessions.number_at(txn.revision, shard.id.number),
        command.name.encode(),
        txn.now_ms,
        command.caller,
        most=command.most,
    )
    return pb.SealSessionReply(session=session, revisions=revisions)


def close_session(txn: ShardTxn, command: pb.CloseSession, _: ControlledShard) -> None:
    """Close a session, if it is open."""
    sessions.close_session(txn.layer, command.session, command.caller)


def forget_fences(
    txn: ShardTxn, command: pb.ForgetFences, _: ControlledShard
) -> pb.ForgetFencesReply:
    """Forget the larger tokens of all fences with a prefix."""
    if not command.prefix:
        raise Rejected(INVALID, "name the fences whose tokens are forgotten")
    forgotten = fences.forget_above(txn.layer, command.prefix, command.above)
    return pb.ForgetFencesReply(forgotten=forgotten)
