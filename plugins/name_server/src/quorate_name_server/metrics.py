"""The metrics of the name server."""

from typing import Final

from quorate.plugin import Metric

REGISTRATIONS: Final = Metric(
    name="quorate_name_server_registrations_total",
    kind="counter",
    help="Registrations that this node answered, by outcome.",
    labels=("outcome",),
)
UNCONFIRMED: Final = Metric(
    name="quorate_name_server_unconfirmed_members",
    kind="gauge",
    help="Members known to this node that no majority has confirmed.",
)

METRICS: Final = (REGISTRATIONS, UNCONFIRMED)
