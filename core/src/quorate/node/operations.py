"""The operations of a node's operators: reports, changes of the cluster, and backups."""

from __future__ import annotations

from typing import Final

from quorate.node.admin_service import AdminService
from quorate.node.healing import Healing
from quorate.node.leader_tasks import LeaderTasks
from quorate.node.members import Members
from quorate.node.placing import Placing
from quorate.node.replacing import Replacing
from quorate.node.rooms import Rooms
from quorate.node.status import NodeReports
from quorate.node.topology_feed import TopologyFeed
from quorate.node.upkeep import Backups, Upkeep
from quorate.topology.changes.members import MemberSteps


class Operations:
    """Makes the service for operators, and what it passes requests to."""

    def __init__(self, rooms: Rooms, leaders: LeaderTasks, healing: Healing) -> None:
        ground, replicas, peers, router = rooms.ground, rooms.replicas, rooms.peers, rooms.router
        shards, loop = replicas.shards, ground.loop
        self.backups: Final = Backups(replicas, peers.channels, loop)
        self.steps: Final = MemberSteps(shards.get, router.propose_control)
        self.reports: Final = NodeReports(
            ground,
            replicas,
            peers.addresses,
            peers.census,
            leaders,
            healing.repairs,
            [peers.neighbours.alarms, healing.alarms],
        )
        self.topology_feed: Final = TopologyFeed(
            self.reports.topology, self.reports.topology_key, loop
        )
        members = Members(shards, router, self.steps, peers, leaders.placement, loop)
        self.replacing: Final = Replacing(
            shards,
            members,
            peers,
            healing.repairs,
            replicas.directory,
            lambda: not ground.lifecycle.missing(),
            loop,
        )
        self.admin: Final = AdminService(
            self.reports,
            leaders,
            self.backups,
            members,
            Placing(leaders.placement, router, peers.census),
            leaders.splitting,
            Upkeep(ground.catalog, shards, router, peers.channels),
            peers.clocks.ask,
            router.quotas,
            self.topology_feed,
            router.reads,
            rooms.api.readable,
            ground.recordings.recorder,
        )
