"""Another user of the machine reads what a node and `quorate backup` write."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from quorate.client import Client

from tests.abuse.attack import Attack, Broken, Target

#: What most systems give a service.
UMASK = 0o022


async def run(target: Target) -> str:
    """Look for files and directories that are open to the group or to others."""
    assert target.cluster is not None
    [node] = target.cluster.nodes.values()
    with Client(target.endpoints) as client:
        client.kv.put("abuse/secret", b"1")
    # It was there before, as one that an operator or a former release has made.
    node.stop()
    node.directory.chmod(0o755)
    node.start()
    node.ready()
    backup = node.file.parent / "backup"
    backing_up = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "quorate.cli", "backup", str(backup)),
        env={**os.environ, "QUORATE_ENDPOINTS": target.endpoints},
        umask=UMASK,
    )
    assert await asyncio.wait_for(backing_up.wait(), 60) == 0
    found = [
        path for top in (node.directory, backup) for path in (top, *top.rglob("*")) if path.exists()
    ]
    opened = [path for path in found if path.stat().st_mode & 0o077]
    if opened:
        raise Broken(f"others read {len(opened)} of {len(found)} files, such as {_shown(opened)}")
    return f"{len(found)} files of a node and a backup are their user's alone"


def _shown(paths: list[Path]) -> str:
    return ", ".join(f"{path.stat().st_mode & 0o777:o} {path.name}" for path in paths[:3])


ATTACK = Attack(run=run, nodes=1, own_cluster=True)
