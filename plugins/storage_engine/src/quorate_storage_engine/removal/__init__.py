"""Deletion in two phases: engines are asked to drop their replicas, then rows are deleted."""
