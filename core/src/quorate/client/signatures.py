"""What methods take and answer: bytes of another message would be read as if they were right."""

from functools import cache
from typing import NamedTuple

from google.protobuf import descriptor_pool, message_factory
from google.protobuf.message import Message

from quorate.client.errors import InvalidError


class _Signature(NamedTuple):
    request: type[Message]
    response: type[Message]


def check_call(method: str, request: Message, response: type[Message]) -> None:
    """Raise `InvalidError` unless the method takes the one and answers with the other.

    A method whose file is not imported here is not known, and not checked.
    """
    known = _signature(method)
    if known is None:
        return
    for field, given, expected in (
        ("request", type(request), known.request),
        ("response", response, known.response),
    ):
        if given is not expected:
            verb = "takes" if field == "request" else "answers with"
            raise InvalidError(
                field,
                f"{method} {verb} {expected.DESCRIPTOR.full_name}, not "
                f"{given.DESCRIPTOR.full_name}",
            )


@cache
def _signature(method: str) -> _Signature | None:
    name = method.removeprefix("/").replace("/", ".")
    try:
        found = descriptor_pool.Default().FindMethodByName(name)
    except KeyError:
        return None
    return _Signature(
        message_factory.GetMessageClass(found.input_type),
        message_factory.GetMessageClass(found.output_type),
    )
