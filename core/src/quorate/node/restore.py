"""Makes a backup the data of a node that is a cluster of its own."""

from pathlib import Path

from quorate.config import Settings
from quorate.consensus.membership import Configuration, Member
from quorate.groups.snapshots import backup
from quorate.groups.snapshots.backup import Backup
from quorate.groups.snapshots.parts import BackupError
from quorate.node.directory import directory_of, unfinished
from quorate.storage import durably


def restore(source: Path, settings: Settings) -> Backup:
    """Fill the empty directory of a node that does not run from a backup; blocks.

    The node of these settings is then the only member of a new cluster, under their token, and
    starts as such; other nodes are added to it as to any cluster. Raises `BackupError`, after which
    the node does not start until its directory has been emptied.
    """
    path = settings.node.dir.absolute()
    backup.read(source)
    path.mkdir(parents=True, exist_ok=True)
    if any(path.iterdir()):
        raise BackupError(
            f"{path} is not empty: restore into an empty node.dir, or move away what is in it."
        )
    directory = directory_of(settings)
    durably.write(unfinished(path), b"")
    durably.sync_directory(path)
    restored = backup.restore(source, directory.home, directory.me)
    directory.join(Configuration.of([Member(directory.me)]).encode())
    unfinished(path).unlink()
    durably.sync_directory(path)
    return restored
