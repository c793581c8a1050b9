"""Progress that nobody would go on from: refused, or thrown away where that is asked for."""

from typing import Final

from quorate.plugin import Rejected, Txn

from quorate_connector.tasks import lifecycle
from quorate_connector.v1.connectors_pb2 import Connector, Definition

#: Tasks that a refusal names.
_NAMED: Final = 20


def settle_progress(txn: Txn, connector: Connector, wanted: Definition, *, discard: bool) -> None:
    """Refuse a definition that would orphan progress of tasks, or make them forget it.

    Tasks that would go leave their progress; another type would not understand it, and in another
    place, as the fields that progress belongs to tell it, it would mean something else.
    """
    moved = _moved(connector.definition, wanted)
    left = range(0 if moved else wanted.tasks_max, connector.definition.tasks_max)
    orphaned = lifecycle.progressed(txn, connector, left)
    if not orphaned:
        return
    if not discard:
        numbers = ", ".join(map(str, orphaned[:_NAMED]))
        more = f" and {len(orphaned) - _NAMED} more" if len(orphaned) > _NAMED else ""
        raise Rejected(
            "PROGRESS_ORPHANED",
            f"tasks {numbers}{more} of connector {connector.name} of tenant {connector.tenant} "
            "have stored progress that would be lost: keep "
            f"{', '.join(moved or ['tasks_max'])}, or give discard_progress",
        )
    lifecycle.forget_progress(txn, connector, left)


def _moved(present: Definition, wanted: Definition) -> list[str]:
    """Return what progress belongs to and is not the same, of what both definitions tell."""
    if wanted.type != present.type:
        return ["type"]
    digests = {field.name: field.digest for field in present.progress_of}
    return [
        f"config.{field.name}"
        for field in wanted.progress_of
        if digests.get(field.name, field.digest) != field.digest
    ]
