"""Core's own families in every shard."""

from typing import Final

#: The applied record, under one key.
APPLIED: Final = "core.applied"
#: One row per entry that changed a row of a watched family or emitted an event.
EVENTS: Final = "core.events"
#: The exactly-once sessions, and the recorded answers of each.
SESSIONS: Final = "core.sessions"
ANSWERS: Final = "core.answers"
#: What is due when, by time and by key.
DEADLINES: Final = "core.deadlines"
DEADLINE_KEYS: Final = "core.deadline_keys"
#: The last number of each sequence.
SEQUENCES: Final = "core.sequences"
#: The exact number of rows of each counted family.
COUNTS: Final = "core.counts"
#: The newest token of each fence.
FENCES: Final = "core.fences"
#: The shard's slots, and the node that an operator placed its leader on.
SLOTS: Final = "core.slots"
#: The last writer of each row, while `audit.writers` is on.
WRITERS: Final = "core.writers"
#: Copies of other shards' rows, and the revision of each.
MIRRORS: Final = "core.mirrors"
#: The sets of files that are loaded into the shard, by name.
FILE_SETS: Final = "core.file_sets"
#: The publications of file sets, by group and name: only in metadata/0.
PUBLICATIONS: Final = "core.publications"
#: The shards, and the declaration of each node: only in metadata/0.
SHARDS: Final = "core.shards"
NODES: Final = "core.nodes"
#: The nodes that operators add or remove: only in metadata/0.
MEMBERS: Final = "core.members"
#: The feature levels in force: only in metadata/0.
LEVELS: Final = "core.levels"

#: All of them, in order.
SYSTEM: Final = tuple(
    sorted(
        (
            APPLIED,
            EVENTS,
            SESSIONS,
            ANSWERS,
            DEADLINES,
            DEADLINE_KEYS,
            SEQUENCES,
            COUNTS,
            FENCES,
            FILE_SETS,
            PUBLICATIONS,
            SLOTS,
            MIRRORS,
            SHARDS,
            NODES,
            MEMBERS,
            LEVELS,
            WRITERS,
        )
    )
)

#: Families of few rows share one of the database, where these bytes begin their keys: never give
#: another number to a family that has one.
SMALL: Final = {
    family: bytes([number])
    for number, family in enumerate(
        (
            APPLIED,
            SLOTS,
            SEQUENCES,
            COUNTS,
            FENCES,
            MIRRORS,
            SHARDS,
            NODES,
            MEMBERS,
            PUBLICATIONS,
            LEVELS,
        ),
        1,
    )
}
