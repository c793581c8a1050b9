"""What a node keeps in its directory, and where: its identity, its cluster, its databases."""

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from quorate.config import Settings
from quorate.config.sections import NodeSection
from quorate.config.workers import worker_name
from quorate.consensus.formation import cluster_id
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Peer
from quorate.groups.snapshots import backup, replay
from quorate.groups.snapshots.backup import Backup
from quorate.groups.snapshots.parts import BackupError
from quorate.healing import giving_up
from quorate.plugin.shard_id import ShardId
from quorate.storage import durably
from quorate.storage.archive import Archive, ArchiveError
from quorate.storage.data.home import DiskHome
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import DamagedError
from quorate.storage.engine.rocks import Budget, RocksEngine
from quorate.storage.log.node_log import FAMILY, NodeLog
from quorate.storage.log.witness import FileWitnesses
from quorate.storage.notes import FileNotes
from quorate.storage.places import Place
from quorate.storage.staged_files import StagedFiles

_ID_BYTES: Final = 16
#: The file with the id of the replica, which is drawn with the directory.
_REPLICA: Final = "replica"
#: The file with the id and the first entry of the cluster that the directory belongs to.
_CLUSTER: Final = "cluster"
#: What the databases of a sandbox may take of memory for blocks, and for what is not flushed.
_SANDBOX_BYTES: Final = 64 << 20


def unfinished(path: Path) -> Path:
    """Return the mark of a directory into which a cluster is being restored."""
    return path / "restoring"


class OtherClusterError(Exception):
    """The directory belongs to another cluster, or to this one under another token."""


class UnfinishedRestoreError(Exception):
    """A restore into the directory did not come to its end: it holds only a part of a cluster."""


class OtherProcessesError(Exception):
    """The directory is that of a node with another number of processes."""


class NodeDirectory:
    """The directory of one node. Databases that are opened from it share one budget."""

    def __init__(self, path: Path, node: str, token: str, budget: Budget) -> None:
        """Draws the node's replica with a new directory."""
        lost = giving_up.lost(path)
        if (stored := _stored_replica(path)) in lost.replicas:
            # It was interrupted.
            giving_up.finish(path)
            stored = None
        #: This node's replica, which was drawn with the directory.
        self.me: Final = Peer(node, _draw_replica(path) if stored is None else stored)
        #: The replicas that it was before, until the cluster has this one in their place.
        self.lost: Final = lost
        #: Gets damage of the data of a shard, or of the log, in any thread.
        self.on_damage: Callable[[ShardId | None, DamagedError], None] = lambda shard, error: None
        self.path: Final = path
        self._token: Final = token
        #: What its databases may take of memory, all together.
        self.budget: Final = budget
        self._cluster: Final = path / _CLUSTER

    def first_entry(self) -> bytes:
        """Return the first entry of the cluster that the directory belongs to; empty: of none yet.

        Raises `OtherClusterError` when that cluster has another token.
        """
        content = durably.read_either(self._cluster)
        return b"" if content is None else _first_entry(self.path, content, self._token)

    def join(self, entry: bytes) -> bytes:
        """Belong to the cluster with this first entry from now on, durably; return its id."""
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
        """Return what is kept of each replica outside its database."""
        return FileNotes(self.path / "notes")

    def home(self, shard: ShardId, epoch: int = 0) -> DiskHome:
        """Return where the databases of a shard are; each history has its own place."""
        name = f"{shard.number}.{epoch}" if epoch else str(shard.number)
        path = self.path / "shards" / shard.group / name
        return DiskHome(path, self.budget, partial(self._damaged, shard))

    def _damaged(self, shard: ShardId | None, error: DamagedError) -> None:
        self.on_damage(shard, error)


