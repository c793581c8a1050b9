"""The wall clock of a process, put forward or back while it runs."""

import sys
import time
from types import SimpleNamespace
from typing import Final

#: The module `time`, as the modules of Quorate see it from the first shift on.
_seen: Final = SimpleNamespace(**vars(time))


def shift(seconds: str) -> None:
    """Let `time.time` be off by so much for the code of Quorate; the last of several counts.

    Libraries keep the machine's time: gRPC makes deadlines from `time.time`, and its native code
    holds them against the machine's clock, which nobody put forward.
    """
    off_s = float(seconds.split()[-1])
    _seen.time = lambda: time.time() + off_s
    for name, module in [*sys.modules.items()]:
        if name.startswith("quorate") and name != __name__ and vars(module).get("time") is time:
            vars(module)["time"] = _seen
