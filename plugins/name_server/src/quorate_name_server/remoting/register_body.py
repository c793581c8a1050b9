"""The body of a registration: the topics of a broker, as JSON or compressed."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from struct import Struct, error as StructError
from typing import Any, Final

from quorate_name_server.remoting.frames import LARGEST_FRAME
from quorate_name_server.remoting.java_json import BodyError, loads
from quorate_name_server.v1 import commands_pb2 as pb, rows_pb2 as rows

#: Releases before this one send only their topics.
_WHOLE_BODY_SINCE: Final = 37
#: Compressed bodies of releases before this one end without mappings of static topics.
_MAPPINGS_SINCE: Final = 413
#: The size limit of a decompressed body, in bytes.
LARGEST_BODY: Final = LARGEST_FRAME
_COMPRESSED: Final = 0x78
_COUNT: Final = Struct(">i")


def read_body(said: pb.Registration, body: bytes, *, version: int) -> None:
    """Fill a registration from its body; raises `BodyError`.

    `version` is that of the sender. A compressed body is recognised by its first byte: stock
    brokers do not declare the compression in the header.
    """
    if not body:
        said.data_version.SetInParent()
        said.filter_servers.SetInParent()
        return
    try:
        if body[0] == _COMPRESSED:
            _read_compressed(said, _Pieces(_inflated(body)), version)
        elif version < _WHOLE_BODY_SINCE:
            _read_topics(said, _object(loads(body)))
            said.filter_servers.SetInParent()
        else:
            whole = _object(loads(body))
            _read_topics(said, _object(whole.get("topicConfigSerializeWrapper") or {}))
            if whole.get("filterServerList") is not None:
                said.filter_servers.addresses[:] = whole["filterServerList"]
                said.filter_servers.SetInParent()
    except (TypeError, ValueError, AttributeError, StructError) as error:
        raise BodyError(f"the body is not a registration: {error}"[:200]) from None


def data_version(said: Any) -> rows.DataVersion:
    """Parse a data version from JSON; raises `BodyError`."""
    try:
        return rows.DataVersion(
            state_version=said.get("stateVersion", 0),
            timestamp=said.get("timestamp", 0),
            counter=said.get("counter", 0),
        )
    except (TypeError, ValueError, AttributeError) as error:
        raise BodyError(f"not a data version: {error}"[:200]) from None


def queues(said: Mapping[str, Any]) -> rows.Queues:
    """Parse the queues of a topic from JSON."""
    return rows.Queues(
        read_queues=said.get("readQueueNums", 0),
        write_queues=said.get("writeQueueNums", 0),
        perm=said.get("perm", 0),
        # Releases before 5 misspelled the name.
        topic_sys_flag=said.get("topicSysFlag", said.get("topicSynFlag", 0)),
    )


def _read_topics(said: pb.Registration, topics: Mapping[str, Any]) -> None:
    said.data_version.CopyFrom(data_version(topics.get("dataVersion") or {}))
    for name, each in _object(topics.get("topicConfigTable") or {}).items():
        said.topics.add(topic=name, queues=queues(each))
    for name, each in _object(topics.get("topicQueueMappingInfoMap") or {}).items():
        _read_mapping(said, name, each)


def _read_mapping(said: pb.Registration, topic: str, mapping: Mapping[str, Any]) -> None:
    held = said.mappings.add(topic=topic, broker=mapping.get("bname") or "").mapping
    held.total_queues = mapping.get("totalQueues", 0)
    held.epoch = mapping.get("epoch", 0)
    held.scope = mapping.get("scope") or ""
    held.dirty = mapping.get("dirty", False)
    by_id = _object(mapping.get("currIdMap") or {})
    for logical, physical in sorted((int(key), value) for key, value in by_id.items()):
        held.queues.add(logical=logical, physical=physical)


def _read_compressed(said: pb.Registration, pieces: _Pieces, version: int) -> None:
    said.data_version.CopyFrom(data_version(loads(pieces.text())))
    for _ in range(pieces.count()):
        name, read, write, perm = pieces.text().split(" ")[:4]
        held = rows.Queues(read_queues=int(read), write_queues=int(write), perm=int(perm))
        said.topics.add(topic=name, queues=held)
    said.filter_servers.addresses[:] = loads(pieces.text()) or ()
    said.filter_servers.SetInParent()
    if version >= _MAPPINGS_SINCE:
        for _ in range(pieces.count()):
            mapping = _object(loads(pieces.text()))
            _read_mapping(said, mapping["topic"], mapping)


class _Pieces:
    """Reads counts and texts in sequence."""

    def __init__(self, source: bytes) -> None:
        self._source: Final = source
        self._at = 0

    def count(self) -> int:
        (count,) = _COUNT.unpack_from(self._source, self._at)
        self._at += _COUNT.size
        return int(count)

    def text(self) -> str:
        size = self.count()
        end = self._at + size
        if size < 0 or end > len(self._source):
            raise BodyError(f"a piece of the body has {size:,} bytes")
        piece, self._at = self._source[self._at : end], end
        return piece.decode()


def _inflated(body: bytes) -> bytes:
    inflating = zlib.decompressobj()
    try:
        inflated = inflating.decompress(body, LARGEST_BODY)
    except zlib.error as error:
        raise BodyError(f"the body cannot be decompressed: {error}") from None
    if not inflating.eof:
        raise BodyError(f"the body has more than {LARGEST_BODY:,} bytes, or is cut off")
    return inflated


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise BodyError(f"not an object: {value!r}"[:200])
    return value
