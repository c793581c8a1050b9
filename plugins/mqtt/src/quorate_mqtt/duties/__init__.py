"""What brokers do for everybody: found by who does it, handed over when that broker is gone."""
