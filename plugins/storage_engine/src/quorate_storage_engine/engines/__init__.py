"""The engines: what they carry, and how they are taken out of service."""
