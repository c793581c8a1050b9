"""Makes rows outside of their shard with its handlers, and writes them to sorted files."""

from quorate.loading.made_rows import DuplicateKeyError, MadeRows, RowMaker
from quorate.loading.sorted_file import key_hashes, write_sorted_file

__all__ = ["DuplicateKeyError", "MadeRows", "RowMaker", "key_hashes", "write_sorted_file"]
