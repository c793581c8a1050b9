"""What a shard keeps on disk: its rows in a database, and a pointer to that database."""
