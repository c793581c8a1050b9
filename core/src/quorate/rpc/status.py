"""The status of a failed call: one table from our exceptions to gRPC's rich errors.

`reason` says what a client may do next; `retry` in the metadata says it in one word: `safe`,
or `session` where only an exactly-once session makes it safe. Without it, trying again is useless.
`request` is the id of the call, which `quorate explain request` takes.
`stage` is `admission` when a command was refused before what its session has recorded was read.
"""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, TypeVar

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc import code_pb2, error_details_pb2, status_pb2

from quorate.apply.outcomes import TOO_LARGE, TOO_SLOW, UNKNOWN_COMMAND
from quorate.consensus.messages import Peer
from quorate.consensus.refusals import TransferRefusedError
from quorate.http2.grpc.call_errors import CallError
from quorate.observe import requests
from quorate.plugin import Invalid, Rejected
from quorate.plugin.shard_id import ShardId
from quorate.shards import refusals

DOMAIN: Final = "quorate"
#: The trailing metadata in which gRPC carries the details of a status.
DETAILS_KEY: Final = "grpc-status-details-bin"

INVALID: Final = "INVALID"
INTERNAL: Final = "INTERNAL"
NOT_DECLARED: Final = "NOT_DECLARED"

#: Maximum bytes of a text and of a name in a status: gRPC drops calls with too much metadata.
_TEXT_BYTES: Final = 800
_NAME_BYTES: Final = 200

M = TypeVar("M", bound=Message)

_CANONICAL: Final = frozenset(code_pb2.Code.keys()) - {"OK"}

#: The canonical codes of core's own refusals in the place of a handler.
_OF_CORE: Final = {
    TOO_LARGE: "INVALID_ARGUMENT",
    TOO_SLOW: "FAILED_PRECONDITION",
    UNKNOWN_COMMAND: "UNIMPLEMENTED",
}

Retry = Literal["safe", "session", ""]


class _Row(NamedTuple):
    code: str
    reason: str
    retry: Retry = ""


#: By class; the nearest one in an exception's ancestry counts.
_TABLE: Final[Mapping[type[Exception], _Row]] = {
    Invalid: _Row("INVALID_ARGUMENT", INVALID),
    refusals.FencedError: _Row("ABORTED", "TERM_PASSED"),
    TransferRefusedError: _Row("FAILED_PRECONDITION", "TRANSFER_REFUSED"),
    refusals.NotProposedError: _Row("UNAVAILABLE", "NOT_PROPOSED", "safe"),
    refusals.NotServingError: _Row("UNAVAILABLE", "NOT_SERVING", "safe"),
    refusals.NoLeaderError: _Row("UNAVAILABLE", "NO_LEADER", "safe"),
    refusals.UnknownShardError: _Row("UNAVAILABLE", "UNKNOWN_SHARD", "safe"),
    refusals.WrongShardError: _Row("UNAVAILABLE", "WRONG_SHARD", "safe"),
    refusals.CopyBehindError: _Row("UNAVAILABLE", "COPY_BEHIND", "safe"),
    refusals.ExhaustedError: _Row("RESOURCE_EXHAUSTED", "EXHAUSTED", "safe"),
    refusals.NotProposedInTimeError: _Row("DEADLINE_EXCEEDED", "NOT_PROPOSED_IN_TIME", "safe"),
    refusals.OutcomeUnknownError: _Row("UNAVAILABLE", "OUTCOME_UNKNOWN", "session"),
    refusals.SlowReaderError: _Row("RESOURCE_EXHAUSTED", "SLOW_READER", "session"),
    refusals.UnansweredInTimeError: _Row("DEADLINE_EXCEEDED", "UNANSWERED_IN_TIME", "session"),
    refusals.UnreadableError: _Row("UNAVAILABLE", "UNREADABLE", "safe"),
    refusals.LeaderlessError: _Row("UNAVAILABLE", "LEADERLESS", "safe"),
    refusals.ReadTimeoutError: _Row("DEADLINE_EXCEEDED", "READ_TIMEOUT", "safe"),
    LookupError: _Row("UNIMPLEMENTED", NOT_DECLARED),
    # A method that a service declares and this node's version of it lacks, like Health.List.
    NotImplementedError: _Row("UNIMPLEMENTED", "NOT_IMPLEMENTED"),
    # A bug of which the class happens to be a LookupError.
    KeyError: _Row("INTERNAL", INTERNAL),
    IndexError: _Row("INTERNAL", INTERNAL),
    Exception: _Row("INTERNAL", INTERNAL),
}


