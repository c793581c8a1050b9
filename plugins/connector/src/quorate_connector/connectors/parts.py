"""Batches of connectors, carried out in parts that a node can apply in one turn each."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

from google.protobuf.message import Message
from quorate.plugin import Invalid, NodeApi, Sifted
from quorate.v1.batch_pb2 import BatchReply

from quorate_connector.connectors.validation import Named
from quorate_connector.v1.connectors_pb2 import (
    CreateConnector,
    DeleteConnector,
    PutConnector,
    UpdateConnector,
)

#: Connectors in one call.
MOST_CONNECTORS: Final = 1_000
#: What is deleted or changed with one command: each connector may have a thousand tasks.
AT_A_TIME: Final = 10
#: The weight of a part: it makes so many tasks, or holds 128 KiB.
_HEAVIEST: Final = 1_000
_BYTES: Final = 128

Writing = CreateConnector | PutConnector | UpdateConnector | DeleteConnector
C = TypeVar("C", CreateConnector, PutConnector, UpdateConnector, DeleteConnector)


def check_batch(connectors: Sequence[Named]) -> None:
    """Refuse a batch that is too long."""
    if len(connectors) > MOST_CONNECTORS:
        raise Invalid("connectors", f"must be at most {MOST_CONNECTORS}, not {len(connectors)}")


async def carry_out(
    node: NodeApi, wanted: Sequence[C | Invalid], make: Callable[[Sequence[C]], Message]
) -> BatchReply:
    """Propose the commands of a batch part by part, and answer all in their places.

    What is `Invalid` is refused in its place, and so is a connector that was named before: its
    first command may be in another part.
    """
    sifted = Sifted[C](total=len(wanted), good={}, refusals={})
    first: dict[tuple[str, str], int] = {}
    for position, each in enumerate(wanted):
        if not isinstance(each, Invalid):
            earlier = first.setdefault((each.tenant, each.name), position)
            if earlier != position:
                again = f"names {each.name!r} of tenant {each.tenant!r} a second time"
                each = Invalid("name", f"{again}, after connectors[{earlier}]; name each once")
        if isinstance(each, Invalid):
            fault = Invalid(f"connectors[{position}].{each.field}", each.reason)
            sifted.refusals[position] = fault
        else:
            sifted.good[position] = each

    async def propose(fitting: Sequence[C]) -> BatchReply:
        whole = BatchReply()
        for part in _parts(fitting):
            reply = await node.propose(make(part), BatchReply)
            for refusal in reply.refusals:
                refusal.item += whole.items
            whole.refusals.extend(reply.refusals)
            whole.replies.extend(reply.replies)
            whole.items += len(part)
            # All is in one shard: the newest revision counts.
            del whole.revisions[:]
            whole.revisions.extend(reply.revisions)
        return whole

    return await sifted.carried_out(propose)


def _parts(commands: Sequence[C]) -> Iterator[Sequence[C]]:
    part: list[C] = []
    weight = 0
    for each in commands:
        more = _weight(each)
        if part and weight + more > _HEAVIEST:
            yield part
            part, weight = [], 0
        part.append(each)
        weight += more
    if part:
        yield part


def _weight(command: Writing) -> int:
    """Say how heavy a command is; a connector that is there may have many tasks to move."""
    known = 0 if isinstance(command, CreateConnector) else _HEAVIEST // AT_A_TIME
    if isinstance(command, DeleteConnector):
        return known
    return max(known, command.definition.tasks_max + command.ByteSize() // _BYTES)
