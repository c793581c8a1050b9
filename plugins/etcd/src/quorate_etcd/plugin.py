"""The declarations of the plugin."""

from collections.abc import Sequence

from quorate.plugin import ConfigSection, Declaration, RaftGroup, hookimpl

from quorate_etcd import families
from quorate_etcd.config import EtcdConfig


@hookimpl
def quorate_declarations() -> Sequence[Declaration]:
    return [
        RaftGroup(name=families.GROUP),
        *families.FAMILIES,
        ConfigSection(model=EtcdConfig),
    ]
