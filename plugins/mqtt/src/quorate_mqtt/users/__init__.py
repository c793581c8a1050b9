"""Users: who may connect, and whether a password is theirs."""
