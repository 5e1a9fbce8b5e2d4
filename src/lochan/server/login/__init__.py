"""Logins at other services, which state who a user is.

provider    a provider of OpenID Connect: its endpoints and keys, a code for a token, and the token's proof
oidc_flow   the data that a browser keeps between the start and the end of a login"""
