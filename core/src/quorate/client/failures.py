"""Decides on retries of failed attempts, from gRPC's rich errors."""

from dataclasses import KW_ONLY, dataclass
from typing import Final, Literal, TypeVar

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
from quorate.http2.grpc.call_errors import CallError
from quorate.http2.grpc.codes import Code

M = TypeVar("M", bound=Message)

#: `safe`: nothing was done. `unknown`: it may have been. `never`: it was refused.
Retry = Literal["safe", "unknown", "never"]

SESSION_EXPIRED: Final = "SESSION_EXPIRED"
#: The node starts or stops, and accepts no calls.
_NOT_SERVING: Final = "NOT_SERVING"
_WRONG_SHARD: Final = "WRONG_SHARD"

_DETAILS_KEY: Final = "grpc-status-details-bin"
_INVALID: Final = "INVALID"
_NAMES: Final = {code.value: code.name for code in Code}
#: Without details from the server, these mean that the connection broke during the call.
_BROKEN: Final = frozenset({Code.UNAVAILABLE, Code.CANCELLED, Code.UNKNOWN, Code.INTERNAL})


@dataclass(eq=False)
class AttemptError(Exception):
    """A failed attempt: whether a retry is safe, at which node, and which error to raise if not."""

    retry: Retry
    error: QuorateError
    _: KW_ONLY
    #: The node that leads `shard`, as far as the asked one knows.
    leader: str = ""
    shard: str = ""
    #: No attempt before this time has passed.
    delay_s: float = 0.0
    #: The node did not answer, or accepts no calls: another one may.
    unreachable: bool = False
    #: It was refused before what its session has recorded was read: this attempt was not carried
    #: out, and an earlier one may have been.
    unlogged: bool = False
    #: The failure, without advice for the caller of this attempt.
    why: str = ""
    #: Another shard owns the slot now.
    moved: bool = False

    def __post_init__(self) -> None:
        super().__init__(str(self.error))
        self.why = self.why or str(self.error)
        self.unlogged = self.unlogged or isinstance(self.error, InvalidError)

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
    """Read the status that a node returned for a call, or for one command of it."""
    info = _detail(status, error_details_pb2.ErrorInfo)
    failed = _of_status(status, info)
    failed.error.request = info.metadata.get("request", "")
    return failed


def _of_status(status: status_pb2.Status, info: error_details_pb2.ErrorInfo) -> AttemptError:
    advice = info.metadata.get("retry", "")
    if not advice:
        admission = info.metadata.get("stage") == "admission"
        return AttemptError("never", _refusal(status, info.reason), unlogged=admission)
    timed_out = status.code == Code.DEADLINE_EXCEEDED
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


def of_call(address: str, error: CallError) -> AttemptError:
    """Read a failed call."""
    details = _details_of(error)
    if details is not None:
        return of_status(details)
    code, text = error.code(), error.details()
    if not error.sent:
        return unreachable(address, text)
    if code is Code.DEADLINE_EXCEEDED:
        return unanswered(address)
    if code in _BROKEN:
        why = f"the connection to {address} was lost before the answer ({text})"
        return _lost(OutcomeUnknownError, why)
    if code is Code.RESOURCE_EXHAUSTED and not error.told:
        why = f"{address} answered with more than a client reads ({text}): it was not refused"
        return AttemptError("never", OutcomeUnknownError(f"{why}, so read before trying again"))
    return AttemptError("never", RejectedError(code.name, f"{address}: {text}"))


def unanswered(address: str) -> AttemptError:
    """Return the failure of a call that a node did not answer in time: it may be done."""
    return _lost(UnansweredError, f"{address} did not answer in time")


def _lost(kind: type[OutcomeUnknownError], why: str) -> AttemptError:
    error = kind(f"{why}; it may be done, so read before trying again")
    return AttemptError("unknown", error, unreachable=True, why=why)


def _details_of(error: CallError) -> status_pb2.Status | None:
    for key, value in error.trailing_metadata():
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
