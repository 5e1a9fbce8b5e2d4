"""Names and passwords that a directory (LDAP) knows."""
