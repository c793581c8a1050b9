"""Routes commands and queries: slots, parts of a batch, one hop, joined answers."""
