"""The declarations of the plugin."""

from collections.abc import Sequence

from quorate.plugin import Declaration, RaftGroup, hookimpl

from quorate_notebook.notes import NOTES


@hookimpl
def quorate_declarations() -> Sequence[Declaration]:
    return [RaftGroup(name=NOTES.group), NOTES]
