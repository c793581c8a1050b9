"""What the leader of a shard does next for a publication."""

from __future__ import annotations

from typing import Any, Final

import pytest
from quorate.files.publications import publication_step
from quorate.plugin.shard_id import ShardId
from quorate.shards.steps import OVER, Act, Order, Propose, Step
from quorate.v1 import files_pb2 as pb

NAME: Final = "spark/one"
CLOSING, COMMITTED, ABORTED = (
    pb.Publication.CLOSING,
    pb.Publication.COMMITTED,
    pb.Publication.ABORTED,
)
UNMARKED: Final = pb.PublicationMark()


def row(state: Any, *, number: int = 7, closed: bool = False, shard: int = 1) -> pb.Publication:
    part = pb.PublicationPart(shard=shard, closed=closed)
    return pb.Publication(
        group="toy", name=NAME, command="toy.Put", number=number, state=state, parts=[part]
    )


def reported(**fields: Any) -> tuple[Act, ...]:
    report = pb.ReportPublication(group="toy", name=NAME, publication=7, shard=1, **fields)
    return Order(report), "publish.reported"


def opened(publication: int, *, committed: bool) -> tuple[Act, ...]:
    command = pb.OpenPublished(name=NAME, publication=publication, committed=committed)
    return "publish.opening", Propose(command), "publish.opened"


@pytest.mark.parametrize(
    ("found", "mark", "late", "step"),
    [
        (row(CLOSING), UNMARKED, "", Step(reported())),
        (row(CLOSING, closed=True), UNMARKED, "", Step(pause_s=0.05)),
        (row(CLOSING, closed=True), UNMARKED, "late", Step(reported(failure="late"))),
        (
            row(COMMITTED),
            UNMARKED,
            "late",
            Step((*opened(7, committed=True), *reported(over=True))),
        ),
        (
            row(ABORTED, closed=True),
            UNMARKED,
            "",
            Step((*opened(7, committed=False), *reported(over=True))),
        ),
        # The shard has no part in it any more.
        (row(CLOSING, shard=2), UNMARKED, "", OVER),
        (
            row(COMMITTED, shard=2),
            pb.PublicationMark(name=NAME, closing=7),
            "",
            Step(opened(7, committed=True), over=True),
        ),
        # It was closed for one that metadata/0 has forgotten, as after a restore.
        (
            pb.Publication(),
            pb.PublicationMark(name=NAME, closing=7),
            "",
            Step(opened(7, committed=False), over=True),
        ),
        (
            row(COMMITTED, number=8, shard=2),
            pb.PublicationMark(name=NAME, closing=7),
            "",
            Step(opened(7, committed=False), over=True),
        ),
    ],
)
def test_a_shard_opens_once_all_are_closed_or_one_cannot_be(
    found: pb.Publication, mark: pb.PublicationMark, late: str, step: Step
) -> None:
    assert publication_step(ShardId("toy", 1), NAME, found, mark, late) == step
