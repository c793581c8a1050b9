"""Connectors for Python programs: `Connectors(q)` over an `AsyncClient`, and `SyncConnectors`.

`ConnectorWorker` runs their tasks.
"""

from quorate_connector.client.connectors import Connectors, SyncConnectors
from quorate_connector.client.working.assigned import AssignedTask
from quorate_connector.client.working.changes import ChangedRows, changes_of
from quorate_connector.client.working.preparing import Runner
from quorate_connector.client.working.secrets import AllowedSecrets, SecretError
from quorate_connector.client.working.worker import ConnectorWorker

__all__ = [
    "AllowedSecrets",
    "AssignedTask",
    "ChangedRows",
    "ConnectorWorker",
    "Connectors",
    "Runner",
    "SecretError",
    "SyncConnectors",
    "changes_of",
]
