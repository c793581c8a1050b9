"""One node process: it assembles all rooms below, starts, becomes ready and stops in order."""
