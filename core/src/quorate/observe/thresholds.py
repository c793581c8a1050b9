"""The thresholds at which alerts, the console and `quorate doctor` report a problem."""

from typing import Final

#: Missing entries at which a follower lags: about as many as its leader keeps for it, so that it
#: soon needs a snapshot.
FOLLOWER_LAG: Final = 10_000
#: Seconds that an event loop may be blocked.
LOOP_STOP_S: Final = 0.25
#: Share of a quota, a disk or another limit that may be used.
FULL: Final = 0.8
