"""Checks a configuration against its type, and brings it into the form that is stored."""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Final

from pydantic import BaseModel, ValidationError
from quorate.plugin import Invalid, NodeApi

from quorate_connector.api import TYPES, ConnectorType
from quorate_connector.types.clear_text import clear_text
from quorate_connector.types.faults import FIELD, invalid, named
from quorate_connector.v1.connectors_pb2 import ProgressField

#: In bytes.
LARGEST_CONFIG: Final = 64 << 10


def offered(node: NodeApi) -> Mapping[str, ConnectorType]:
    """Return the types that the plugins of a node offer, by name."""
    return node.extensions(TYPES, ConnectorType)


def checked(types: Mapping[str, ConnectorType], name: str, config: bytes) -> bytes:
    """Return a configuration as it is stored: complete, and in the order of the type's fields.

    Raises `Invalid`, which names every wrong field, or every secret in clear text, and repeats no
    value.
    """
    model = _model_of(types, name)
    if len(config) > LARGEST_CONFIG:
        raise Invalid(FIELD, f"must have at most {LARGEST_CONFIG} bytes, not {len(config)}")
    fault = None
    try:
        stored = model.model_validate_json(config).model_dump_json(by_alias=True).encode()
    except ValidationError as error:
        fault = invalid(error)
    except Exception as error:  # noqa: BLE001 - a validator of anybody's may raise anything
        fault = Invalid(
            FIELD,
            f"cannot be checked: the model of the type {name} raises {type(error).__name__}, where "
            "it must raise a ValueError; mend the type",
        )
    else:
        fault = named([*clear_text(json.loads(stored))])
    if fault is not None:
        # Raised out here, so that it brings nothing along that holds what was given.
        raise fault
    if len(stored) > LARGEST_CONFIG:
        raise Invalid(
            FIELD, f"must have at most {LARGEST_CONFIG} bytes with its defaults, not {len(stored)}"
        )
    return stored


def progress_of(known: ConnectorType, stored: bytes) -> list[ProgressField]:
    """Return the fields of a stored configuration that progress belongs to, in the type's order."""
    config = json.loads(stored)
    return [
        ProgressField(
            name=name, digest=sha256(json.dumps(config.get(name), sort_keys=True).encode()).digest()
        )
        for name in known.progress_of
    ]


def _model_of(types: Mapping[str, ConnectorType], name: str) -> type[BaseModel]:
    known = types.get(name)
    if known is None:
        raise Invalid(
            "definition.type", f"there is no such type; there are: {', '.join(sorted(types))}"
        )
    return known.model
