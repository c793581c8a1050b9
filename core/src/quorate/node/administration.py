"""What operators ask a node for: reports, backups, transfers of leaders, and changes of members."""

import asyncio
from typing import Final

from quorate.config import Settings
from quorate.groups.groups import Groups
from quorate.groups.members import MemberSteps
from quorate.node.backups import Backups
from quorate.node.duties import Duties
from quorate.node.life import Life
from quorate.node.members import Members
from quorate.node.neighbours import Neighbours
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
        neighbours: Neighbours,
        groups: Groups,
        duties: Duties,
        life: Life,
        *,
        version: str,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        shards, runner = replicas.shards, duties.runner
        self.backups: Final = Backups(replicas, loop)
        #: Takes the steps of changes of members on the shards that are led here.
        self.steps: Final = MemberSteps(shards.get, groups.propose_control)
        elsewhere = NodeMemberSteps(neighbours.channels)
        self.service: Final = AdminService(
            NodeReports(
                settings, catalog, replicas, neighbours.addresses, runner, life, version=version
            ),
            runner,
            duties.leading.transfer,
            self.backups.back_up,
            Members(shards, groups, self.steps, elsewhere, neighbours, loop),
            Recovery(shards, groups),
            Purging(catalog, shards, groups, neighbours.channels),
        )
