"""How the nodes of `quorate dev` end: what happened, and what to do about it."""

from __future__ import annotations

import signal

from quorate.cli.dev.processes import NodeProcess
from quorate.cli.failures import ExitCode, Problem


def ended(process: NodeProcess, code: int) -> Problem:
    """Say how a node ended while the others went on, and whether to start it again."""
    if code == ExitCode.REMOVED:
        return _removed(process)
    said = cut_short(process, code)
    again = f"start it again with `quorate serve --config {process.node.config}`"
    return Problem(f"{said.sentence}\n{again}", said.parts)


def cut_short(process: NodeProcess, code: int) -> Problem:
    """Say how a node ended, with the end of its log."""
    node, lines = process.node, process.last_lines()
    how = f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
    return Problem(
        "\n  ".join([f"{node.name} ended with {how}; {node.log} ends with:", *lines]),
        {
            "what": f"{node.name} ended with {how}",
            "fix": f"read {node.log}",
            "node": node.name,
            "exit_code": code,
            "log": lines,
        },
    )


def _removed(process: NodeProcess) -> Problem:
    """Say that a node is out of the cluster, in its own last words: they say what to do."""
    node, [*_, last] = process.node, ["", *process.last_lines()]
    sentence = f"{node.name} has ended: {last.removeprefix('error: ')}"
    return Problem(
        sentence,
        {"what": sentence, "fix": "", "node": node.name, "exit_code": int(ExitCode.REMOVED)},
    )
