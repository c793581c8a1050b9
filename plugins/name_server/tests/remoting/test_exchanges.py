"""What a stock broker and stock tools asked is answered as the stock name server answered it."""

from __future__ import annotations

import json
from typing import Any

from quorate_name_server.remoting.frames import frame
from quorate_name_server.remoting.java_json import BodyError, loads

from tests.support.rocketmq.peers import Doors, Peer
from tests.support.rocketmq.recorded import exchanges

#: What depends on where the name server runs.
PLACES = ("configStorePath=", "kvConfigPath=", "listenPort=", "rocketmqHome=")
UPDATE_PROPERTIES = 318


async def test_the_answers_are_those_of_the_stock_name_server(door: Doors) -> None:
    peers: dict[int, Peer] = {}
    # The stock name server was started with the property that a tool has set later.
    for each in sorted(exchanges(), key=lambda each: each.code != UPDATE_PROPERTIES):
        if each.connection not in peers:
            peers[each.connection] = await door.connect()
        peer = peers[each.connection]
        header, body = each.asked

        peer.writer.write(frame(header.encode(), body.encode()))
        answer = await peer.answer()

        expected_header, expected_body = each.answered
        assert without_origin(answer.header) == without_origin(json.loads(expected_header)), each.by
        assert said(answer.body.decode()) == said(expected_body), each.by


def without_origin(header: dict[str, Any]) -> dict[str, Any]:
    left_out = ("language", "serializeTypeCurrentRPC")
    return {key: value for key, value in header.items() if key not in left_out}


def said(body: str) -> Any:
    """Return what a body says, whatever its order and its place."""
    try:
        value = loads(body or "null")
    except BodyError:
        return [line for line in body.splitlines() if not line.startswith(PLACES)]
    if isinstance(value, dict) and "topicList" in value:
        value["topicList"].sort()
    return value
