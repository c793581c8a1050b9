"""Validates a configuration against its type and converts it to the stored form."""

import json
import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, Final

from pydantic import ValidationError
from quorate.plugin import Invalid, NodeApi
from quorate.plugin.checking import check_bytes

from quorate_connector.api import TYPES, ConnectorType, SecretRef
from quorate_connector.types.faults import FIELD, invalid, named, path_of
from quorate_connector.v1.connectors_pb2 import ProgressField

_NAME: Final = re.compile(
    r"passw(or)?d|passphrase|secret|credential|(^|_)token$|(api|access|private|secret)_?key$",
    re.I,
)
#: Patterns that match only secrets, regardless of the field's name.
#: Each runs in time linear in the value: no two parts of a pattern can match the same text.
_VALUES: Final = (
    (re.compile(r"[a-z0-9+.-]://[^/?#\s@:]*:[^/?#\s@]+@", re.I), "holds a password in a URL"),
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"), "holds a private key"),
    (re.compile(r"\b(Bearer|Basic) [A-Za-z0-9+/=._~-]{8,}"), "holds credentials"),
)
_REPAIR: Final = "refer to it, as env:NAME or file:/PATH, in a field that the type has for that"


def clear_text(value: Any, *parts: int | str) -> Iterator[tuple[str, str]]:
    """Yield the path of each secret within a value and the reason, which does not repeat it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from clear_text(inner, *parts, key)
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            yield from clear_text(inner, *parts, position)
    elif isinstance(value, str) and value and not _is_reference(value):
        why = next((said for pattern, said in _VALUES if pattern.search(value)), None)
        if why is None and any(isinstance(each, str) and _NAME.search(each) for each in parts):
            why = "is a secret by its name"
        if why is not None:
            yield path_of(parts), f"{why}: {_REPAIR}"


def _is_reference(value: str) -> bool:
    try:
        SecretRef.of(value)
    except ValueError:
        return False
    return True


#: The size limit of a configuration, in bytes.
LARGEST_CONFIG: Final = 64 << 10


def offered(node: NodeApi) -> Mapping[str, ConnectorType]:
    """Return the connector types that a node's plugins provide, by name."""
    return node.extensions(TYPES, ConnectorType)


def checked(types: Mapping[str, ConnectorType], name: str, config: bytes) -> bytes:
    """Return a configuration in its stored form: complete, with the fields in the type's order.

    Raises `Invalid`, which names every invalid field, or every secret in clear text, and repeats
    no value.
    """
    known = types.get(name)
    if known is None:
        raise Invalid("definition.type", f"unknown type; known types: {', '.join(sorted(types))}")
    check_bytes(FIELD, config, LARGEST_CONFIG)
    fault = None
    try:
        stored = known.model.model_validate_json(config).model_dump_json(by_alias=True).encode()
    except ValidationError as error:
        fault = invalid(error)
    except Exception as error:  # noqa: BLE001 - a third-party validator may raise anything
        fault = Invalid(
            FIELD,
            f"cannot be checked: the model of the type {name} raises {type(error).__name__}, where "
            "it must raise a ValueError; fix the type",
        )
    else:
        fault = named([*clear_text(json.loads(stored))])
    if fault is not None:
        # Raised outside the handler: no exception that holds the input is its context.
        raise fault
    if len(stored) > LARGEST_CONFIG:
        raise Invalid(
            FIELD, f"must have at most {LARGEST_CONFIG} bytes with its defaults, not {len(stored)}"
        )
    return stored


def progress_of(known: ConnectorType, stored: bytes) -> list[ProgressField]:
    """Return the fields of a stored configuration that progress depends on, in the type's order."""
    config = json.loads(stored)
    return [
        ProgressField(
            name=name, digest=sha256(json.dumps(config.get(name), sort_keys=True).encode()).digest()
        )
        for name in known.progress_of
    ]
