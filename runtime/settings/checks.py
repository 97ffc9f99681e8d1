"""What a setting may be, in words for whoever wrote it. A check gives the problem, or None if there is none."""

import re
from collections.abc import Callable
from ipaddress import ip_address
from math import inf, isfinite
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from turnwire.actors.core.gradient import check_gradient, is_number

Check: TypeAlias = Callable[[Any], str | None]
"""Takes a value of the right type; says what is wrong with it."""

REDIS_SCHEMES = ("redis", "rediss", "unix")
HIDDEN = "***"
SECRET_BYTES = 32  # as many as the SHA-256 that it keys puts out; fewer would be its weakest part (RFC 2104, 3)


def seconds(*, zero: bool = False, endless: bool = False) -> Check:
    """Make the check of a time: more than 0, or from 0 on; `endless` allows inf."""

    def check(value: float) -> str | None:
        if endless and value == inf:
            return None
        if not isfinite(value) or value < 0 or (value == 0 and not zero):
            limit = "from 0 on" if zero else "greater than 0"
            return f"must be a number of seconds {limit}{', or inf' if endless else ''}"
        return None

    return check


def whole(lowest: int, highest: int | None = None) -> Check:
    """Make the check of a whole number."""

    def check(value: int) -> str | None:
        if value < lowest or (highest is not None and value > highest):
            return f"must be a whole number from {lowest} {'on' if highest is None else f'to {highest}'}"
        return None

    return check


def share(value: float) -> str | None:
    """Check a share of something."""
    return None if 0 <= value <= 1 else "must be a number from 0 to 1"


def not_negative(value: float) -> str | None:
    """Check a number from 0 on."""
    return None if is_number(value) and value >= 0 else "must be a number from 0 on"


def steps(value: tuple[float, ...]) -> str | None:
    """Check a batch gradient."""
    try:
        check_gradient(value, 0)
    except ValueError as exc:
        return str(exc).partition(" ")[2].partition(", not ")[0]
    return None


def word(value: str) -> str | None:
    """Check a name that becomes part of keys and ids."""
    return None if value and not any(map(str.isspace, value)) else "must be a word without spaces"


def secret(value: str) -> str | None:
    """Check what signs: one that can be guessed lets whoever guesses it sign, and a guess can be tried at home."""
    fits = word(value) is None and len(value.encode("utf-8", "replace")) >= SECRET_BYTES
    return None if fits else f"must be a word of {SECRET_BYTES} bytes or more, such as `openssl rand -hex 32` gives"


def words(value: tuple[str, ...]) -> str | None:
    """Check a list of secrets: none may be empty, or an empty token would let everybody in."""
    return None if all(value) and all(map(str.strip, value)) else "must not hold an empty text"


def origins(value: tuple[str, ...]) -> str | None:
    """Check origins as browsers send them: scheme, host and port, no path."""
    for origin in value:
        parts = urlsplit(origin) if _has_port(origin) else urlsplit("")
        if not parts.hostname or origin not in (f"http://{parts.netloc}", f"https://{parts.netloc}"):
            return "must hold origins such as https://example.org, without a path"
    return None


def one_of(*words: str) -> Check:
    """Make the check of a choice."""

    def check(value: str) -> str | None:
        return None if value in words else f"must be one of {', '.join(words)}"

    return check


def http_url(value: str) -> str | None:
    """Check the address of an HTTP service."""
    parts = urlsplit(value) if _has_port(value) else urlsplit("")
    if parts.scheme in ("http", "https") and parts.hostname:
        return None
    return "must be an address such as https://example.org/v1"


def redis_url(value: str) -> str | None:
    """Check the address of a Redis server."""
    if not _has_port(value):
        return "must have a number from 1 to 65535 as its port, if any"
    parts = urlsplit(value)
    if parts.scheme not in REDIS_SCHEMES:
        return f"must begin with one of {', '.join(f'{scheme}://' for scheme in REDIS_SCHEMES)}"
    if parts.scheme == "unix":
        return None if parts.path.strip("/") else "must name a socket, as unix:///run/redis.sock"
    if not parts.hostname:
        return "must name a host, as redis://127.0.0.1:6379/0"
    database = parts.path.strip("/")
    return (
        None if not database or database.isdecimal() else "must end in the number of a database, as redis://host:6379/0"
    )


def is_loopback(host: str) -> bool:
    """Is a service that binds to this host reachable from this machine alone?"""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def without_password(url: str | None) -> str | None:
    """Give a URL as it may be shown: what stands in a password's place is hidden, rather too much than too little."""
    if url is None:
        return None
    scheme, slashes, rest = url.partition("://")
    user, at, host = rest.rpartition("@")  # the last one: a password may have been written with another in it
    if at and ":" in user:
        rest = f"{user.partition(':')[0]}:{HIDDEN}@{host}"
    elif not _has_port(url):
        rest = HIDDEN  # what stands in the place of the port may be anything
    return scheme + slashes + _PASSWORD.sub(rf"\1{HIDDEN}", rest)


_PASSWORD = re.compile(r"([?&][^=&]*password[^=&]*=)[^&]*", re.IGNORECASE)  # redis-py takes options in the query


def _has_port(url: str) -> bool:
    """Is the port of this URL a port, if it has one?"""
    try:
        return urlsplit(url).port != 0
    except ValueError:
        return False
