"""The directory of a node: its identity, its cluster and its databases."""

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from quorate.config import Settings
from quorate.config.members import NodeSection
from quorate.config.workers import worker_name
from quorate.consensus.formation import cluster_id
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Peer
from quorate.healing import giving_up
from quorate.plugin.shard_id import ShardId
from quorate.shards.snapshots import backup, replay
from quorate.shards.snapshots.backup import Backup
from quorate.shards.snapshots.parts import BackupError
from quorate.storage import durably
from quorate.storage.archive import Archive, ArchiveError
from quorate.storage.backup_stores import Place
from quorate.storage.data.home import DiskHome
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.options import Budget
from quorate.storage.engine.port import DamagedError
from quorate.storage.engine.rocks import RocksEngine
from quorate.storage.log.node_log import FAMILY, NodeLog
from quorate.storage.log.witness import FileWitnesses
from quorate.storage.notes import FileNotes
from quorate.storage.staged_files import StagedFiles

_ID_BYTES: Final = 16
#: The file with the id of the replica, which is drawn with the directory.
_REPLICA: Final = "replica"
#: The file with the id and the first entry of the cluster that the directory belongs to.
_CLUSTER: Final = "cluster"
#: Memory of a sandbox's databases for cached blocks, and as much for unflushed writes.
_SANDBOX_BYTES: Final = 64 << 20


def unfinished(path: Path) -> Path:
    """Return the marker file of a directory into which a cluster is being restored."""
    return path / "restoring"


class OtherClusterError(Exception):
    """The directory belongs to another cluster, or to this one under another token."""


class UnfinishedRestoreError(Exception):
    """A restore into the directory was not completed: it holds only a part of a cluster."""


class OtherProcessesError(Exception):
    """The directory belongs to a node with another number of processes."""


class NodeDirectory:
    """The directory of one node. The databases opened from it share one memory budget."""

    def __init__(self, path: Path, node: str, token: str, budget: Budget) -> None:
        """Draw the replica id of the node if the directory is new."""
        lost = giving_up.lost(path)
        if (stored := _stored_replica(path)) in lost.replicas:
            # The node was interrupted while it gave up the directory.
            giving_up.finish(path)
            stored = None
        #: This node's replica, which was drawn with the directory.
        self.me: Final = Peer(node, _draw_replica(path) if stored is None else stored)
        #: The former replicas of the node, until the cluster has replaced them with this one.
        self.lost: Final = lost
        #: Gets damage of the data of a shard, or of the log, in any thread.
        self.on_damage: Callable[[ShardId | None, DamagedError], None] = lambda shard, error: None
        self.path: Final = path
        self._token: Final = token
        #: The memory budget of all its databases together.
        self.budget: Final = budget
        self._cluster: Final = path / _CLUSTER

    def first_entry(self) -> bytes:
        """Return the first entry of the directory's cluster; empty: it belongs to no cluster yet.

        Raises `OtherClusterError` when that cluster has another token.
        """
        content = durably.read_either(self._cluster)
        return b"" if content is None else _first_entry(self.path, content, self._token)

    def join(self, entry: bytes) -> bytes:
        """Record durably the cluster of the directory, by its first entry; return its id."""
        cluster = cluster_id(self._token, entry)
        durably.replace_twice(self._cluster, cluster + entry)
        return cluster

    def open_log(self) -> NodeLog:
        """Open the log of all shards; raises `EngineError`."""
        damaged = partial(self._damaged, None)
        return NodeLog(
            RocksEngine(self.path / "log", [FAMILY], self.budget, damaged=damaged),
            FileWitnesses(self.path / "witness"),
        )

    def staged(self) -> StagedFiles:
        """Return the files that are loaded into shards, on the file system of their data."""

        def index(path: Path, families: Iterable[str]) -> RocksEngine:
            return RocksEngine(path, families, self.budget, compacts=False)

        return StagedFiles(self.path / "files", index)

    def notes(self) -> FileNotes:
        """Return the notes on each replica outside of its database."""
        return FileNotes(self.path / "notes")

    def home(self, shard: ShardId, epoch: int = 0) -> DiskHome:
        """Return the home of a shard's databases; each epoch of the shard has its own."""
        name = f"{shard.number}.{epoch}" if epoch else str(shard.number)
        path = self.path / "shards" / shard.group / name
        return DiskHome(path, self.budget, partial(self._damaged, shard))

    def _damaged(self, shard: ShardId | None, error: DamagedError) -> None:
        self.on_damage(shard, error)