def status_of(error: Exception) -> status_pb2.Status:
    """Return the status of an exception."""
    if isinstance(error, Rejected) and not isinstance(error, refusals.FencedError):
        row, text = _rejected(error), error.message or error.code
    else:
        row = next(_TABLE[each] for each in type(error).__mro__ if each in _TABLE)
        text = str(error)
        if row.reason == INTERNAL:
            text = f"{type(error).__name__}: {text}; the node's log says where"
    metadata: dict[str, str] = {"retry": row.retry} if row.retry else {}
    if request := requests.current():
        metadata["request"] = request
    if isinstance(error, refusals.NotAdmittedError):
        metadata["stage"] = "admission"
    details: list[Message] = []
    if isinstance(error, Invalid):
        violation = error_details_pb2.BadRequest.FieldViolation(
            field=_cut(error.field, _NAME_BYTES), description=_cut(error.reason)
        )
        details.append(error_details_pb2.BadRequest(field_violations=[violation]))
    if isinstance(error, refusals.ExhaustedError):
        delay = Duration()
        delay.FromMilliseconds(error.retry_after_ms)
        details.append(error_details_pb2.RetryInfo(retry_delay=delay))
        if error.quota:
            metadata["quota"] = error.quota
    if isinstance(error, refusals.NoLeaderError) and error.leader is not None:
        metadata["leader"] = error.leader.node
        metadata["leader_replica"] = str(error.leader.replica)
    shard = _shard(error)
    if shard is not None:
        details.append(error_details_pb2.ResourceInfo(resource_type="shard", resource_name=shard))
    info = error_details_pb2.ErrorInfo(reason=row.reason, domain=DOMAIN, metadata=metadata)
    status = status_pb2.Status(code=code_pb2.Code.Value(row.code), message=_cut(text))
    for detail in (info, *details):
        status.details.add().Pack(detail)
    return status


def error_of(status: status_pb2.Status, shard: ShardId) -> Exception:
    """Return the exception of a status from another node, about a shard.

    Whatever a node does not raise for its own reasons comes back as `Rejected`.
    """
    info = detail(status, error_details_pb2.ErrorInfo)
    if info.reason == INVALID:
        for violation in detail(status, error_details_pb2.BadRequest).field_violations:
            return Invalid(violation.field, violation.description)
    # A plugin may refuse with a reason of the table's, and never with a word on trying again.
    if "retry" in info.metadata:
        if info.reason == _TABLE[refusals.NoLeaderError].reason:
            return refusals.NoLeaderError(shard, _leader(info))
        if info.reason == _TABLE[refusals.LeaderlessError].reason:
            return refusals.LeaderlessError(shard)
        if info.reason == _TABLE[refusals.ExhaustedError].reason:
            delay_ms = detail(status, error_details_pb2.RetryInfo).retry_delay.ToMilliseconds()
            text = status.message.removesuffix(str(refusals.ExhaustedError("", delay_ms)))
            return refusals.ExhaustedError(text, delay_ms, info.metadata.get("quota", ""))
        for kind, row in _TABLE.items():
            says_all = row.retry and kind not in (
                refusals.UnknownShardError,
                refusals.WrongShardError,
            )
            if row.reason == info.reason and says_all:
                return kind(status.message)
        safe = info.metadata["retry"] == "safe"
        return (refusals.NotProposedError if safe else refusals.OutcomeUnknownError)(status.message)
    return Rejected(info.reason or INTERNAL, status.message)


def error_in(failure: CallError, shard: ShardId) -> Exception | None:
    """Return the exception of a failed call to another node, about a shard; None: it has none."""
    for key, value in failure.trailing_metadata():
        if key == DETAILS_KEY and isinstance(value, bytes):
            return error_of(status_pb2.Status.FromString(value), shard)
    return None


def detail(status: status_pb2.Status, kind: type[M]) -> M:
    """Return a detail of a status; an empty one if the status lacks it."""
    found = kind()
    for each in status.details:
        if each.Unpack(found):
            break
    return found


def _rejected(error: Rejected) -> _Row:
    code = error.code if error.code in _CANONICAL else _OF_CORE.get(error.code)
    return _Row(code or "FAILED_PRECONDITION", _cut(error.code, _NAME_BYTES))


def _shard(error: Exception) -> str | None:
    if isinstance(
        error, refusals.NoLeaderError | refusals.LeaderlessError | refusals.WrongShardError
    ):
        return str(error.shard)
    if isinstance(error, refusals.UnknownShardError) and error.number is not None:
        return str(ShardId(error.group, error.number))
    return None


def _leader(info: error_details_pb2.ErrorInfo) -> Peer | None:
    node, replica = info.metadata.get("leader"), info.metadata.get("leader_replica", "")
    return Peer(node, int(replica)) if node and replica.isdecimal() else None


def _cut(text: str, size: int = _TEXT_BYTES) -> str:
    encoded = text.encode(errors="replace")
    if len(encoded) <= size:
        return encoded.decode()
    return encoded[:size].decode(errors="ignore") + "..."
