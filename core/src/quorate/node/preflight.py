"""Finds errors of a configuration before a start touches a directory or a port."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from quorate.config import Settings
from quorate.consensus.formation import Formation, FormationRefusedError
from quorate.consensus.messages import Peer
from quorate.node.certificates import CertificateError, Certificates
from quorate.node.directory import (
    OtherClusterError,
    OtherProcessesError,
    UnfinishedRestoreError,
    look,
)
from quorate.node.forming import initial_members
from quorate.node.issuer import Issuer, IssuerError
from quorate.node.recordings import demand_traces
from quorate.node.serving import demand_secret
from quorate.observe.audit import AuditError
from quorate.plugin.catalog import Catalog
from quorate.rpc.server import ServingRefusedError
from quorate.topology.replicas.declaration import GroupsDifferError, check_groups

#: Errors about files, which may be delivered or renewed later.
_OF_FILES: Final = (AuditError, CertificateError, IssuerError)
_REFUSED: Final = (
    *_OF_FILES,
    FormationRefusedError,
    GroupsDifferError,
    OtherClusterError,
    OtherProcessesError,
    ServingRefusedError,
    UnfinishedRestoreError,
)


def refusals(settings: Settings, catalog: Catalog) -> Iterator[Exception]:
    """Yield every error that would end the start of a node, or of one worker.

    Changes nothing. Ports in use and other nodes are not checked.
    """

    def groups() -> None:
        check_groups(catalog, settings.groups)

    def members() -> None:
        first_entry = b""
        # A user other than the node's may check a file without access to the directory.
        with suppress(PermissionError):
            first_entry = look(settings)
        if not first_entry and (named := initial_members(settings)):
            Formation(Peer(settings.node.name, 0), tuple(named))

    def certificates() -> None:
        if settings.tls.enabled:
            Certificates(settings.tls, settings.node.name)

    def issuer() -> None:
        if settings.auth.issuer_keys_file is not None:
            Issuer(settings.auth)

    def audit() -> None:
        file = settings.audit.file
        if file is not None and not _is_folder(file.parent):
            raise AuditError(f"{file.parent} is no directory; create it, or correct audit.file")

    checks: tuple[Callable[[], None], ...] = (
        groups,
        members,
        certificates,
        issuer,
        lambda: demand_secret(settings),
        audit,
        lambda: demand_traces(settings),
    )
    for check in checks:
        try:
            check()
        except _REFUSED as error:
            yield error


def may_pass(refusal: Exception) -> bool:
    """Return whether another start may succeed with the same configuration."""
    return isinstance(refusal, _OF_FILES)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except PermissionError:
        return True
