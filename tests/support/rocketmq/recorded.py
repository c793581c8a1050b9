"""What stock parts of RocketMQ 5.3.3 said to each other, and a compressed body made of it."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from struct import pack
from typing import Any, Final

_RECORDED: Final = Path(__file__).parents[3] / "plugins/name_server/tests/recorded"


@dataclass(frozen=True)
class Exchange:
    """What a broker or a tool asked the stock name server, and the answer."""

    by: str
    #: The number of the connection.
    connection: int
    asked: tuple[str, str]
    answered: tuple[str, str]

    @property
    def code(self) -> int:
        """The code of the request."""
        return int(json.loads(self.asked[0])["code"])


def exchanges() -> list[Exchange]:
    """Return them in their order."""
    return [
        Exchange(**json.loads(line))
        for line in (_RECORDED / "exchanges.jsonl").read_text(encoding="utf-8").splitlines()
    ]


def registrations() -> list[bytes]:
    """Return the bodies with which a broker registered."""
    return [each.asked[1].encode() for each in exchanges() if each.code == 103]


def compressed(body: bytes) -> bytes:
    """Return the body of a registration as a broker with `compressedRegister` sends it."""
    whole: dict[str, Any] = json.loads(body)
    topics = whole["topicConfigSerializeWrapper"]

    def piece(text: str) -> bytes:
        return pack(">i", len(text.encode())) + text.encode()

    pieces = [piece(json.dumps(topics["dataVersion"])), pack(">i", len(topics["topicConfigTable"]))]
    for each in topics["topicConfigTable"].values():
        said = f"{each['topicName']} {each['readQueueNums']} {each['writeQueueNums']} "
        pieces.append(piece(f"{said}{each['perm']} {each['topicFilterType']} {{}}"))
    pieces.append(piece(json.dumps(whole["filterServerList"])))
    mappings = topics["topicQueueMappingInfoMap"].values()
    pieces.append(pack(">i", len(mappings)))
    pieces += [piece(json.dumps(each)) for each in mappings]
    return zlib.compress(b"".join(pieces), 9)
