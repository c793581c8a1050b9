"""How a batch with wrong items is carried out all the same: they are refused in their places."""

from collections.abc import Callable
from typing import Any, TypeVar

from google.protobuf.message import Message
from quorate.plugin import Invalid, NodeApi
from quorate.v1.batch_pb2 import BatchReply, ItemRefusal

M = TypeVar("M", bound=Message)


async def propose_fitting(
    node: NodeApi, command: M, field: str, check: Callable[[Any, str], None]
) -> BatchReply:
    """Propose the items of a repeated field that `check` does not refuse, and answer all.

    Raises `Invalid` for what is wrong with the command as a whole.
    """
    try:
        # Most batches are right, and are looked at only once.
        return await node.propose(command, BatchReply)
    except Invalid:
        items = getattr(command, field)
        wrong = {
            position: refusal
            for position, item in enumerate(items)
            if (refusal := _refusal(check, item, f"{field}[{position}].")) is not None
        }
        if not wrong:
            raise
    fitting = [position for position in range(len(items)) if position not in wrong]
    answer = BatchReply(items=len(items))
    replies = [b""] * len(items)
    if fitting:
        rest = type(command)()
        rest.CopyFrom(command)
        rest.ClearField(field)
        getattr(rest, field).extend(items[position] for position in fitting)
        carried_out = await node.propose(rest, BatchReply)
        for position, reply in zip(fitting, carried_out.replies, strict=False):
            replies[position] = reply
        for each in carried_out.refusals:
            wrong[fitting[each.item]] = each
        answer.revisions.extend(carried_out.revisions)
        if carried_out.replies:
            answer.replies.extend(replies)
    for position in sorted(wrong):
        answer.refusals.add(
            item=position, code=wrong[position].code, message=wrong[position].message
        )
    return answer


def _refusal(check: Callable[[Any, str], None], item: Any, path: str) -> ItemRefusal | None:
    try:
        check(item, path)
    except Invalid as error:
        return ItemRefusal(code="INVALID_ARGUMENT", message=str(error))
    return None
