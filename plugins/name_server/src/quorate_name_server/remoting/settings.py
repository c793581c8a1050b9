"""The properties of a name server and of a controller, which tools read and change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from quorate.plugin import NodeApi

from quorate_name_server.config import NameServerConfig
from quorate_name_server.routes.known import KnownRoutes


@dataclass(frozen=True, slots=True)
class Properties:
    """The known properties of a kind of server."""

    #: The namespace of the settings that hold changed properties, shared by all nodes.
    namespace: str
    #: The defaults of the stock server.
    defaults: Mapping[str, str]
    #: The setting of this node that is the port of the server.
    port: str


#: Properties that no request may change.
BLACK_LIST: Final = ("configBlackList", "configStorePath", "kvConfigPath", "rocketmqHome")

_OF_NAME_SERVER: Final[Mapping[str, str]] = {
    "bindAddress": "",
    "clientRequestThreadPoolNums": "8",
    "clientRequestThreadPoolQueueCapacity": "50000",
    "clusterTest": "false",
    "configBlackList": "configBlackList;configStorePath;kvConfigPath",
    "configStorePath": "",
    "defaultThreadPoolNums": "16",
    "defaultThreadPoolQueueCapacity": "10000",
    "deleteTopicWithBrokerRegistration": "false",
    "enableAllTopicList": "true",
    "enableControllerInNamesrv": "false",
    "enableShutdownGracefully": "false",
    "enableTopicList": "true",
    "kvConfigPath": "",
    "listenPort": "",
    "needWaitForService": "false",
    "notifyMinBrokerIdChanged": "false",
    "orderMessageEnable": "false",
    "productEnvName": "center",
    "returnOrderTopicConfigToBroker": "true",
    "rocketmqHome": "",
    "scanNotActiveBrokerInterval": "5000",
    "serverAsyncSemaphoreValue": "64",
    "serverCallbackExecutorThreads": "0",
    "serverChannelMaxIdleTimeSeconds": "120",
    "serverNettyWorkerGroupEnable": "true",
    "serverOnewaySemaphoreValue": "256",
    "serverPooledByteBufAllocatorEnable": "true",
    "serverSelectorThreads": "3",
    "serverSocketBacklog": "1024",
    "serverSocketRcvBufSize": "0",
    "serverSocketSndBufSize": "0",
    "serverWorkerThreads": "8",
    "shutdownWaitTimeSeconds": "30",
    "supportActingMaster": "false",
    "unRegisterBrokerQueueCapacity": "3000",
    "useEpollNativeSelector": "false",
    "waitSecondsForService": "45",
    "writeBufferHighWaterMark": "0",
    "writeBufferLowWaterMark": "0",
}


_OF_CONTROLLER: Final[Mapping[str, str]] = {
    "bindAddress": "",
    "configBlackList": "configBlackList;configStorePath",
    "configStorePath": "",
    "controllerRequestThreadPoolQueueCapacity": "50000",
    "controllerThreadPoolNums": "16",
    "electMasterMaxRetryCount": "3",
    "enableElectUncleanMaster": "false",
    "isProcessReadEvent": "false",
    "listenPort": "",
    "notifyBrokerRoleChanged": "true",
    "rocketmqHome": "",
    "scanInactiveMasterInterval": "5000",
    "scanNotActiveBrokerInterval": "5000",
}
OF_NAME_SERVER: Final = Properties("NAMESRV_CONFIG", _OF_NAME_SERVER, "remoting_port")
OF_CONTROLLER: Final = Properties("CONTROLLER_CONFIG", _OF_CONTROLLER, "controller_port")


class Settings:
    """The current properties, equal on all nodes except for the listening address."""

    def __init__(self, node: NodeApi, properties: Properties) -> None:
        config = node.config(NameServerConfig)
        self._known: Final = node.cache(KnownRoutes)
        self.properties: Final = properties
        port = str(getattr(config, properties.port))
        self._own: Final = {"bindAddress": config.remoting_host, "listenPort": port}

    def on(self, name: str) -> bool:
        """Return whether a property is true."""
        return self._changed.get(name, self.properties.defaults[name]) == "true"

    def text(self) -> bytes:
        """Return all properties, sorted, one per line."""
        defaults = self.properties.defaults
        changed = {name: value for name, value in self._changed.items() if name in defaults}
        now = {**defaults, **changed, **self._own}
        return "".join(f"{name}={now[name]}\n" for name in sorted(now)).encode()

    def accepted(self, said: Mapping[str, str]) -> dict[str, str]:
        """Return the known properties with valid values, in their stored form."""
        found = {}
        for name, value in said.items():
            default = self.properties.defaults.get(name)
            if default in ("true", "false"):
                found[name] = str(value.lower() == "true").lower()
            elif default is not None and default.isdigit():
                if value.removeprefix("-").isdecimal():
                    found[name] = value
            elif default is not None:
                found[name] = value
        return found

    @property
    def _changed(self) -> Mapping[str, str]:
        return self._known.settings(self.properties.namespace) or {}


def parse(text: str) -> dict[str, str]:
    """Parse properties in Java's format."""
    found = {}
    for line in text.splitlines():
        said = line.strip()
        if said and said[0] not in "#!":
            name, _, value = said.partition("=")
            found[name.strip()] = value.strip()
    return found
