"""One process: everything below put together, its start, its readiness and its orderly end."""
