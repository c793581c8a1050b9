"""The resource of replica sets, with its verbs and checks.

The codes of RocketMQ's controller (`remoting/codes.py`) and the methods behind them:
1013 `ApplyId`, 1003 `Register`, 904 `Heartbeat`, 1002 `Elect`, 1001 `AlterInSync`, 1011 `Clean`.
1012, 1004 and 1006 read the rows. The end of a process is `Lose`, and 1008 follows the rows.
"""

from typing import Final

from quorate.plugin import Invalid, Item, Resource, Timer, Verb
from quorate.plugin.checking import check_count, check_most

from quorate_name_server.families import GROUP
from quorate_name_server.replication import apply
from quorate_name_server.replication.electing import elect
from quorate_name_server.replication.rows import LIVES, SETS, replica_key
from quorate_name_server.v1 import replica_sets_pb2 as pb
from quorate_name_server.validation import LONGEST_TIMEOUT_MS, check_member, check_name, check_texts

#: The most replicas of one set.
MOST_REPLICAS: Final = 100


def check_id(wanted: pb.ReplicaId, path: str) -> None:
    """Refuse an application with an invalid name, cluster, check code or id."""
    check_texts(wanted, path, "name", "cluster", "check_code")
    if not 1 <= wanted.id <= MOST_REPLICAS << 32:
        raise Invalid(f"{path}id", f"must be 1 or more, not {wanted.id}")


def check_heartbeat(heartbeat: pb.ReplicaHeartbeat, path: str) -> None:
    """Refuse a heartbeat with an invalid name, or a timeout above the limit."""
    check_texts(heartbeat, path, "name")
    check_most(f"{path}timeout_ms", heartbeat.timeout_ms, LONGEST_TIMEOUT_MS)


def check_election(election: pb.Election, path: str) -> None:
    """Refuse an invalid name, and a designated election without a replica."""
    check_texts(election, path, "name")
    if election.designated and not election.id:
        raise Invalid(f"{path}id", "must name the replica that is designated")


def check_in_sync(said: pb.InSyncSet, path: str) -> None:
    """Refuse an in-sync set that is empty or too large."""
    check_texts(said, path, "name")
    check_count(f"{path}in_sync", said.in_sync, MOST_REPLICAS)
    if not said.in_sync:
        raise Invalid(f"{path}in_sync", "must not be empty")


def check_cleaning(cleaning: pb.ReplicaCleaning, path: str) -> None:
    """Refuse a cleaning with an invalid name or too many ids."""
    check_texts(cleaning, path, "name")
    check_count(f"{path}ids", cleaning.ids, MOST_REPLICAS)


REPLICA_SET: Final = Resource(
    family=SETS,
    group=GROUP,
    row=pb.ReplicaSet,
    service=pb.DESCRIPTOR.services_by_name["ReplicaSetService"],
    key=("name",),
    check_key={"name": check_name},
    verbs={
        "ApplyId": Verb(
            apply=apply.apply_id,
            check=check_id,
            item=Item(reply=pb.ReplicaSet, repeats=True),
            examples=(
                pb.ReplicaId(name="broker-a", cluster="C1", id=1, check_code="10.0.0.1:10911;1"),
                pb.ReplicaId(name="broker-a", cluster="C1", id=2, check_code="10.0.0.2:10911;2"),
            ),
        ),
        "Register": Verb(
            apply=apply.register,
            check=check_member,
            item=Item(reply=pb.ReplicaSet, repeats=True),
            examples=(pb.ReplicaAddress(name="broker-a", id=1, address="10.0.0.1:10911"),),
        ),
        "Heartbeat": Verb(
            apply=apply.take_heartbeat,
            check=check_heartbeat,
            item=Item(repeats=True),
            examples=(
                pb.ReplicaHeartbeat(name="broker-a", id=1),
                pb.ReplicaHeartbeat(name="broker-a", id=2, state=pb.ReplicaState(max_offset=9)),
            ),
        ),
        "Elect": Verb(
            apply=elect,
            check=check_election,
            item=Item(reply=pb.Elected),
            examples=(pb.Election(name="broker-a", id=1),),
        ),
        "AlterInSync": Verb(
            apply=apply.alter_in_sync,
            check=check_in_sync,
            item=Item(reply=pb.ReplicaSet),
            examples=(
                pb.InSyncSet(
                    name="broker-a", master=1, master_epoch=1, in_sync=[1, 2], in_sync_epoch=1
                ),
            ),
        ),
        "Lose": Verb(
            apply=apply.lose,
            check=check_member,
            item=Item(repeats=True),
            examples=(pb.ReplicaAddress(name="broker-a", id=1, address="10.0.0.1:10911"),),
        ),
        "Clean": Verb(
            apply=apply.clean,
            check=check_cleaning,
            examples=(pb.ReplicaCleaning(name="broker-a", ids=[1]),),
        ),
        "Expire": Verb(
            apply_all=apply.expire,
            message=pb.ExpireReplicas,
            examples=(replica_key("broker-a", 2),),
        ),
    },
)

#: A new leader waits a full timeout of each replica before it expires one.
LIFE: Final = Timer(
    name=LIVES, group=GROUP, due=lambda due: pb.ExpireReplicas(keys=due), liveness=True
)
