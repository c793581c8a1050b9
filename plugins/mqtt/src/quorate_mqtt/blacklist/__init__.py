"""The blacklist: who is kept out, and until when."""
