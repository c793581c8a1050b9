"""The rooms of the plugin, each of which declares its part."""

from typing import Final

from quorate_connector.connectors.resource import RESOURCE as CONNECTORS
from quorate_connector.resource import Resource
from quorate_connector.scheduling.resource import RESOURCE as SCHEDULING
from quorate_connector.tasks.resource import RESOURCE as TASKS
from quorate_connector.types.resource import RESOURCE as TYPES
from quorate_connector.workers.resource import RESOURCE as WORKERS

RESOURCES: Final[tuple[Resource, ...]] = (TYPES, CONNECTORS, TASKS, WORKERS, SCHEDULING)
