"""The duties of brokers: indexed by broker, and handed over when the broker is gone."""
