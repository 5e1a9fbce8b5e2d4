"""Signs users in by the names and passwords of a directory (LDAP)."""
