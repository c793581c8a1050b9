"""Every refusal of etcd, with its code and its text: clients recognise errors by the texts."""

from __future__ import annotations

from functools import partial
from typing import Final, NamedTuple, NoReturn

from quorate.plugin import Rejected

#: What all texts of the table begin with.
PREFIX: Final = "etcdserver: "


class Refusal(NamedTuple):
    """The status of a refused call."""

    #: The name of a gRPC status.
    code: str
    text: str

    def refuse(self) -> NoReturn:
        """Raise it, as handlers, queries and servicers do."""
        raise Rejected(self.code, self.text)


def _refusal(code: str, text: str) -> Refusal:
    return Refusal(code, PREFIX + text)


_invalid: Final = partial(_refusal, "INVALID_ARGUMENT")
_failed: Final = partial(_refusal, "FAILED_PRECONDITION")
_unavailable: Final = partial(_refusal, "UNAVAILABLE")

EMPTY_KEY: Final = _invalid("key is not provided")
KEY_NOT_FOUND: Final = _invalid("key not found")
VALUE_PROVIDED: Final = _invalid("value is provided")
LEASE_PROVIDED: Final = _invalid("lease is provided")
TOO_MANY_OPERATIONS: Final = _invalid("too many operations in txn request")
DUPLICATE_KEY: Final = _invalid("duplicate key given in txn request")
INVALID_SORT: Final = _invalid("invalid sort option")
REQUEST_TOO_LARGE: Final = _invalid("request is too large")
BAD_MEMBER_URLS: Final = _invalid("given member URLs are invalid")
EMPTY_USER: Final = _invalid("user name is empty")
EMPTY_ROLE: Final = _invalid("role name is empty")
AUTH_FAILED: Final = _invalid("authentication failed, invalid user ID or password")
PERMISSION_NOT_GIVEN: Final = _invalid("permission not given")
INVALID_AUTH: Final = _invalid("invalid auth management")
BAD_DOWNGRADE_FORMAT: Final = _invalid("wrong downgrade target version format")
BAD_DOWNGRADE_TARGET: Final = _invalid("invalid downgrade target version")

LEASE_NOT_FOUND: Final = _refusal("NOT_FOUND", "requested lease not found")
MEMBER_NOT_FOUND: Final = _refusal("NOT_FOUND", "member not found")

PERMISSION_DENIED: Final = _refusal("PERMISSION_DENIED", "permission denied")

NO_SPACE: Final = _refusal("RESOURCE_EXHAUSTED", "mvcc: database space exceeded")
#: Stock servers have it as RESOURCE_EXHAUSTED in their table, and send UNKNOWN.
TOO_MANY_REQUESTS: Final = _refusal("UNKNOWN", "too many requests")

LEASE_EXISTS: Final = _failed("lease already exists")
PEER_URL_EXISTS: Final = _failed("Peer URLs already exists")
NOT_A_LEARNER: Final = _failed("can only promote a learner member")
ROOT_MISSING: Final = _failed("root user does not exist")
ROOT_ROLE_MISSING: Final = _failed("root user does not have root role")
USER_EXISTS: Final = _failed("user name already exists")
USER_NOT_FOUND: Final = _failed("user name not found")
ROLE_EXISTS: Final = _failed("role name already exists")
ROLE_NOT_FOUND: Final = _failed("role name not found")
ROLE_NOT_GRANTED: Final = _failed("role is not granted to the user")
PERMISSION_NOT_GRANTED: Final = _failed("permission is not granted to the role")
AUTH_DISABLED: Final = _failed("authentication is not enabled")
NOT_LEADER: Final = _failed("not leader")
BAD_TRANSFEREE: Final = _failed("bad leader transferee")
NOT_DOWNGRADING: Final = _failed("no inflight downgrade job")

COMPACTED: Final = _refusal("OUT_OF_RANGE", "mvcc: required revision has been compacted")
FUTURE_REVISION: Final = _refusal("OUT_OF_RANGE", "mvcc: required revision is a future revision")
TTL_TOO_LARGE: Final = _refusal("OUT_OF_RANGE", "too large lease TTL")

NO_LEADER: Final = _unavailable("no leader")
LEADER_CHANGED: Final = _unavailable("leader changed")
TIMED_OUT: Final = _unavailable("request timed out")
TIMED_OUT_LEADER: Final = _unavailable("request timed out, possibly due to previous leader failure")
TIMED_OUT_APPLIED: Final = _unavailable(
    "request timed out, waiting for the applied index took too long"
)
UNHEALTHY: Final = _unavailable("unhealthy cluster")

CORRUPT: Final = _refusal("DATA_LOSS", "corrupt cluster")
INVALID_TOKEN: Final = _refusal("UNAUTHENTICATED", "invalid auth token")

# Texts without the prefix: they are in no table of a client.
NO_ELECTION_LEADER: Final = Refusal("UNKNOWN", "election: no leader")
NOT_ELECTED: Final = Refusal("UNKNOWN", "election: not leader")
LEADER_FIELD_MISSING: Final = Refusal("UNKNOWN", '"leader" field must be provided')
NO_PASSWORD_USER: Final = Refusal(
    "UNKNOWN", "auth: authentication failed, password was given for no password user"
)
#: Lock and Campaign send it with this code, LeaseRevoke with NOT_FOUND.
LOCK_LEASE_NOT_FOUND: Final = Refusal("UNKNOWN", LEASE_NOT_FOUND.text)

# Reasons why a watch is cancelled, or not made.
WATCH_EMPTY_RANGE: Final = "mvcc: watcher range is empty"
WATCH_DUPLICATE_ID: Final = "mvcc: duplicate watch ID provided on the WatchStream"
