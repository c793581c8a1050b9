from collections.abc import Callable

class FAIL_REASON:
    SUCCESS: int
    QUEUE_FULL: int
    MISSING_LEADER: int
    DISCARDED: int
    NOT_LEADER: int
    LEADER_CHANGED: int
    REQUEST_DENIED: int
    UNKNOWN_OUTCOME: int

class SERIALIZER_STATE:
    NOT_SERIALIZING: int
    SERIALIZING: int
    SUCCESS: int
    FAILED: int

class SyncObjConf:
    autoTick: bool
    autoTickPeriod: float
    commandsQueueSize: int
    raftMinTimeout: float
    raftMaxTimeout: float
    appendEntriesPeriod: float
    connectionTimeout: float
    connectionRetryTime: float
    leaderFallbackTimeout: float
    appendEntriesUseBatch: bool
    appendEntriesBatchSizeBytes: int
    logCompactionMinEntries: int
    logCompactionMinTime: float
    logCompactionSplit: bool
    commandsWaitLeader: bool
    fullDumpFile: str | None
    journalFile: str | None
    onReady: Callable[[], None] | None
    onStateChanged: Callable[[int, int], None] | None
    dynamicMembershipChange: bool
    pollerType: str
    useFork: bool
    def __init__(self, **kwargs: object) -> None: ...
    def validate(self) -> None: ...
