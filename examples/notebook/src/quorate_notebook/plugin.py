"""What the plugin declares: every hook that it implements, and nothing else."""

from collections.abc import Sequence
from typing import Any

from quorate.plugin import RaftGroup, Resource, hookimpl

from quorate_notebook.notes import NOTES


@hookimpl
def quorate_raft_groups() -> Sequence[RaftGroup]:
    return [RaftGroup(name=NOTES.group)]


@hookimpl
def quorate_resources() -> Sequence[Resource[Any]]:
    return [NOTES]
