from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
from quorate.testing.program import Program
from quorate.testing.waiting import until

#: Starts a process of its own, names it, and waits for what never comes.
PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
print(child.pid, flush=True)
child.wait()
"""


def test_what_a_program_started_ends_with_it(program: Program) -> None:
    program.start([sys.executable, "-c", PARENT], os.environ)
    child = until(lambda: int(program.said or 0) or None)
    program.close()
    assert not program.runs
    until(lambda: True if ended(child) else None)


#: Starts a program that would not end, names it, and waits to be killed.
TEST = """
import os, signal, sys
from pathlib import Path
from quorate.testing.program import Program
program = Program("it", Path(sys.argv[1]))
child = "import signal; from quorate.testing.program import end_with_parent as end; end()"
program.start([sys.executable, "-c", child + "; print(1, flush=True); signal.pause()"], os.environ)
print(program.pid, flush=True)
signal.pause()
"""


def test_a_program_ends_with_a_test_that_is_killed(program: Program, tmp_path: Path) -> None:
    log = tmp_path / "child.log"
    program.start([sys.executable, "-c", TEST, str(log)], os.environ)
    child = until(lambda: int(program.said or 0) or None)
    until(lambda: (log.exists() and log.read_text()) or None)
    program.close()
    until(lambda: True if ended(child) else None)


def test_a_program_puts_its_clock_where_it_is_told(program: Program) -> None:
    program.start([sys.executable, "-c", CLOCK], os.environ)
    program.tell("3600")
    # The clock of the machine is one that Quorate's code alone does not see.
    until(lambda: True if "3600 0" in program.said else None)
    program.tell("-60")
    until(lambda: True if "-60 0" in program.said else None)


#: Says again and again how far away the time is that Quorate's code and other code see.
CLOCK = """
import time
from quorate.rpc import asking
from quorate.testing.program import end_with_parent
from quorate.testing.program import shift
true = time.time
end_with_parent(shift)
while True:
    print(round(asking.wall_ms() / 1_000 - true()), round(time.time() - true()), flush=True)
    time.sleep(0.01)
"""


def test_the_words_of_all_lives_are_kept(program: Program) -> None:
    for word in ("one", "two"):
        program.start([sys.executable, "-c", f"print({word!r})"], os.environ)
        assert program.wait() == 0
    assert program.said.split() == ["one", "two"]


def test_a_paused_program_can_be_closed(program: Program) -> None:
    program.start([sys.executable, "-c", "import signal; signal.pause()"], os.environ)
    program.send_signal(signal.SIGSTOP)
    program.close()
    assert not program.runs


def test_a_program_is_started_once_at_a_time(program: Program) -> None:
    with pytest.raises(RuntimeError, match="it was not started"):
        program.wait()
    program.start([sys.executable, "-c", "import signal; signal.pause()"], os.environ)
    with pytest.raises(RuntimeError, match="it is already running"):
        program.start([sys.executable, "-c", ""], os.environ)


def ended(pid: int) -> bool:
    """Whether a process is no more, or waits for whoever is to bury it."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return True
    return status.rpartition(")")[2].split()[0] == "Z"
