from __future__ import annotations

import pytest
from quorate.plugin.shard_id import ShardId
from quorate.shards.watching.tokens import InvalidTokenError, WatchToken

TOKEN = WatchToken(
    b"cluster", 3, {ShardId("offset", 1): 7 << 20, ShardId("offset", 0): (1 << 63) + 1}
)


def test_a_token_reads_back_as_it_was_given() -> None:
    assert WatchToken.decode(TOKEN.encode()) == TOKEN


def test_equal_tokens_are_equal_bytes() -> None:
    turned = WatchToken(b"cluster", 3, dict(reversed(list(TOKEN.revisions.items()))))

    assert list(turned.revisions) != list(TOKEN.revisions)
    assert turned.encode() == TOKEN.encode()


@pytest.mark.parametrize(
    "content",
    [
        b"\xff",
        b"anything",
        WatchToken(b"cluster", 3, {}).encode(),
        TOKEN.encode() + TOKEN.encode(),
        TOKEN.encode()[:-1],
    ],
)
def test_bytes_that_no_watch_gave_are_refused(content: bytes) -> None:
    with pytest.raises(InvalidTokenError, match="give back one that a watch gave"):
        WatchToken.decode(content)
