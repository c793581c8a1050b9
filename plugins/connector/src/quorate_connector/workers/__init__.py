"""The workers: their registrations, liveness and draining."""
