"""The families that core keeps in every shard beside those of the plugins."""

from typing import Final

#: The applied record, under one key.
APPLIED: Final = "core.applied"
#: One row per entry that changed a row of a watched family or emitted an event.
EVENTS: Final = "core.events"
#: The exactly-once sessions, and the answers that are remembered for each.
SESSIONS: Final = "core.sessions"
ANSWERS: Final = "core.answers"
#: What is due when, by time and by key.
DEADLINES: Final = "core.deadlines"
DEADLINE_KEYS: Final = "core.deadline_keys"
#: The last number of each sequence.
SEQUENCES: Final = "core.sequences"
#: The exact number of rows of each family that asks for it.
COUNTS: Final = "core.counts"
#: What the shard knows of itself: the slots that it owns, and whom it was handed to.
SLOTS: Final = "core.slots"
#: Copies of other shards' rows, and how far each has come.
MIRRORS: Final = "core.mirrors"
#: Which shards there are, and what each node declared: in metadata/0 alone.
SHARDS: Final = "core.shards"
NODES: Final = "core.nodes"
#: The nodes that operators added or remove: in metadata/0 alone.
MEMBERS: Final = "core.members"

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
            SLOTS,
            MIRRORS,
            SHARDS,
            NODES,
            MEMBERS,
        )
    )
)
