"""Who a request is from, by its token, and what the token is good for."""

from __future__ import annotations

from .call import Call
from .exchange import Refusal, Request
from .things import Token
from .world import World


def of(world: World, request: Request) -> Token | None:
    """Return the token that the request shows; None: it shows none. A wrong one is refused with 401."""
    text = request.headers.get("authorization", "")
    if not text:
        return None
    scheme, _, value = text.partition(" ")
    token = world.tokens.get(value.strip()) if scheme.lower() in {"bearer", "token"} else None
    if token is None or not token.account.exists:
        raise Refusal(401, "Bad credentials")
    return token


def login(world: World, request: Request) -> str:
    """Return whose limits the request counts against; requests without a good token share theirs."""
    try:
        token = of(world, request)
    except Refusal:
        return ""
    return token.account.login if token else ""


def permit(call: Call, token: Token | None, needs: tuple[str, ...]) -> None:
    """Refuse what the token was not made for, or what is private and not the viewer's to see."""
    if call.world.repository.private and not (call.viewer and call.viewer.may("read")):
        raise Refusal(404, "Not Found")
    if not call.granted(*needs):
        kind = "integration" if token and token.kind == "app" else "personal access token"
        accepted = "; ".join(needs)
        raise Refusal(403, f"Resource not accessible by {kind}", x_accepted_github_permissions=accepted)
