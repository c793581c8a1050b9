"""The clients of a job and of its tasks, for the cluster that options name."""

from __future__ import annotations

from quorate.client import AsyncClient, Client, connect
from quorate.client.vocabulary import InstalledCommands

from quorate_spark.source.options import FeedOptions, ReadOptions, SinkOptions, WriteOptions

_Options = WriteOptions | ReadOptions | FeedOptions | SinkOptions


def client_of(options: _Options) -> Client:
    """Return a client, for `with`; it imports a plugin with the first command of it."""
    return Client(
        options.endpoints,
        timeout_s=options.timeout_s,
        tls=options.tls,
        vocabulary=InstalledCommands(),
    )


def async_client_of(options: _Options) -> AsyncClient:
    """Return a client, for `async with`; it imports a plugin with the first command of it."""
    return connect(
        options.endpoints,
        timeout_s=options.timeout_s,
        tls=options.tls,
        vocabulary=InstalledCommands(),
    )