def check_processes(node: NodeSection, workers: int) -> None:
    """Raise `OtherProcessesError` unless a directory is new, or has this number of workers."""
    path, further = node.dir.absolute(), worker_name(node.name, workers + 1)
    if workers and _is_nodes(path):
        raise OtherProcessesError(
            f"{path} holds the node {node.name}, which is one process: leave node.workers out, or"
            f" remove it from the cluster with `quorate member remove {node.name}`, and start its"
            " workers with an empty node.dir and [cluster] join"
        )
    if not _is_nodes(path / further):
        return
    if not workers:
        raise OtherProcessesError(
            f"{path} holds the workers of {node.name}: set node.workers to their number"
        )
    raise OtherProcessesError(
        f"{path} holds {further}, and node.workers is {workers}: remove it from the cluster with"
        f" `quorate member remove {further}`, and then remove its directory"
    )


def look(settings: Settings) -> bytes:
    """Return the first entry of the cluster of a node's directory, without changing the directory.

    Empty: the directory is new. Raises what `directory_of` and `NodeDirectory.first_entry` do.
    """
    path = settings.node.dir.absolute()
    check_processes(settings.node, 0)
    if unfinished(path).exists():
        raise _unfinished_error(path)
    content = durably.peek_either(path / _CLUSTER)
    token = settings.cluster.token.get_secret_value()
    return b"" if content is None else _first_entry(path, content, token)


def directory_of(settings: Settings) -> NodeDirectory:
    """Return the directory of the configured node.

    Raises `UnfinishedRestoreError` and `OtherProcessesError`.
    """
    check_processes(settings.node, 0)
    path = settings.node.dir.absolute()
    if unfinished(path).exists():
        raise _unfinished_error(path)
    return _directory(settings)


def _directory(settings: Settings) -> NodeDirectory:
    node, storage = settings.node, settings.storage
    return NodeDirectory(
        node.dir.absolute(),
        node.name,
        settings.cluster.token.get_secret_value(),
        Budget(storage.block_cache_bytes, storage.write_buffer_bytes),
    )


def restore(source: Place, settings: Settings, until_ms: int | None = None) -> Backup:
    """Fill the empty directory of a node that does not run from a backup; blocks.

    From an archive, the state of the cluster at a moment is restored, or else the latest one.

    The node of these settings is then the only member of a new cluster, under their token, and
    starts as such; other nodes are added to it as to any cluster. Raises `BackupError`, after which
    the node does not start until its directory has been emptied.
    """
    path = settings.node.dir.absolute()
    made = not path.exists()
    _begin_restore(path)
    try:
        source, onward = _planned(source, until_ms)
        backup.read(source)
    except BaseException:
        # Nothing was restored: leave the directory as it was.
        unfinished(path).unlink()
        if made:
            path.rmdir()
        raise
    directory = _directory(settings)
    restored = backup.restore(source, directory.home, directory.me, onward)
    directory.join(Configuration.of([Member(directory.me)]).encode())
    unfinished(path).unlink()
    durably.sync_directory(path)
    return restored


def restorable(source: Place, settings: Settings, until_ms: int | None = None) -> Backup:
    """Return what `restore` would fill the directory with, which stays as it is; blocks.

    Raises the same `BackupError`, as far as it is known without reading the files of the shards.
    """
    path = settings.node.dir.absolute()
    if path.exists():
        _check_empty(path)
    return backup.read(_planned(source, until_ms)[0])


