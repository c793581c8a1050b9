"""What is measured on the node that leads."""

from typing import Final

from quorate.plugin import Metric

ASSIGNED: Final = Metric(
    name="quorate_connector_assigned_total",
    kind="counter",
    help="Tasks that the scheduler gave to workers.",
)
RELEASED: Final = Metric(
    name="quorate_connector_released_total",
    kind="counter",
    help="Tasks that the scheduler asked workers to let go of.",
)
RECLAIMED: Final = Metric(
    name="quorate_connector_reclaimed_total",
    kind="counter",
    help="Tasks that were taken from workers that had left or were silent.",
)
TASKS: Final = Metric(
    name="quorate_connector_tasks",
    kind="gauge",
    help="Tasks by state.",
    labels=("state",),
)
WORKERS: Final = Metric(
    name="quorate_connector_workers",
    kind="gauge",
    help="Workers that can be given tasks.",
)

METRICS: Final = (ASSIGNED, RELEASED, RECLAIMED, TASKS, WORKERS)
