from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from quorate.consensus.formation import Introduction, cluster_id
from quorate.consensus.messages import Append, Heartbeat, Message, Peer
from quorate.consensus.peer.network import (
    OTHER_CLUSTER,
    OTHER_REPLICA,
    OTHER_TOKEN,
    UNDELIVERABLE,
    UNKNOWN_NODE,
    token_hash,
)
from quorate.consensus.peer.streams import SERVICE, StreamLimits
from quorate.consensus.peer.wire import (
    Handshake,
    decode_answer,
    decode_introduction,
    encode_frame,
    encode_handshake,
    encode_introduction,
)
from quorate.testing.replica_process.cluster import Cluster, Process
from quorate.testing.waiting import until

TOKEN = token_hash("test")
STRANGER = Peer("z", 26)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(tmp_path) as running:
        running.note(b"before")
        yield running
        # Whatever was sent: every replica is there and has not so much as lost a term.
        for process in running.processes.values():
            assert process.runs, process.said


class Stranger:
    """Somebody who reaches the port of a process."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._channel = grpc.insecure_channel(process.settings.addresses[process.node])
        asked = encode_introduction(Introduction(STRANGER, (), b""), TOKEN)
        answer = self._channel.unary_unary(f"/{SERVICE}/Introduce", None, None)(asked, timeout=10)
        self.introduction, _ = decode_introduction(answer)

    def __enter__(self) -> Stranger:
        return self

    def __exit__(self, *_: object) -> None:
        self._channel.close()

    def handshake(self, peer: Peer) -> Handshake:
        cluster = cluster_id("test", self.introduction.first_entry)
        return Handshake(peer, cluster, TOKEN, 0, self._process.node)

    def send(self, lane: str, *frames: bytes) -> str | None:
        """Send frames on a stream; return the refusal, or None when it was closed without."""
        answers = self._channel.stream_stream(f"/{SERVICE}/{lane}", None, None)(
            iter(frames), timeout=10
        )
        try:
            contents = list(answers)
        except grpc.RpcError:
            return None
        return decode_answer(contents[0]).refusal if contents else None

    def refused(self) -> dict[str, int]:
        counts: dict[str, int] = self._process.status()["refused"]
        return counts


@pytest.mark.short
def test_strangers_are_refused_counted_and_logged_once(cluster: Cluster) -> None:
    leader, follower, _ = cluster.leader(), *cluster.followers()
    member = Peer(*leader.status()["me"])
    with Stranger(follower) as stranger:
        good = stranger.handshake(member)
        bad = {
            OTHER_TOKEN: Handshake(member, good.cluster, b"guess", 0, good.target),
            OTHER_CLUSTER: Handshake(member, b"another", TOKEN, 0, good.target),
            OTHER_REPLICA: stranger.handshake(Peer(member.node, 1)),
            UNKNOWN_NODE: stranger.handshake(STRANGER),
        }
        for reason, handshake in bad.items():
            for lane in ("Control", "Bulk", "Control"):
                assert stranger.send(lane, encode_handshake(handshake)) == reason
            (counted,) = [n for key, n in stranger.refused().items() if reason in key]
            assert counted == 3
            assert follower.said.count(reason) == 1
    cluster.note(b"after")
    assert {"before", "after"} <= set(cluster.read())


def test_what_a_member_sends_is_checked_before_it_is_believed(cluster: Cluster) -> None:
    leader, follower, _ = cluster.leader(), *cluster.followers()
    status = follower.status()
    source, target = Peer(*leader.status()["me"]), Peer(*status["me"])

    def frame(message: Message) -> bytes:
        return encode_frame([("metadata/0", message)])

    bad = {
        "a frame that cannot be read": pickle.dumps({"type": "append_entries", "term": 9}),
        "a frame over the limit": bytes(StreamLimits().received_bytes + 1),
        UNDELIVERABLE: encode_frame([("none", Message(source, target, 1, 1, Heartbeat(1, 1)))]),
        "entries ahead of their sender's term": frame(
            Message(source, target, 1, 1, Append(1, 5, (), 1))
        ),
    }
    with Stranger(follower) as stranger:
        shake = encode_handshake(stranger.handshake(source))
        for content in bad.values():
            assert stranger.send("Bulk", shake, content, content) == ""
        # A replica id that nobody knows, a term from far ahead: the replica itself refuses.
        forged = Message(Peer(source.node, 1), target, 99, 1, Heartbeat(1, 1))
        assert stranger.send("Control", shake, frame(forged)) == ""
        until(lambda: len(stranger.refused()) >= len(bad) or None)
        assert {
            key.partition(": ")[2]: n for key, n in stranger.refused().items()
        } == dict.fromkeys(bad, 2)
    for reason in bad:
        # A shard that is not here may come yet: no warning.
        assert follower.said.count(reason) == (reason != UNDELIVERABLE)
    cluster.note(b"after")
    assert {"before", "after"} <= set(cluster.read())
    assert follower.status()["term"] == status["term"]
