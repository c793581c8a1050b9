"""Users, roles and alarms of a store, and what they allow."""
