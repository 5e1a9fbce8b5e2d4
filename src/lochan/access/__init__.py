"""Who may do what: users, access keys, policies, and the function that decides."""
