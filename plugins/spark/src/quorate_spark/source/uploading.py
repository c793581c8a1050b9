"""Sends sorted files to every node with a replica of their shard: in parts, and on after a loss."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from quorate.client import AsyncClient, OutcomeUnknownError, RejectedError, UnavailableError
from quorate.v1 import files_pb2 as pb

from quorate_spark.source.adaptive_rate import AdaptiveRate

_log = logging.getLogger(__name__)

PART_BYTES: Final = 1 << 20
_SEND: Final = "/quorate.v1.FileService/Send"
_RETRY_S: Final = 0.5
#: A node that does not answer for so long is left to get its files from the others.
_LOST_S: Final = 5.0
#: Seconds between two reports of a pause.
_TOLD_S: Final = 10.0


class Uploads:
    """The way of files to the nodes of one shard."""

    def __init__(
        self,
        client: AsyncClient,
        place: pb.SendFileRequest,
        nodes: Sequence[str],
        timeout_s: float,
    ) -> None:
        self._client: Final = client
        #: The group, the shard and the name of the file set.
        self._place: Final = place
        self._nodes: Final = nodes
        self._timeout_s: Final = timeout_s
        self._rates: Final = {node: AdaptiveRate(1) for node in nodes}
        #: Nodes that have not answered for as long as there was time: they get their files from
        #: the others.
        self._lost: Final[set[str]] = set()

    async def send(self, path: Path, file: pb.SortedFile) -> None:
        """Send a file; return once it is durable on a majority of the nodes.

        Raises `QuorateError`.
        """
        nodes = [node for node in self._nodes if node not in self._lost]
        sent = await asyncio.gather(
            *(self._send_to(node, path, file) for node in nodes), return_exceptions=True
        )
        failed: BaseException | None = None
        for node, result in zip(nodes, sent, strict=True):
            if isinstance(result, UnavailableError | OutcomeUnknownError):
                self._lost.add(node)
                failed = result
            elif isinstance(result, BaseException):
                raise result
        if failed is not None and 2 * (len(self._nodes) - len(self._lost)) <= len(self._nodes):
            raise failed

    async def _send_to(self, node: str, path: Path, file: pb.SortedFile) -> None:
        rate, calls = self._rates[node], self._client.at(node)
        # A file that was sent before is there whole.
        received = 0
        went_on_s = told_s = time.monotonic()
        with path.open("rb") as opened:
            while received < file.size:
                opened.seek(received)
                request = pb.SendFileRequest(
                    group=self._place.group,
                    shard=self._place.shard,
                    name=self._place.name,
                    file=pb.SortedFile(
                        family=file.family, digest=file.digest, size=file.size, rows=file.rows
                    ),
                    offset=received,
                    content=opened.read(PART_BYTES),
                )
                if (rest_s := rate.rests_until_s - time.monotonic()) > 0:
                    await asyncio.sleep(rest_s)
                began_s = time.monotonic()
                try:
                    answer = await calls.call(_SEND, request, pb.SendFileResponse)
                except (UnavailableError, OutcomeUnknownError):
                    if time.monotonic() - went_on_s > _LOST_S:
                        raise
                    await asyncio.sleep(_RETRY_S)
                    continue
                now_s = time.monotonic()
                if answer.full:
                    if now_s - went_on_s > self._timeout_s:
                        # Without it the files could not be put in place either.
                        raise RejectedError(
                            "RESOURCE_EXHAUSTED",
                            f"the load waited {self._timeout_s:.0f} s for {node}: {answer.full}",
                        )
                    if now_s >= told_s:
                        told_s = now_s + _TOLD_S
                        _log.warning("the load waits for %s: %s", node, answer.full)
                    await asyncio.sleep(_RETRY_S)
                    continue
                rate.answered(began_s, now_s)
                went_on_s, received = now_s, answer.received


async def opened_sets(
    client: AsyncClient, group: str, keys: dict[int, bytes], name: str, command: str
) -> dict[int, bytes]:
    """Open a file set on every shard of a group; return the responses by shard, serialized."""

    async def open_on(shard: int, key: bytes) -> bytes:
        request = pb.OpenFilesRequest(group=group, shard=shard, name=name, command=command)
        opened = await client.call(
            "/quorate.v1.FileService/Open",
            request,
            pb.OpenFilesResponse,
            group=group,
            shard_key=key,
        )
        return opened.SerializeToString()

    found = await asyncio.gather(*(open_on(shard, key) for shard, key in keys.items()))
    return dict(zip(keys, found, strict=True))


def set_name(load_id: str) -> str:
    """Return the name of the file sets of a load."""
    return f"spark/{load_id}"
