"""The cookie that holds the token of a session in a browser."""

from starlette.requests import Request

from lochan.access.sessions import LIFE_S

COOKIE = "internal_auth_session"  # the name that clients written for lakeFS use


def session_cookie(request: Request, token: str, seconds: int = LIFE_S) -> str:
    """Returns the cookie as a header. No script can read it, and no other site can make a browser send it."""
    return f"{COOKIE}={token}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure(request)}"


def secure(request: Request) -> str:
    """Returns the end of a cookie that keeps it from being sent in the clear if the server has TLS."""
    return "; Secure" if request.scope.get("scheme") == "https" else ""
