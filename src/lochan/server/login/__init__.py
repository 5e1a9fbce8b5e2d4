"""Logins at other services: who such a service says that somebody is.

provider    a provider of OpenID Connect: its endpoints and keys, a code for a token, and the token's proof
oidc_flow   what a browser carries from the way there to the way back
"""
