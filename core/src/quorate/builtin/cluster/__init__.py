"""The built-in domain of brokers: their registrations, epochs and deadlines."""