def _begin_restore(path: Path) -> None:
    """Mark an empty directory, so that no node starts in it; raises `BackupError`.

    The mark comes before anything is read: an interrupted restore must not leave a directory in
    which a node would found a cluster without the rows of the backup.
    """
    _keep_private(path)
    _check_empty(path)
    durably.write(unfinished(path), b"")
    durably.sync_directory(path)
    durably.sync_directory(path.parent)


def verify(source: Place) -> Iterator[str]:
    """Restore a backup or an archive into a sandbox; yield passed checks, raise `BackupError`."""
    with TemporaryDirectory(prefix="quorate-verify-") as sandbox:
        yield from replay.verify(source, _homes(Path(sandbox)))


@contextmanager
def sandboxed(
    source: Place, sandbox: Path, until_ms: int | None
) -> Iterator[Mapping[ShardId, ShardData]]:
    """Restore a backup, or a moment of an archive, for reading only; raises `BackupError`."""
    source, onward = _planned(source, until_ms)
    home = _homes(sandbox)
    with ExitStack() as stack:
        shards = {}
        for shard in backup.read(source).shards:
            data = stack.enter_context(closing(backup.opened(source, shard, home("", shard))))
            onward(shard, data)
            shards[shard] = data
        yield shards


def _homes(sandbox: Path) -> Callable[[str, ShardId], DiskHome]:
    """Return a function for the homes of shards in a sandbox, by name and shard."""
    budget = Budget(_SANDBOX_BYTES, _SANDBOX_BYTES)
    return lambda name, shard: DiskHome(sandbox / name / backup.folder_of(shard), budget)


def _check_empty(path: Path) -> None:
    if unfinished(path).exists():
        raise BackupError(f"{_unfinished_error(path)}.")
    if any(path.iterdir()):
        raise BackupError(
            f"{path} is not empty: restore into an empty node.dir, or move its content away."
        )


def _planned(source: Place, until_ms: int | None) -> tuple[Place, replay.Onward]:
    if Archive.exists(source):
        try:
            return replay.plan(Archive(source), until_ms)
        except ArchiveError as error:
            raise BackupError(f"{error}.") from error
    if until_ms is not None:
        raise BackupError(
            f"{source} is a backup, and holds one moment alone: leave out --to, or name an archive"
            " of `quorate backup --follow`."
        )
    return source, lambda *_: None


def _unfinished_error(path: Path) -> UnfinishedRestoreError:
    return UnfinishedRestoreError(
        f"a restore into {path} was not completed; empty the directory, and restore again"
    )


def _first_entry(path: Path, content: bytes, token: str) -> bytes:
    kept, entry = content[:_ID_BYTES], content[_ID_BYTES:]
    if kept != cluster_id(token, entry):
        raise OtherClusterError(
            f"{path} belongs to a cluster with another token; correct [cluster] token, or give"
            " the node another node.dir"
        )
    return entry


def _is_nodes(directory: Path) -> bool:
    """Return whether a directory belongs to a node or a worker that has started once."""
    return (directory / _REPLICA).exists()


def _stored_replica(directory: Path) -> int | None:
    """Return the replica id in a directory; None if it is new."""
    _keep_private(directory)
    stored = durably.read_either(directory / _REPLICA)
    return None if stored is None else int(stored)


def _keep_private(directory: Path) -> None:
    """Create a node's directory, or make an existing one private."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    # A mount point may belong to another user; the files in it are still the node's alone.
    with suppress(PermissionError):
        directory.chmod(0o700)


def _draw_replica(directory: Path) -> int:
    drawn = secrets.randbits(64)
    durably.replace_twice(directory / _REPLICA, str(drawn).encode())
    return drawn
