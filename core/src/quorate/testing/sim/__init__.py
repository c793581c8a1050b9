"""The deterministic simulation: whole clusters in one thread, on virtual time, from one seed."""
