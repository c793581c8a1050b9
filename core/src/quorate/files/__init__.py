"""Bulk loads: files of rows that come to the replicas of a shard beside its log."""
