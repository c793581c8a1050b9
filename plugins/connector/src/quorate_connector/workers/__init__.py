"""The workers: who is registered, who was heard of in time, and who is being drained."""
