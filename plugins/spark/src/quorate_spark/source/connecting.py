"""The clients of a job and of its tasks, for the cluster that options name."""

from __future__ import annotations

from typing import Any

from quorate.client import AsyncClient, Client, connect
from quorate.client.vocabulary import InstalledCommands

from quorate_spark.source.options import ClusterOptions


def client_of(options: ClusterOptions) -> Client:
    """Return a client, for `with`; it imports a plugin with the first command of it."""
    return Client(options.endpoints, **_how(options))


def async_client_of(options: ClusterOptions) -> AsyncClient:
    """Return a client, for `async with`; it imports a plugin with the first command of it."""
    return connect(options.endpoints, **_how(options))


def _how(options: ClusterOptions) -> dict[str, Any]:
    return {
        "timeout_s": options.timeout_s,
        "tls": options.tls,
        "vocabulary": InstalledCommands(),
    }
