"""The Raft group of the plugin, and the shard keys of its rows."""

from typing import Final

from quorate.plugin import keys

GROUP: Final = "mqtt"


def tenant_shard(tenant: str) -> bytes:
    """Return the shard key of a tenant: users, rules, topics and shared groups share a shard."""
    return keys.pack(tenant)


def tenant_shard_of(key: bytes) -> bytes:
    """Return the shard key of a row in the shard of its tenant, by which its key begins."""
    return keys.pack(keys.unpack(key)[0])


def client_shard(tenant: str, client_id: str) -> bytes:
    """Return the shard key of a client: its session, subscriptions and will share a shard.

    It is computed several times for each of thousands of sessions in a call: text without zeros is
    packed here, which takes a tenth of the time.
    """
    if "\0" in tenant or "\0" in client_id:
        return keys.pack(tenant, client_id)
    return f"\2{tenant}\0\2{client_id}\0".encode()


def client_shard_of(key: bytes) -> bytes:
    """Return the shard key of a row with a key that begins with its tenant and its client."""
    return keys.pack(*keys.unpack(key)[:2])
