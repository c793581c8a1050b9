"""How a batch with wrong cursors is carried out all the same: they are refused in their places."""

from quorate.plugin import Invalid, NodeApi
from quorate.v1.batch_pb2 import BatchReply, ItemRefusal

from quorate_connector.tasks.validation import check_cursor
from quorate_connector.v1.tasks_pb2 import StoreCursor, StoreCursors


async def store_fitting(node: NodeApi, request: StoreCursors) -> BatchReply:
    """Propose the cursors that are right in themselves, and answer all.

    Raises `Invalid` for what is wrong with the batch as a whole.
    """
    try:
        # Most batches are right, and are looked at only once.
        return await node.propose(request, BatchReply)
    except Invalid:
        faults = {
            position: fault
            for position, cursor in enumerate(request.cursors)
            if (fault := _fault(cursor, f"cursors[{position}]."))
        }
        if not faults:
            raise
    fitting = [position for position in range(len(request.cursors)) if position not in faults]
    replies = [b""] * len(request.cursors)
    refusals = {
        position: ItemRefusal(item=position, code="INVALID_ARGUMENT", message=fault)
        for position, fault in faults.items()
    }
    stored = BatchReply()
    if fitting:
        rest = StoreCursors(cursors=[request.cursors[position] for position in fitting])
        stored = await node.propose(rest, BatchReply)
    for position, reply in zip(fitting, stored.replies, strict=True):
        replies[position] = reply
    for each in stored.refusals:
        position = fitting[each.item]
        refusals[position] = ItemRefusal(item=position, code=each.code, message=each.message)
    return BatchReply(
        items=len(request.cursors),
        replies=replies,
        refusals=[refusals[position] for position in sorted(refusals)],
        revisions=stored.revisions,
    )


def _fault(cursor: StoreCursor, path: str) -> str:
    try:
        check_cursor(cursor, path)
    except Invalid as invalid:
        return str(invalid)
    return ""
