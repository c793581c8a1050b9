"""The rooms of a node that its services and operations are made of."""

from dataclasses import dataclass

from quorate.node.api import PluginNode
from quorate.node.ground import Ground
from quorate.node.peers import Peers
from quorate.node.replicas import Replicas
from quorate.shards.router import Router


@dataclass(frozen=True, slots=True)
class Rooms:
    """The replicas of a node, its connections to others, and the ways to its shards."""

    ground: Ground
    replicas: Replicas
    peers: Peers
    router: Router
    api: PluginNode
