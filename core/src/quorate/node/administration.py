"""What operators ask a node for: reports, backups, transfers of leaders, and changes of members."""

import asyncio
from typing import Final

from quorate.config import Settings
from quorate.groups.groups import Groups
from quorate.groups.members import MemberSteps
from quorate.node.backups import Backups
from quorate.node.leader_tasks import LeaderTasks
from quorate.node.life import Life
from quorate.node.members import Members
from quorate.node.peers import Peers
from quorate.node.purging import Purging
from quorate.node.recovery import Recovery
from quorate.node.replicas import Replicas
from quorate.node.status import NodeReports
from quorate.plugin.catalog import Catalog
from quorate.rpc.admin_service import AdminService
from quorate.rpc.member_steps import NodeMemberSteps


class Administration:
    """Puts together what the `AdminService` of a node asks."""

    def __init__(
        self,
        settings: Settings,
        catalog: Catalog,
        replicas: Replicas,
        peers: Peers,
        groups: Groups,
        leader_tasks: LeaderTasks,
        life: Life,
        *,
        version: str,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        shards, runner = replicas.shards, leader_tasks.runner
        self.backups: Final = Backups(replicas, loop)
        #: Takes the steps of changes of members on the shards that are led here.
        self.steps: Final = MemberSteps(shards.get, groups.propose_control)
        elsewhere = NodeMemberSteps(peers.channels)
        self.service: Final = AdminService(
            NodeReports(
                settings, catalog, replicas, peers.addresses, runner, life, version=version
            ),
            runner,
            leader_tasks.leading.transfer,
            self.backups.back_up,
            Members(shards, groups, self.steps, elsewhere, peers, loop),
            Recovery(shards, groups),
            Purging(catalog, shards, groups, peers.channels),
        )
