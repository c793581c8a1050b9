from __future__ import annotations

import pytest
from google.rpc import code_pb2, error_details_pb2, status_pb2
from quorate.consensus.messages import Peer
from quorate.plugin import Invalid, Rejected
from quorate.plugin.shard_id import ShardId
from quorate.rpc.status import detail, error_of, status_of
from quorate.shards import refusals
from quorate.shards.refusals import (
    CopyBehindError,
    ExhaustedError,
    FencedError,
    LeaderlessError,
    NoLeaderError,
    NotProposedError,
    NotProposedInTimeError,
    NotServingError,
    OutcomeUnknownError,
    ReadTimeoutError,
    SlowReaderError,
    UnansweredInTimeError,
    UnknownShardError,
    UnreadableError,
    WrongShardError,
)

SHARD = ShardId("offset", 3)
REFUSALS = [
    NotProposedError("full stop"),
    NoLeaderError(SHARD, Peer("b", 2**63)),
    NoLeaderError(SHARD),
    UnknownShardError("offset", 3),
    ExhaustedError("the queue is full", 250),
    WrongShardError(SHARD, "not here"),
    CopyBehindError("the copy of tenants may be old"),
    NotProposedInTimeError("late"),
    OutcomeUnknownError("lost"),
    UnansweredInTimeError("late and lost"),
    SlowReaderError("nothing was read"),
    FencedError(SHARD, term=3, made_in=2),
    UnreadableError("no replica"),
    ReadTimeoutError("late read"),
    LeaderlessError(SHARD),
    NotServingError("this node is stopping"),
]


def seen(error: Exception) -> tuple[str, str, str]:
    status = status_of(error)
    info = detail(status, error_details_pb2.ErrorInfo)
    assert info.domain == "quorate"
    return code_pb2.Code.Name(status.code), info.reason, info.metadata.get("retry", "")


def test_every_refusal_is_told_apart_by_its_reason() -> None:
    classes = {
        each
        for each in vars(refusals).values()
        if isinstance(each, type)
        and each.__module__ in {refusals.__name__, NotProposedError.__module__}
    }
    classes -= {Invalid, Rejected}

    # Its reason is the plugin's, as that of any refusal is.
    classes.remove(refusals.NotAdmittedError)
    assert {type(error) for error in REFUSALS} == classes
    assert len({seen(error)[1] for error in REFUSALS}) == len(classes)


@pytest.mark.parametrize("error", REFUSALS, ids=lambda error: type(error).__name__)
def test_only_what_was_surely_not_proposed_may_be_retried_without_a_session(
    error: Exception,
) -> None:
    code, _, retry = seen(error)

    assert code == getattr(error, "code")  # noqa: B009 - mypy knows no code of an Exception
    if isinstance(error, NotProposedError | UnreadableError):
        assert retry == "safe"
    else:
        assert retry == ("session" if isinstance(error, OutcomeUnknownError) else "")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (Rejected("NOT_FOUND", "no such key"), ("NOT_FOUND", "NOT_FOUND", "")),
        (Rejected("FENCED", "an older epoch"), ("FAILED_PRECONDITION", "FENCED", "")),
        (Rejected("OK"), ("FAILED_PRECONDITION", "OK", "")),
        (Rejected("NOT_PROPOSED"), ("FAILED_PRECONDITION", "NOT_PROPOSED", "")),
        (LookupError("no such command"), ("UNIMPLEMENTED", "NOT_DECLARED", "")),
        (KeyError("a bug"), ("INTERNAL", "INTERNAL", "")),
        (RuntimeError("a bug"), ("INTERNAL", "INTERNAL", "")),
        (NotImplementedError(), ("UNIMPLEMENTED", "NOT_IMPLEMENTED", "")),
    ],
)
def test_what_is_no_refusal_of_ours(error: Exception, expected: tuple[str, str, str]) -> None:
    assert seen(error) == expected


def test_what_was_not_admitted_is_told_apart_from_what_a_handler_refused() -> None:
    stages = [
        detail(status_of(error), error_details_pb2.ErrorInfo).metadata.get("stage")
        for error in (refusals.NotAdmittedError("QUOTA", "full"), Rejected("QUOTA", "full"))
    ]

    assert stages == ["admission", None]
    assert seen(refusals.NotAdmittedError("QUOTA")) == ("FAILED_PRECONDITION", "QUOTA", "")


def test_a_bad_field_is_named() -> None:
    status = status_of(Invalid("pairs[3].key", "it is empty"))
    [violation] = detail(status, error_details_pb2.BadRequest).field_violations

    assert (violation.field, violation.description) == ("pairs[3].key", "it is empty")


def test_who_is_full_says_when_to_come_again() -> None:
    status = status_of(ExhaustedError("the queue is full", 1_250))

    assert detail(status, error_details_pb2.RetryInfo).retry_delay.ToMilliseconds() == 1_250


def test_who_does_not_lead_names_the_leader_and_the_shard() -> None:
    status = status_of(NoLeaderError(SHARD, Peer("b", 2)))

    assert detail(status, error_details_pb2.ErrorInfo).metadata["leader"] == "b"
    assert detail(status, error_details_pb2.ResourceInfo).resource_name == "offset/3"


def test_a_status_fits_into_the_metadata_of_a_call() -> None:
    status = status_of(Invalid("ü" * 100_000, "\udcff ü" * 100_000))

    assert status.ByteSize() < 4_000


@pytest.mark.parametrize(
    "error",
    [
        *(each for each in REFUSALS if type(each) not in {UnknownShardError, WrongShardError}),
        Invalid("key", "it is empty"),
        Rejected("NOT_FOUND", "no such key"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_another_node_raises_what_was_raised(error: Exception) -> None:
    again = error_of(status_of(error), SHARD)

    if isinstance(error, FencedError):
        assert isinstance(again, Rejected)
        assert again.message == str(error)
        return
    assert type(again) is type(error)
    assert str(again) == str(error)
    if isinstance(error, NoLeaderError):
        assert isinstance(again, NoLeaderError)
        assert again.leader == error.leader
    if isinstance(error, ExhaustedError):
        assert isinstance(again, ExhaustedError)
        assert again.retry_after_ms == error.retry_after_ms


@pytest.mark.parametrize("error", [UnknownShardError("offset", 3), WrongShardError(SHARD, "x")])
def test_what_another_node_did_not_propose_was_not_proposed(error: Exception) -> None:
    assert isinstance(error_of(status_of(error), SHARD), NotProposedError)


def test_a_plugin_cannot_pass_its_refusal_off_as_one_of_ours() -> None:
    again = error_of(status_of(Rejected("NOT_PROPOSED", "by a plugin")), SHARD)

    assert isinstance(again, Rejected)


def test_a_status_without_details_is_a_refusal() -> None:
    assert isinstance(error_of(status_pb2.Status(code=13, message="?"), SHARD), Rejected)
