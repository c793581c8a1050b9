"""The authentication and the rights that a node demands of its callers."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from google.protobuf.descriptor import ServiceDescriptor

from quorate.config import Settings
from quorate.config.members import DEFAULT_TOKEN
from quorate.consensus.peer.network import PeerNetwork
from quorate.node import admin_rights
from quorate.node.issuer import Issuer
from quorate.plugin.access import OPERATIONS, Authority, Open, is_reserved
from quorate.plugin.catalog import Catalog
from quorate.plugin.needs import Need, needs_of_core, needs_of_service
from quorate.rpc import audit_service, command_service, file_service, view_service, watch_service
from quorate.rpc.channels import SERVICE as NODE_SERVICE
from quorate.rpc.identities import Identities
from quorate.rpc.node_service import node_of
from quorate.shards.watching.caches import CacheKeeper

_log = logging.getLogger(__name__)

#: The shortest accepted root token.
SHORTEST: Final = 32
#: Minimum interval between reads of the file.
_READ_S: Final = 1.0

_OF_CORE: Final = (
    (admin_rights.SERVICE, admin_rights.ACCESS, OPERATIONS),
    (audit_service.SERVICE, audit_service.ACCESS, OPERATIONS),
    (command_service.SERVICE, command_service.ACCESS, ""),
    (file_service.SERVICE, file_service.ACCESS, OPERATIONS),
    (view_service.SERVICE, view_service.ACCESS, ""),
    (watch_service.SERVICE, watch_service.ACCESS, ""),
)

_NO_SECRET: Final = (
    "any caller could pose as another node: cluster.token is the default one. Set "
    "tls.require_client_cert = true on every node, or found the cluster with a secret token"
)


@dataclass(frozen=True, slots=True)
class Trust:
    """The resolver of callers to identities, and the authority on their rights."""

    identities: Identities
    authority: Authority


def authority_of(settings: Settings, catalog: Catalog, caches: Sequence[CacheKeeper]) -> Authority:
    """Return the authority on the identities of a node's callers."""
    found = next((each.view for each in caches if isinstance(each.view, Authority)), None)
    if found is None:
        return Open()
    kept = [name for name, each in catalog.declared.items() if not each.plugin.built_in]
    secret = settings.cluster.token.get_secret_value() != DEFAULT_TOKEN
    obstacle = "" if secret or settings.tls.require_client_cert else _NO_SECRET
    found.host(kept, [*catalog.declared, *catalog.families, OPERATIONS], obstacle)
    return found


def needs(catalog: Catalog) -> Mapping[str, Need]:
    """Return the rights that callers of each method of a node need, by path.

    The other methods are for nodes, and for probes of the health service.
    """
    found: dict[str, Need] = {}
    for service, access, domain in _OF_CORE:
        found |= _by_path(service, needs_of_core(service, access, domain))
    for plugin, declared in catalog.declared.items():
        for each in declared.services:
            found |= _by_path(each.service, needs_of_service(plugin, each, catalog.commands))
    return found


def _by_path(service: ServiceDescriptor, found: Mapping[str, Need]) -> dict[str, Need]:
    return {f"/{service.full_name}/{name}": need for name, need in found.items()}


async def authority_known(caches: Sequence[CacheKeeper]) -> None:
    """Wait until a node knows the identities and rights of its callers."""
    filled = [each.filled for each in caches if isinstance(each.view, Authority)]
    if filled:
        await asyncio.wait(filled)


def identities_of(settings: Settings, authority: Authority, network: PeerNetwork) -> Identities:
    """Return the resolver of a node's callers to identities; raises `IssuerError`."""
    return Identities(
        authority,
        root_token(settings.auth.root_token_file),
        Issuer(settings.auth).owner_of if settings.auth.issuer_keys_file else None,
        settings.tls.require_client_cert,
        partial(node_of, network),
        partial(is_taken, network),
        frozenset({NODE_SERVICE.full_name}),
    )


def is_taken(network: PeerNetwork, name: str) -> bool:
    """Return whether a name belongs to a node or the cluster, so that no certificate proves it."""
    return is_reserved(name) or network.is_known(name)


def root_token(file: Path | None) -> Callable[[], str]:
    """Return a function that reads the token in a file; "" while the file has no valid one."""
    if file is None:
        return lambda: ""
    token, read_at = "", float("-inf")

    def current() -> str:
        nonlocal token, read_at
        now = time.monotonic()
        if now - read_at >= _READ_S:
            token, read_at = _token_in(file, token), now
        return token

    return current


def _token_in(file: Path, before: str) -> str:
    try:
        found = file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        if before:
            _log.warning("the root token of auth.root_token_file is not accepted: %s", error)
        return ""
    if found and (len(found) < SHORTEST or len(found.split()) > 1):
        _log.warning(
            "the root token in %s is not accepted: it must be one word of %d characters or more",
            file,
            SHORTEST,
        )
        return ""
    return found
