"""A batch of offsets refuses each wrong item in its place, and changes nothing for it.

What is wrong with an item is found with the rows, so that the others need not be looked at twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import grpc
import pytest
from google.protobuf import message_factory
from google.protobuf.message import Message
from quorate_offset.v1.commands_pb2 import (
    AttributeChange,
    ForbiddenChange,
    GroupCommit,
    GroupFence,
    OffsetCommit,
    OffsetDeletion,
    OffsetList,
    PartitionOffset,
    ResetToOffset,
    SubscriptionGroupChange,
    SubscriptionGroupDeletion,
)
from quorate_offset.v1.service_pb2 import (
    CommitOffsetsRequest,
    DeleteOffsetsRequest,
    FenceGroupsRequest,
    ResetOffsetsRequest,
    ResetRequest,
    ResetToGroup,
)
from quorate_offset.v1.subscription_group_service_pb2 import (
    DeleteGroupsRequest,
    PutGroupsRequest,
)

from tests.integration.rows.row import TEXT

if TYPE_CHECKING:
    from tests.integration.conftest import Served

pytestmark = pytest.mark.asyncio(loop_scope="module")

OFFSETS: Final = "/quorate_offset.v1.OffsetService/"
GROUPS: Final = "/quorate_offset.v1.SubscriptionGroupService/"
#: Longer than a name may be, and shorter than a key.
LONG: Final = "n" * 256
NAMES: Final[dict[str, Any]] = {"tenant": "t", "group": "g"}

#: A method, a request, and the reason of each of its items in its place.
BATCHES: Final[list[tuple[str, Message, list[str]]]] = [
    (
        OFFSETS + "CommitOffsets",
        CommitOffsetsRequest(
            groups=[
                GroupCommit(),
                GroupCommit(tenant=LONG, group="g"),
                GroupCommit(**NAMES, commits=[OffsetCommit(topic="o")]),
            ]
        ),
        ["INVALID_ARGUMENT", "INVALID_ARGUMENT", "NOT_FOUND"],
    ),
    (
        OFFSETS + "FenceGroups",
        FenceGroupsRequest(
            fences=[
                GroupFence(),
                GroupFence(tenant=LONG, group="g", generation=1),
                GroupFence(**NAMES, generation=1),
            ]
        ),
        ["INVALID_ARGUMENT", "INVALID_ARGUMENT", "NOT_FOUND"],
    ),
    (
        OFFSETS + "ResetOffsets",
        ResetOffsetsRequest(
            resets=[
                ResetRequest(),
                ResetRequest(**NAMES, to_group=ResetToGroup()),
                ResetRequest(**NAMES, to_group=ResetToGroup(group=LONG)),
                ResetRequest(**NAMES, to_group=ResetToGroup(group="h", partition=1)),
                ResetRequest(**NAMES, to_offset=ResetToOffset(offset=1)),
                ResetRequest(
                    **NAMES, to_offsets=OffsetList(offsets=[PartitionOffset(topic="o", offset=1)])
                ),
            ]
        ),
        [*["INVALID_ARGUMENT"] * 4, *["NOT_FOUND"] * 2],
    ),
    (
        OFFSETS + "DeleteOffsets",
        DeleteOffsetsRequest(
            deletions=[
                OffsetDeletion(),
                OffsetDeletion(tenant="t", group=LONG),
                OffsetDeletion(**NAMES, partition=1),
            ]
        ),
        ["INVALID_ARGUMENT"] * 3,
    ),
    (
        GROUPS + "PutGroups",
        PutGroupsRequest(
            groups=[
                SubscriptionGroupChange(),
                SubscriptionGroupChange(tenant=LONG, group="g"),
                SubscriptionGroupChange(**NAMES, attributes=[AttributeChange(name="a")]),
                SubscriptionGroupChange(**NAMES, forbidden=[ForbiddenChange(set=1, clear=1)]),
            ]
        ),
        ["INVALID_ARGUMENT", "INVALID_ARGUMENT", "NOT_FOUND", "NOT_FOUND"],
    ),
    (
        GROUPS + "DeleteGroups",
        DeleteGroupsRequest(
            deletions=[
                SubscriptionGroupDeletion(),
                SubscriptionGroupDeletion(tenant="t", group=LONG),
                SubscriptionGroupDeletion(**NAMES),
            ]
        ),
        ["INVALID_ARGUMENT", "INVALID_ARGUMENT", "NOT_FOUND"],
    ),
]


@pytest.mark.parametrize(
    ("method", "request_", "reasons"), BATCHES, ids=[method for method, _, _ in BATCHES]
)
async def test_each_wrong_item_is_refused_in_its_place(
    served: Served, method: str, request_: Message, reasons: list[str]
) -> None:
    before = served.rows("offset")

    answer = await served.call(method, request_.SerializeToString())

    assert answer.code is grpc.StatusCode.OK, answer.details
    described = (await served.methods())[method]
    response: Any = message_factory.GetMessageClass(described.output_type)
    [message] = answer.messages
    refusals = response.FromString(message).refusals
    # Offsets are refused by group and commit, what else there is by item.
    places = [each.group if method.endswith("CommitOffsets") else each.item for each in refusals]
    assert places == list(range(len(reasons)))
    assert [each.code for each in refusals] == reasons
    assert all(each.message for each in refusals)
    assert served.rows("offset") == before


async def test_too_long_a_name_of_an_item_refuses_the_batch(served: Served) -> None:
    before = served.last_entries()
    batch = CommitOffsetsRequest(groups=[GroupCommit(tenant="t", group=TEXT)])

    answer = await served.call(OFFSETS + "CommitOffsets", batch.SerializeToString())

    assert answer.code is grpc.StatusCode.INVALID_ARGUMENT
    assert answer.fields == ["groups[0]"]
    assert served.last_entries() == before
