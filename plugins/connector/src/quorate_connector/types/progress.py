"""What the progress of tasks belongs to, so that it can be told when a configuration changes it."""

import json
from hashlib import sha256

from quorate_connector.api import ConnectorType
from quorate_connector.v1.connectors_pb2 import ProgressField


def progress_of(known: ConnectorType, stored: bytes) -> list[ProgressField]:
    """Return the fields of a stored configuration that progress belongs to, in the type's order."""
    config = json.loads(stored)
    return [
        ProgressField(
            name=name, digest=sha256(json.dumps(config.get(name), sort_keys=True).encode()).digest()
        )
        for name in known.progress_of
    ]
