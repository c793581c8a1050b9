"""The numbers of the protocol: operations, error codes, types of watches and events."""

from enum import IntEnum
from typing import Final


class Op(IntEnum):
    """Operations of clients."""

    CLOSE = -11
    CREATE = 1
    DELETE = 2
    EXISTS = 3
    GET_DATA = 4
    SET_DATA = 5
    GET_ACL = 6
    SET_ACL = 7
    GET_CHILDREN = 8
    SYNC = 9
    PING = 11
    GET_CHILDREN2 = 12
    CHECK = 13
    MULTI = 14
    CREATE2 = 15
    RECONFIG = 16
    CHECK_WATCHES = 17
    REMOVE_WATCHES = 18
    CREATE_CONTAINER = 19
    CREATE_TTL = 21
    MULTI_READ = 22
    AUTH = 100
    SET_WATCHES = 101
    SASL = 102
    GET_EPHEMERALS = 103
    COUNT_DESCENDANTS = 104
    SET_WATCHES2 = 105
    ADD_WATCH = 106
    WHO_AM_I = 107


class Error(IntEnum):
    """Error codes of the protocol; clients fail on unknown numbers, so none is added."""

    OK = 0
    SYSTEM = -1
    #: The code of the operations after the failed one of a multi.
    RUNTIME_INCONSISTENCY = -2
    MARSHALLING = -5
    UNIMPLEMENTED = -6
    BAD_ARGUMENTS = -8
    NO_NODE = -101
    NO_AUTH = -102
    BAD_VERSION = -103
    NO_CHILDREN_FOR_EPHEMERALS = -108
    NODE_EXISTS = -110
    NOT_EMPTY = -111
    SESSION_EXPIRED = -112
    INVALID_ACL = -114
    AUTH_FAILED = -115
    NO_WATCHER = -121
    RECONFIG_DISABLED = -123
    QUOTA_EXCEEDED = -125


class Event(IntEnum):
    """Types of watch events."""

    CREATED = 1
    DELETED = 2
    DATA = 3
    CHILDREN = 4


class Perm(IntEnum):
    """Rights of an access control list."""

    READ = 1
    WRITE = 2
    CREATE = 4
    DELETE = 8
    ADMIN = 16
    ALL = 31


#: Creates that reply with a stat after the path.
CREATES_WITH_STAT: Final = frozenset({Op.CREATE2, Op.CREATE_CONTAINER, Op.CREATE_TTL})
CREATES: Final = CREATES_WITH_STAT | {Op.CREATE}
#: Operations that change the tree, or may be part of a multi that does.
WRITES: Final = CREATES | {Op.DELETE, Op.SET_DATA, Op.SET_ACL, Op.CHECK}

# Request ids with a meaning of their own.
NOTIFICATION_XID: Final = -1
PING_XID: Final = -2
AUTH_XID: Final = -4

#: The state of every event that a server sends; clients generate session events themselves.
CONNECTED: Final = 3
