"""The release of etcd whose API is served."""

from typing import Final

#: Of a server; clients parse it: digits and dots alone.
SERVER: Final = "3.7.0"
#: Of the cluster, and of what is stored: the minor release.
CLUSTER: Final = "3.7.0"
