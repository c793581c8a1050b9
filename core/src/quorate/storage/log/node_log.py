"""The log of a node: a database with a journal per shard."""

from typing import Final

from quorate.storage.engine.port import Batch, Engine, EngineError
from quorate.storage.log.records import Records
from quorate.storage.log.shard_journal import FAMILY, ShardJournal
from quorate.storage.log.witness import Witnesses

__all__ = ["FAMILY", "NodeLog"]


class NodeLog:
    """Writes in order and unsynced; one sync makes the earlier writes of all shards durable.

    To sync, call `begin_sync`, then `sync` in any thread, then `synced` with the
    number that `begin_sync` gave. After a failed write or sync nothing is written any more:
    what the files hold is in doubt, and a second attempt may succeed without them.
    """

    def __init__(self, engine: Engine, witnesses: Witnesses) -> None:
        #: Its database.
        self.engine: Final = engine
        self._witnesses: Final = witnesses
        self._journals: Final[dict[str, ShardJournal]] = {}
        self._unsynced: Final[dict[str, ShardJournal]] = {}
        #: The number of the newest write.
        self.written = 0
        self._failure: EngineError | None = None

    def journal(self, shard: str, applied: int = 0) -> ShardJournal:
        """Open the journal of a shard, once.

        Raises `JournalDamagedError` when it does not reach the shard's witness or the index that
        its state machine has applied, or holds anything that was not written.
        """
        if shard in self._journals:
            raise ValueError(f"the journal of shard {shard} is already open")
        opened = ShardJournal(shard, self.engine, self._witnesses, self._write, applied)
        self._journals[shard] = opened
        return opened

    def holds(self, shard: str) -> bool:
        """Whether a shard has a journal that was durable once."""
        return self._witnesses.read(shard) is not None

    def remove(self, shard: str) -> None:
        """Remove the journal of a deleted replica, unsynced; an open one must not be used again."""
        # First: a log that ends before its witness counts as damaged.
        self._witnesses.remove(shard)
        records, batch = Records(shard), Batch()
        batch.delete_range(FAMILY, records.start, records.end)
        self._put(batch)
        self._journals.pop(shard, None)
        self._unsynced.pop(shard, None)

    def begin_sync(self) -> int:
        """Return the number of the newest write, which a sync that begins now covers."""
        return self.written

    def sync(self) -> None:
        """Make earlier writes durable; blocks without the GIL."""
        self._refuse_after_failure()
        try:
            self.engine.sync()
        except EngineError as error:
            self._failure = error
            raise
        except BaseException as panic:
            # RocksDB's binding raises no `Exception` for it: the thread would end unnoticed.
            self._failure = EngineError(f"The node's log cannot be synced: {panic!r}")
            raise self._failure from panic

    def synced(self, sequence: int) -> None:
        """Record that writes up to `sequence` are durable, also with the witnesses."""
        for shard, journal in list(self._unsynced.items()):
            if journal.synced(sequence):
                del self._unsynced[shard]

    def close(self) -> None:
        """Close the witnesses and the database."""
        self._witnesses.close()
        self.engine.close()

    def _write(self, journal: ShardJournal, batch: Batch) -> int:
        if self._journals.get(journal.shard) is not journal:
            raise ValueError(f"the journal of shard {journal.shard} was removed")
        self._put(batch)
        self._unsynced[journal.shard] = journal
        return self.written

    def _put(self, batch: Batch) -> None:
        self._refuse_after_failure()
        try:
            self.engine.write(batch, patient=True)
        except EngineError as error:
            self._failure = error
            raise
        self.written += 1

    def _refuse_after_failure(self) -> None:
        if self._failure is not None:
            raise EngineError(
                "The node's log takes no writes after one that failed: restart the node, which"
                f" checks the log, after the cause is fixed: {self._failure}"
            )
