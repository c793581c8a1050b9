"""Progress that nobody would go on from: refused, or thrown away where that is asked for."""

from typing import Final

from quorate.plugin import Rejected, Txn

from quorate_connector.tasks import lifecycle
from quorate_connector.v1.connectors_pb2 import Connector, Definition

#: Tasks that a refusal names.
_NAMED: Final = 20


def settle_progress(txn: Txn, connector: Connector, wanted: Definition, *, discard: bool) -> None:
    """Refuse a definition that would orphan progress of tasks, or make them forget it.

    Tasks that would go leave their progress; another type would not understand it.
    """
    kept = 0 if wanted.type != connector.definition.type else wanted.tasks_max
    left = range(kept, connector.definition.tasks_max)
    orphaned = lifecycle.progressed(txn, connector, left)
    if not orphaned:
        return
    if not discard:
        numbers = ", ".join(map(str, orphaned[:_NAMED]))
        more = f" and {len(orphaned) - _NAMED} more" if len(orphaned) > _NAMED else ""
        raise Rejected(
            "PROGRESS_ORPHANED",
            f"tasks {numbers}{more} of connector {connector.name} of tenant {connector.tenant} "
            "have stored progress that would be lost: keep their number and type, or give "
            "discard_progress",
        )
    lifecycle.forget_progress(txn, connector, left)
