"""What a failed attempt says about trying again: read from gRPC's rich errors."""

from typing import Any, Final, Literal, TypeVar

import grpc
import grpc.aio
from google.protobuf.message import DecodeError, Message
from google.rpc import error_details_pb2, status_pb2

from quorate.client.errors import (
    DeadlineError,
    InvalidError,
    OtherClusterError,
    OutcomeUnknownError,
    QuorateError,
    RejectedError,
    UnansweredError,
    UnavailableError,
)

M = TypeVar("M", bound=Message)

#: `safe`: nothing was done. `unknown`: it may have been. `never`: it was refused.
Retry = Literal["safe", "unknown", "never"]

SESSION_EXPIRED: Final = "SESSION_EXPIRED"
#: The node starts or stops, and takes no calls.
_NOT_SERVING: Final = "NOT_SERVING"
_WRONG_SHARD: Final = "WRONG_SHARD"

_DETAILS_KEY: Final = "grpc-status-details-bin"
_INVALID: Final = "INVALID"
_NAMES: Final = {code.value[0]: code.name for code in grpc.StatusCode}
_TIMED_OUT: Final[int] = grpc.StatusCode.DEADLINE_EXCEEDED.value[0]
#: gRPC's message if it had no connection for a call, which was never sent.
_NEVER_SENT: Final = "failed to connect to all addresses"
#: gRPC's message if an answer is larger than this client accepts.
_TOO_LARGE_HERE: Final = "CLIENT: Received message larger than max"
#: Without details from the server, these mean that the connection broke during the call.
_BROKEN: Final = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.UNKNOWN,
        grpc.StatusCode.INTERNAL,
    }
)


class AttemptError(Exception):
    """One attempt failed: whether the next one is safe, where to go, and what to raise if not."""

    def __init__(
        self,
        retry: Retry,
        error: QuorateError,
        *,
        leader: str = "",
        shard: str = "",
        delay_s: float = 0.0,
        unreachable: bool = False,
        unlogged: bool = False,
        why: str = "",
        moved: bool = False,
    ) -> None:
        super().__init__(str(error))
        self.retry: Final = retry
        self.error: Final = error
        #: What happened, without what the caller of this one attempt would have to do.
        self.why: Final = why or str(error)
        #: The node that leads `shard`, as far as the asked one knows.
        self.leader: Final = leader
        self.shard: Final = shard
        #: No attempt before this time has passed.
        self.delay_s: Final = delay_s
        #: The node did not answer, or takes no calls: another one may.
        self.unreachable: Final = unreachable
        #: It was refused before what its session has recorded was read: this attempt was not
        #: carried out, and an earlier one may have been.
        self.unlogged: Final = unlogged or isinstance(error, InvalidError)
        #: Another shard owns the slot now.
        self.moved: Final = moved

    @property
    def expired_session(self) -> bool:
        """Whether the session of a stamped command is not known any more."""
        return isinstance(self.error, RejectedError) and self.error.code == SESSION_EXPIRED


def unreachable(address: str, why: str) -> AttemptError:
    """Return the failure to reach a node: nothing was sent."""
    return AttemptError(
        "safe",
        UnavailableError(
            f"{address} does not answer ({why}); start the node, or name the endpoints of one that "
            "runs"
        ),
        unreachable=True,
    )


def other_cluster(address: str, met: bytes, there: bytes) -> AttemptError:
    """Return the failure to talk to a node of another cluster: nothing was sent."""
    return AttemptError("safe", OtherClusterError(address, met, there), unreachable=True)


def of_status(status: status_pb2.Status) -> AttemptError:
    """Read what a node says about a call, or about one command of it."""
    info = _detail(status, error_details_pb2.ErrorInfo)
    failed = _of_status(status, info)
    failed.error.request = info.metadata.get("request", "")
    return failed


def _of_status(status: status_pb2.Status, info: error_details_pb2.ErrorInfo) -> AttemptError:
    advice = info.metadata.get("retry", "")
    if not advice:
        admission = info.metadata.get("stage") == "admission"
        return AttemptError("never", _refusal(status, info.reason), unlogged=admission)
    timed_out = status.code == _TIMED_OUT
    if advice != "safe":
        unknown = UnansweredError if timed_out else OutcomeUnknownError
        return AttemptError("unknown", unknown(status.message))
    delay = _detail(status, error_details_pb2.RetryInfo).retry_delay
    shard = _detail(status, error_details_pb2.ResourceInfo)
    return AttemptError(
        "safe",
        (DeadlineError if timed_out else UnavailableError)(status.message),
        leader=info.metadata.get("leader", ""),
        shard=shard.resource_name if shard.resource_type == "shard" else "",
        delay_s=delay.ToMilliseconds() / 1_000,
        unreachable=info.reason == _NOT_SERVING,
        moved=info.reason == _WRONG_SHARD,
    )


def of_rpc(address: str, error: grpc.aio.AioRpcError) -> AttemptError:
    """Read a failed call that had been sent."""
    details = _details_of(error)
    if details is not None:
        return of_status(details)
    code, text = error.code(), error.details() or ""
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return _lost(UnansweredError, f"{address} did not answer in time")
    if code is grpc.StatusCode.UNAVAILABLE and text.startswith(_NEVER_SENT):
        return unreachable(address, "the connection was refused")
    if code in _BROKEN:
        why = f"the connection to {address} was lost before the answer ({text})"
        return _lost(OutcomeUnknownError, why)
    if _TOO_LARGE_HERE in text:
        why = f"{address} answered with more than a client reads ({text}): it was not refused"
        return AttemptError("never", OutcomeUnknownError(f"{why}, so read before trying again"))
    return AttemptError("never", RejectedError(code.name, f"{address}: {text}"))


def _lost(kind: type[OutcomeUnknownError], why: str) -> AttemptError:
    error = kind(f"{why}; it may be done, so read before trying again")
    return AttemptError("unknown", error, unreachable=True, why=why)


def _details_of(error: grpc.aio.AioRpcError) -> status_pb2.Status | None:
    metadata: Any = error.trailing_metadata()
    for key, value in metadata or ():
        if key == _DETAILS_KEY and isinstance(value, bytes):
            try:
                return status_pb2.Status.FromString(value)
            except DecodeError:
                return None
    return None


def _refusal(status: status_pb2.Status, reason: str) -> QuorateError:
    violations = _detail(status, error_details_pb2.BadRequest).field_violations
    if reason == _INVALID and violations:
        return InvalidError(violations[0].field, violations[0].description)
    code = reason or _NAMES.get(status.code, "UNKNOWN")
    return RejectedError(code, status.message.removeprefix(f"{code}: "))


def _detail(status: status_pb2.Status, kind: type[M]) -> M:
    found = kind()
    for each in status.details:
        if each.Unpack(found):
            break
    return found
