"""The queues of topics as rows of a table, for bulk loads and reads."""

from typing import Final

from quorate.plugin import Invalid, keys
from quorate.plugin.advanced import Column, Table

from quorate_name_server.families import QUEUES
from quorate_name_server.v1 import commands_pb2 as pb, rows_pb2 as rows
from quorate_name_server.validation import LARGEST_NUMBER, check_name

_NUMBERS: Final = ("read_queues", "write_queues", "perm", "topic_sys_flag")


def to_item(topic: str, broker: str, *numbers: int) -> pb.BrokerQueues:
    """Return the queues of a topic on a broker, which must be registered at the write."""
    for column, text in (("topic", topic), ("broker", broker)):
        check_name(column, text)
    for column, number in zip(_NUMBERS, numbers, strict=True):
        if not 0 <= number <= LARGEST_NUMBER:
            raise Invalid(column, f"must be from 0 to {LARGEST_NUMBER}, not {number}")
    queues = rows.Queues(**dict(zip(_NUMBERS, numbers, strict=True)))
    return pb.BrokerQueues(topic=topic, broker=broker, queues=queues)


def from_row(key: bytes, value: bytes) -> tuple[object, ...]:
    """Return queues as their columns."""
    queues = rows.Queues.FromString(value)
    return *keys.unpack(key), *(getattr(queues, column) for column in _NUMBERS)


TABLE: Final = Table(
    family=QUEUES,
    columns=(
        Column(name="topic", type="string"),
        Column(name="broker", type="string"),
        *(Column(name=column, type="long") for column in _NUMBERS),
    ),
    key=("topic", "broker"),
    write=pb.PutQueues,
    to_item=to_item,
    from_row=from_row,
    to_key=keys.pack,
)
