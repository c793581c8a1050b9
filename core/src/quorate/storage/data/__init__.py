"""What one shard keeps on disk: its rows, behind a pointer to the database that holds them."""
