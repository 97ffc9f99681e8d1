"""Read-only tokens for browsers: which turn, until when, signed. Pure.

A token is two parts in base64url: the claim, a JSON list [version, turn id, expiry in seconds since the epoch], and its
HMAC-SHA256. Nothing is stored: whoever has the secret can tell.
"""

import hashlib
import hmac
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode

from turnwire.messages.json_text import dump_json, parse_json

VERSION = 1
_TOKEN = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{43})", re.ASCII)


class TokenError(ValueError):
    """A token that does not let in. `code` tells an expired one from one that is none of ours."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


def mint_token(secret: bytes, turn_id: str, *, expires_at: int) -> str:
    """Make a token that lets read one turn until then."""
    claim = _encode(dump_json([VERSION, turn_id, expires_at]))
    return f"{claim}.{_sign(secret, claim)}"


def read_token(secret: bytes, token: str, *, now: float) -> str:
    """Give the turn that a token is for. Raises TokenError."""
    match = _TOKEN.fullmatch(token)
    if match is None or not hmac.compare_digest(_sign(secret, match[1]), match[2]):
        raise TokenError("invalid_token", "the token is not valid")
    version, turn_id, expires_at = parse_json(_decode(match[1]))  # ours: the signature says so
    if version != VERSION:
        raise TokenError("invalid_token", "the token is not valid")
    if expires_at <= now:
        raise TokenError("expired_token", "the token has expired; mint another one")
    return str(turn_id)


def _sign(secret: bytes, claim: str) -> str:
    return _encode(hmac.digest(secret, claim.encode(), hashlib.sha256))


def _encode(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