def check_processes(node: NodeSection, workers: int) -> None:
    """Raise `OtherProcessesError` unless a directory is new, or one of this number of workers."""
    path, further = node.dir.absolute(), worker_name(node.name, workers + 1)
    if workers and _is_nodes(path):
        raise OtherProcessesError(
            f"{path} holds the node {node.name}, which is one process: leave node.workers out, or"
            f" take it out of the cluster with `quorate member remove {node.name}`, and start its"
            " workers with an empty node.dir and [cluster] join"
        )
    if not _is_nodes(path / further):
        return
    if not workers:
        raise OtherProcessesError(
            f"{path} holds the workers of {node.name}: set node.workers to how many there are"
        )
    raise OtherProcessesError(
        f"{path} holds {further}, and node.workers is {workers}: take it out of the cluster with"
        f" `quorate member remove {further}`, and then remove its directory"
    )


def look(settings: Settings) -> bytes:
    """Return the first entry of the cluster of a node's directory, without changing anything in it.

    Empty: it is new. Raises what `directory_of` and `NodeDirectory.first_entry` do.
    """
    path = settings.node.dir.absolute()
    check_processes(settings.node, 0)
    if unfinished(path).exists():
        raise _unfinished_error(path)
    content = durably.peek_either(path / _CLUSTER)
    token = settings.cluster.token.get_secret_value()
    return b"" if content is None else _first_entry(path, content, token)


def directory_of(settings: Settings) -> NodeDirectory:
    """Return the directory of the node of a file.

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

    Of an archive it is as the cluster was at a moment, or as far as the archive goes.

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
        # Nothing was restored: the directory is as it was.
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


def _begin_restore(path: Path) -> None:
    """Mark an empty directory, which no node starts in from now on; raises `BackupError`.

    The mark comes before anything is read: an interrupted restore must not leave a directory in
    which a node would found a cluster without the rows of the backup.
    """
    mark = unfinished(path)
    _keep_private(path)
    if mark.exists():
        raise BackupError(f"{_unfinished_error(path)}.")
    if any(path.iterdir()):
        raise BackupError(
            f"{path} is not empty: restore into an empty node.dir, or move away what is in it."
        )
    durably.write(mark, b"")
    durably.sync_directory(path)
    durably.sync_directory(path.parent)


def verify(source: Place) -> Iterator[str]:
    """Restore a backup or an archive into a sandbox; yield what is right, raise `BackupError`."""
    with TemporaryDirectory(prefix="quorate-verify-") as sandbox:
        yield from replay.verify(source, _homes(Path(sandbox)))


@contextmanager
def sandboxed(
    source: Place, sandbox: Path, until_ms: int | None
) -> Iterator[Mapping[ShardId, ShardData]]:
    """Restore a backup, or a moment of an archive, to be read alone; raises `BackupError`."""
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
    """Return where the shards of a sandbox are, under a name."""
    budget = Budget(_SANDBOX_BYTES, _SANDBOX_BYTES)
    return lambda name, shard: DiskHome(sandbox / name / backup.folder_of(shard), budget)


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
        f"a restore into {path} did not come to its end; remove all that is in it, and restore"
        " again"
    )


def _first_entry(path: Path, content: bytes, token: str) -> bytes:
    kept, entry = content[:_ID_BYTES], content[_ID_BYTES:]
    if kept != cluster_id(token, entry):
        raise OtherClusterError(
            f"{path} belongs to a cluster that has another token; correct [cluster] token, or give"
            " the node another node.dir"
        )
    return entry


def _is_nodes(directory: Path) -> bool:
    """Whether a directory is that of a node or a worker which was started once."""
    return (directory / _REPLICA).exists()


def _stored_replica(directory: Path) -> int | None:
    """Return the replica id in a directory; None in a new one."""
    _keep_private(directory)
    stored = durably.read_either(directory / _REPLICA)
    return None if stored is None else int(stored)


def _keep_private(directory: Path) -> None:
    """Make a node's directory, or close one that others can read."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    # What is mounted may belong to another user; files in it are the node's alone all the same.
    with suppress(PermissionError):
        directory.chmod(0o700)


def _draw_replica(directory: Path) -> int:
    drawn = secrets.randbits(64)
    durably.replace_twice(directory / _REPLICA, str(drawn).encode())
    return drawn
