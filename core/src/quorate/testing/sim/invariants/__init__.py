"""What must hold of every plugin under faults, one property a file."""
