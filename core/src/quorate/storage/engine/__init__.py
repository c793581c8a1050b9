"""The one door to RocksDB, and its twin in memory."""
