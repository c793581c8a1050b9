"""The handlers: pure functions of a transaction and a command, run on every replica."""

from typing import Final

from quorate.plugin import Rejected, Txn, answer_each, keys
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.session_shares.room import (
    NUMBERS,
    SEAT_KEY,
    SEATS,
    SHARES,
    seat_of,
    sessions_of,
    share_of,
)
from quorate_mqtt.v1 import shares_pb2 as pb

#: The number of the shard stands above those of a sequence.
_SHARD_AT: Final = 48


def seat_shards(txn: Txn, command: pb.SeatShards) -> BatchReply:
    """Note which slots lead here; whoever proposes from an older term is heard no more."""
    _check_term(seat_of(txn), command.term)
    seat = pb.Seat(
        shard=txn.next_id(NUMBERS) >> _SHARD_AT,
        slots=len(command.probes),
        shards=command.shards,
        probe=command.probes[0],
        term=command.term,
    )
    txn.put(SEATS, SEAT_KEY, seat.SerializeToString(deterministic=True))
    return BatchReply(items=len(command.probes))


def move_shares(txn: Txn, command: pb.MoveShares) -> BatchReply:
    """Change the shares of tenants, none below the sessions that are there."""
    seat = seat_of(txn)
    _check_term(seat, command.term)

    def move(txn: Txn, change: pb.ShareMove) -> pb.ShareMoved:
        share = change.share
        if share < share_of(txn, change.tenant, change.limit, seat):
            share = max(share, sessions_of(txn, change.tenant))
        given = pb.SessionShare(limit=change.limit, share=share)
        key = keys.pack(change.tenant)
        txn.put(SHARES, key, given.SerializeToString(deterministic=True))
        return pb.ShareMoved(share=share)

    return answer_each(txn, command.moves, move)


def _check_term(seat: pb.Seat, term: int) -> None:
    if term < seat.term:
        raise Rejected(
            "ABORTED", f"shares are moved in term {seat.term}, and this was proposed in term {term}"
        )
