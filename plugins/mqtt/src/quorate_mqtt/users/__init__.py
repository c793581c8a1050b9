"""Users: the accounts of clients, and the verification of their passwords."""
