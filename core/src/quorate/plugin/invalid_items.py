"""How a batch with wrong items is carried out all the same: they are refused in their places."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from google.protobuf.message import Message

from quorate.plugin.batch_split import at_place
from quorate.plugin.batches import refusal_of
from quorate.plugin.node import NodeApi
from quorate.plugin.outcomes import Invalid, Rejected
from quorate.v1.batch_pb2 import BatchReply

I = TypeVar("I")  # noqa: E741 - the item of a batch, named as in the plugin reference
M = TypeVar("M", bound=Message)


@dataclass(frozen=True)
class CheckedItems(Generic[I]):
    """The items of a request that can be carried out, and why the others cannot."""

    #: How many items the request had.
    total: int
    #: By its position in the request.
    valid: dict[int, I] = field(default_factory=dict)
    #: By its position in the request.
    refusals: dict[int, Invalid | Rejected] = field(default_factory=dict)

    async def execute(self, propose: Callable[[Sequence[I]], Awaitable[BatchReply]]) -> BatchReply:
        """Return the reply to the whole request; `propose` executes the valid items."""
        positions = list(self.valid)
        reply = await propose(list(self.valid.values())) if positions else BatchReply()
        answer = BatchReply(items=self.total, revisions=reply.revisions)
        refused = {
            position: refusal_of(position, refusal) for position, refusal in self.refusals.items()
        }
        for each in reply.refusals:
            refused[positions[each.item]] = at_place(each, positions)
        answer.refusals.extend(refused[position] for position in sorted(refused))
        if reply.replies:
            replies = dict(zip(positions, reply.replies, strict=True))
            answer.replies.extend(replies.get(position, b"") for position in range(self.total))
        return answer


def split_invalid(
    field: str, items: Sequence[I], check: Callable[[I, str], None]
) -> CheckedItems[I]:
    """Check each item; an invalid item does not keep the others from being executed."""
    checked = CheckedItems[I](len(items))
    for position, item in enumerate(items):
        try:
            check(item, f"{field}[{position}].")
        except Invalid as invalid:
            # A new one: the one raised holds its frames, and they hold the request.
            checked.refusals[position] = Invalid(invalid.field, invalid.reason)
        else:
            checked.valid[position] = item
    return checked


async def propose_valid(
    node: NodeApi, command: M, field: str, check: Callable[[Any, str], None]
) -> BatchReply:
    """Propose a batch, whose items are those of a field, and answer a wrong item in its place.

    The node does so itself, but refuses a batch of one as a single call. `check` is what the
    command is declared with. Raises `Invalid` for what is wrong with the command as a whole.
    """
    try:
        return await node.propose(command, BatchReply)
    except Invalid:
        items = getattr(command, field)
        if len(items) == 1:
            try:
                check(items[0], f"{field}[0].")
            except Invalid as wrong:
                return BatchReply(items=1, refusals=[refusal_of(0, wrong)])
        raise
