"""Validates messages, and routes them to shards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, NamedTuple

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message

from quorate.apply.control import ControlRoute
from quorate.apply.entries import LoggedCommand
from quorate.apply.outcomes import UNKNOWN_COMMAND
from quorate.config.sections import LimitsSection
from quorate.plugin import Command, Invalid, Rejected
from quorate.plugin.batch_split import ShardCommand, items_field, split, split_rest, wrong_items
from quorate.plugin.catalog import Catalog
from quorate.plugin.declarations import ReadBatch
from quorate.plugin.shard_id import ShardId
from quorate.plugin.slots import slot_of
from quorate.shards.routing.slot_map import SlotMap
from quorate.v1.batch_pb2 import ItemRefusal

_BOUNDED: Final = (Message, str, bytes)
#: How much of the name of an unknown command a refusal repeats.
_SHOWN: Final = 200


def declared(catalog: Catalog, name: str) -> Command[Any]:
    """Return a command; raises `LookupError` for an undeclared one."""
    command = catalog.commands.get(name)
    if command is None:
        raise LookupError(f"command {name} is not declared; return it from quorate_declarations")
    return command


def parse_public(catalog: Catalog, name: str, payload: bytes) -> Message:
    """Parse a command of a client; raises `Invalid`, also for an internal one."""
    command = catalog.commands.get(name)
    if command is None or not command.public:
        what = "internal: no client may send it" if command else "not known here"
        # Callers need no list of what there is.
        known = (each for each, found in catalog.commands.items() if found.public)
        near = get_close_matches(shown := name[:_SHOWN], known, n=1)
        advice = f"did you mean {near[0]}?" if near else "use one that its plugin's page names"
        raise Invalid("type", f"the command {shown} is {what}; {advice}")
    return _read(command, payload)


class Checked(NamedTuple):
    """What the check of a message has found."""

    #: The items to leave out.
    refused: tuple[ItemRefusal, ...] = ()
    #: What was read of a usual batch.
    read: ReadBatch | None = None
    #: The message, serialized; None if that of the rest has to be.
    payload: bytes | None = None


_UNCHECKED: Final = Checked()


def checked(
    command: Command[Any],
    message: Message,
    limits: LimitsSection,
    refused: tuple[ItemRefusal, ...] = (),
) -> Checked:
    """Check a message without some items, and leave out invalid ones as well.

    One bad item never hides the others. Raises `Invalid` for what is wrong as a whole, and for a
    batch of one: that is a single call.
    """
    try:
        found = check(command, message, limits)
        return found._replace(refused=refused) if refused else found
    except Invalid:
        # Most batches are right, and are looked at only once.
        items = command.items
        if items is None or not 1 < len(items.get(message)) <= limits.batch_items:
            raise

    def check_part(part: Message) -> None:
        check(command, part, limits)

    return Checked(wrong_items(items, message, check_part, refused))


def check(command: Command[Any], message: Message, limits: LimitsSection) -> Checked:
    """Raise `Invalid` for a message that is too large or that its plugin refuses."""
    # To tell its size takes as long.
    payload = message.SerializeToString()
    size = len(payload)
    if size > limits.command_bytes:
        check_size(message.DESCRIPTOR.full_name, size, limits)
    if command.items is not None:
        items = command.items.get(message)
        count = len(items)
        if count > limits.batch_items:
            raise Invalid(
                items_field(message, items),
                f"a batch of {count} items; at most {limits.batch_items} allowed "
                "(limits.batch_items); send several",
            )
    # A field is never longer than its message, so most messages need no check of fields.
    if size > limits.value_bytes:
        _check_values(message, limits.value_bytes, "")
    read = None
    if command.items is not None and command.items.read is not None:
        read = command.items.read(message)
    if read is None and command.validate is not None:
        command.validate(message)
    return Checked((), read, payload)


def check_size(name: str, size: int, limits: LimitsSection) -> None:
    """Raise `Invalid` for a command that is too large, which need not have been parsed."""
    if size > limits.command_bytes:
        raise Invalid(
            "command",
            f"{name} has {size} bytes; at most {limits.command_bytes} allowed "
            "(limits.command_bytes); send less at once",
        )


def route(
    command: Command[Any],
    message: Message,
    slot_map: SlotMap,
    limits: LimitsSection,
    found: Checked = _UNCHECKED,
) -> list[ShardCommand]:
    """Return the command of each shard, without the items to leave out.

    Raises `Invalid` and `UnknownShardError`.
    """
    group = command.group
    refused, read, payload = found
    if refused:
        holder = slot_map.holders(group).__getitem__
        return split_rest(command, message, refused, holder, key_bytes=limits.key_bytes)
    if command.shard_key is None:
        return split(
            command,
            message,
            slot_map.holders(group).__getitem__,
            key_bytes=limits.key_bytes,
            read=read,
            payload=payload,
            only=slot_map.only.get(group),
        )
    shard_key = command.shard_key(message)
    if len(shard_key) > limits.key_bytes:
        raise Invalid(
            "shard_key",
            f"{message.DESCRIPTOR.full_name} has a shard key of {len(shard_key)} bytes; "
            f"at most {limits.key_bytes} allowed (limits.key_bytes)",
        )
    slot = slot_of(shard_key)
    shard = slot_map.holder(group, slot)
    return [ShardCommand(shard=shard, message=message, slots=(slot,), payload=payload)]


def check_session(parts: Sequence[ShardCommand]) -> None:
    """Raise `Invalid` for an operation of a session on more than one shard."""
    if len(parts) > 1:
        named = ", ".join(str(part.shard) for part in parts)
        raise Invalid(
            "session",
            f"the batch goes to {len(parts)} shards ({named}), and a session belongs to one; "
            "send a separate batch to each",
        )


def check_forwarded(
    catalog: Catalog,
    control: Mapping[str, ControlRoute],
    shard: ShardId,
    logged: LoggedCommand,
    limits: LimitsSection,
    knowing: Callable[[str], Sequence[str]],
) -> tuple[Message, ReadBatch | None] | None:
    """Return a forwarded command, and what was read of it; None for one of core's own.

    Raises `Invalid` for one that this node or shard would not accept. An unknown command is
    `Rejected`; `knowing` returns the nodes that know it.
    """
    if logged.slotless:
        own = control.get(logged.type)
        if own is None:
            raise Invalid(
                "type", f"{logged.type} is not one of core's own commands: it needs slots"
            )
        _parsed(own.message.FromString, logged.type, logged.payload)
        return None
    command = catalog.commands.get(logged.type)
    if command is None:
        raise Rejected(
            UNKNOWN_COMMAND,
            f"no plugin that is enabled on the leader of shard {shard} knows command {logged.type};"
            f" known to: {', '.join(knowing(logged.type)) or 'no node'}; enable its plugin, in that"
            " version, on all nodes, or transfer the shard to a node that knows it",
        )
    message = _read(command, logged.payload)
    if command.group != shard.group:
        raise Invalid(
            "shard", f"{logged.type} belongs to group {command.group}, and was sent to {shard}"
        )
    read = check(command, message, limits).read
    if tuple(logged.slots) != _slots(command, message, shard, limits, read):
        raise Invalid(
            "slots",
            f"{logged.type} touches other slots than the sending node has named: the two have "
            "different versions of its plugin; compare `quorate plugin list` on each",
        )
    return message, read


def _slots(
    command: Command[Any],
    message: Message,
    shard: ShardId,
    limits: LimitsSection,
    read: ReadBatch | None,
) -> tuple[int, ...]:
    if command.shard_key is None:
        parts = split(command, message, lambda _: shard, key_bytes=limits.key_bytes, read=read)
        return tuple(slot for part in parts for slot in part.slots)
    return (slot_of(command.shard_key(message)),)


def _read(command: Command[Any], payload: bytes) -> Message:
    return _parsed(command.message.FromString, command.message.DESCRIPTOR.full_name, payload)


def _parsed(parse: Callable[[bytes], Message], name: str, payload: bytes) -> Message:
    try:
        return parse(payload)
    except DecodeError:
        raise Invalid("command", f"its {len(payload)} bytes are not a {name}") from None


def _check_values(message: Message, value_bytes: int, within: str) -> None:
    for field, value in message.ListFields():
        path = f"{within}{field.name}"
        for position, each in _values(field, value):
            at = path if position is None else f"{path}[{position}]"
            if isinstance(each, Message):
                _check_values(each, value_bytes, f"{at}.")
                continue
            size = len(each.encode()) if isinstance(each, str) else len(each)
            if size > value_bytes:
                raise Invalid(
                    at, f"{size} bytes; at most {value_bytes} allowed (limits.value_bytes)"
                )


def _values(field: FieldDescriptor, value: Any) -> list[tuple[object, Any]]:
    """Return the messages, strings and bytes of a field, each with its position or key."""
    if isinstance(value, _BOUNDED):
        return [(None, value)]
    if isinstance(value, (int, float)):
        return []
    is_map = field.message_type is not None and field.message_type.GetOptions().map_entry
    found = list(value.items() if is_map else enumerate(value))
    return [(key, each) for key, each in found if isinstance(each, _BOUNDED)]
