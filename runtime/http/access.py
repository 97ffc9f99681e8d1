"""Who may do what. Every route says what it needs; whoever does not bring that is refused.

Without tokens the service listens on loopback alone and lets in whoever asks there, but for browsers that a page of
another origin sends: their `Host` or `Origin` is not ours. With tokens, a bearer token lets in to everything, and a
read-only token to the one turn that it was minted for. Only the latter may stand in a URL, which others write down. An
authoriser of the host's decides further, by turn and thread.
"""

import hashlib
import hmac
import os
import time
from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

import attrs
from starlette.requests import Request

from turnwire.runtime.http.errors import HttpError
from turnwire.runtime.http.tokens import TokenError, mint_token, read_token
from turnwire.runtime.settings import HttpSettings
from turnwire.runtime.settings.checks import is_loopback

Need: TypeAlias = Literal["nothing", "token", "turn"]
"""What a route asks for: nothing at all; a bearer token; or at least a read-only token for the turn in its path."""
Action: TypeAlias = Literal["read", "write"]

TOKEN_KEY = "turnwire.token"  # noqa: S105  # where in a request's scope the query's token is kept, out of its URL
_SAFE = ("GET", "HEAD", "OPTIONS")


@attrs.frozen
class Principal:
    """Who asks. `turn_id` is set for a read-only token: that turn is all it may see."""

    name: str
    turn_id: str | None = None


@attrs.frozen
class Target:
    """What is asked for, as far as it is known: a turn, a thread, or neither (a list)."""

    turn_id: str | None = None
    thread_id: str | None = None


Authoriser: TypeAlias = Callable[[Principal, Action, Target], Awaitable[bool]]
"""A host's own say: may this one do that? Asked after the token was found to be right."""

ANYBODY = Principal("anybody")


class Access:
    """The rules in force."""

    def __init__(self, settings: HttpSettings, *, authoriser: Authoriser | None = None, shared: bool = False) -> None:
        self._digests = [_digest(token) for token in settings.tokens]
        self._lifetime = settings.token_lifetime
        self._origins = frozenset(settings.cors_origins)
        self.authoriser = authoriser
        # Without a secret of its own a process that is alone makes one up; of several none would know another's tokens.
        self._secret = settings.secret.encode() if settings.secret else None if shared else os.urandom(32)

    @property
    def is_open(self) -> bool:
        """Is everybody let in who gets through to us?"""
        return not self._digests

    def check(self, request: Request, need: Need) -> Principal:
        """Say who asks, if they may. Raises HttpError 401 or 403."""
        self._check_origin(request)
        if need == "nothing" or self.is_open:
            return ANYBODY
        bearer = _bearer(request)
        given = bearer or request.scope.get(TOKEN_KEY)
        if not given:
            raise _unauthorised("missing_token", "this needs a token: Authorization: Bearer ...")
        if bearer:
            digest = _digest(bearer)
            matches = [hmac.compare_digest(digest, known) for known in self._digests]  # all of them, for the same time
            if any(matches):
                return Principal(f"token {digest.hex()[:8]}")
        turn_id = self._read(given)
        if need != "turn" or turn_id != request.path_params.get("turn_id"):
            raise HttpError(403, "forbidden", "this token lets read one turn only, and not this")
        return Principal("read-only token", turn_id)

    def _read(self, token: str) -> str:
        """Give the turn that a read-only token is for. Raises HttpError 401."""
        if self._secret is None:  # nobody has minted any
            raise _unauthorised("invalid_token", "the token is not valid")
        try:
            return read_token(self._secret, token, now=time.time())
        except TokenError as exc:
            raise _unauthorised(exc.code, str(exc)) from None

    async def authorise(self, principal: Principal, action: Action, target: Target) -> None:
        """Ask the host. Raises HttpError 403."""
        if self.authoriser is not None and not await self.authoriser(principal, action, target):
            raise HttpError(403, "forbidden", f"not allowed to {action} this")

    def mint(self, turn_id: str, *, seconds: float | None) -> tuple[str, int]:
        """Make a read-only token; give it and when it expires. Raises HttpError 501 where there is no secret."""
        if self._secret is None:
            raise HttpError(501, "no_secret", "tokens need the setting http.secret, the same in all processes")
        lifetime = self._lifetime if seconds is None else min(seconds, self._lifetime)
        expires_at = int(time.time() + lifetime)
        return mint_token(self._secret, turn_id, expires_at=expires_at), expires_at

    def may_read_from(self, origin: str | None) -> bool:
        """May a page of this origin read our answers?"""
        return origin is not None and origin in self._origins

    def _check_origin(self, request: Request) -> None:
        """Refuse what a browser sends for a page of somebody else's; others do not say where they come from."""
        host = request.headers.get("host", "")
        if self.is_open and not is_loopback(_host_name(host)):
            raise HttpError(
                403, "wrong_host", f"host: without tokens only a loopback address is answered, not {host!r}"
            )
        origin = request.headers.get("origin")
        if origin is None or request.method in _SAFE or self.may_read_from(origin):
            return
        if not host or origin.partition("://")[2] != host:  # as it stands: what is no address is none of ours either
            raise HttpError(403, "wrong_origin", f"origin: {origin!r} is not listed in http.cors_origins")


def _host_name(host: str) -> str:
    """Give the name in a `Host` header. Without one it is ours; what stands there and is no name is nobody's."""
    try:
        return urlsplit(f"//{host}").hostname or ("" if host else "localhost")
    except ValueError:
        return ""


def _bearer(request: Request) -> str | None:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def _digest(token: str) -> bytes:
    """All tokens are compared in this form: of equal length, whatever theirs was."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def _unauthorised(code: str, message: str) -> HttpError:
    return HttpError(401, code, message, headers={"WWW-Authenticate": "Bearer"})
