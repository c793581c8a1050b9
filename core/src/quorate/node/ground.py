"""The parts that all rooms of a node stand on."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from quorate.config import Settings
from quorate.node.certificates import Certificates
from quorate.node.readiness import Lifecycle
from quorate.node.recordings import Recordings
from quorate.plugin.catalog import Catalog


@dataclass(frozen=True, slots=True)
class Ground:
    """The settings and the plugins of a node, its life, and the records that it keeps."""

    settings: Settings
    catalog: Catalog
    loop: asyncio.AbstractEventLoop
    lifecycle: Lifecycle
    recordings: Recordings
    #: None without TLS.
    certificates: Certificates | None
    #: The release.
    version: str
