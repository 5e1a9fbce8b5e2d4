"""Who may do what: users, access keys, policies, and one function that decides."""
