"""What tenants define by name: users, rules, and who is kept out."""
