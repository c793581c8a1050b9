"""Last wills: kept with their session, given to a broker when they are due, and acknowledged."""
