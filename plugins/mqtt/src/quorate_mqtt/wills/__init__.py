"""Last wills: stored with their session, assigned to a broker when due, and acknowledged."""
