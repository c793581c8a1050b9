"""The declarations of the plugin."""

from collections.abc import Sequence

from quorate.plugin import ConfigSection, Declaration, RaftGroup, hookimpl

from quorate_etcd import commands, families
from quorate_etcd.config import EtcdConfig


@hookimpl
def quorate_declarations() -> Sequence[Declaration]:
    return [
        RaftGroup(name=families.GROUP),
        *families.FAMILIES,
        *commands.COMMANDS,
        *commands.ROUTES,
        *commands.QUERIES,
        *commands.TIMERS,
        ConfigSection(model=EtcdConfig),
    ]
