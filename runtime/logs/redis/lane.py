"""One connection to Redis, used by one thread at a time. The only room that makes connections.

redis-py's own clients connect again by themselves and say nothing. A writer must know: after each reconnect it first
looks whether the server has lost something. So a lane holds a bare connection, opens it when told to, and never by
itself. Everything here is synchronous and runs in worker threads, except `abort`.
"""

import contextlib
import socket
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

import hiredis
import redis
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, RedisError, ResponseError
from redis.retry import Retry

from turnwire.messages.errors import LogUnavailableError

Command: TypeAlias = Sequence[str | bytes | int | float]
Reply: TypeAlias = Any
"""What Redis answered: bytes, numbers, lists of those, or a ResponseError where it refused one command."""

_pack: Callable[[tuple[object, ...]], bytes] = cast("Any", hiredis).pack_command  # typed as taking one word only


class Lane:
    """A connection, or the lack of one."""

    def __init__(self, url: str, *, socket_timeout: float, name: str) -> None:
        """Check the URL; nothing is connected yet. Raises ValueError for a URL that is none."""
        pool = cast("Any", redis.ConnectionPool).from_url(url)  # redis-py leaves the types of its options open
        pool.connection_kwargs.update(  # afterwards: what the URL says of these would win, and would break us
            socket_timeout=socket_timeout,
            socket_connect_timeout=socket_timeout,
            retry=Retry(NoBackoff(), 0),  # redis-py would try ten times, and its caller would hear of it late
            health_check_interval=0,
            protocol=2,  # the same replies from every server; the newer protocol's pushes are not for us
            decode_responses=False,
            client_name=name,
        )
        self._connection: Any = pool.make_connection()
        self._is_open = False
        self._is_aborted = False

    @property
    def is_open(self) -> bool:
        """Is there a connection, as far as is known?"""
        return self._is_open

    def open(self) -> None:
        """Connect, log in, choose the database. Raises LogUnavailableError."""
        self.close()
        if self._is_aborted:
            raise LogUnavailableError("the log is closed")
        try:
            self._connection.connect()
        except (RedisError, OSError, ValueError) as exc:
            hint = " (wrong password?)" if isinstance(exc, AuthenticationError) else ""
            what = "refuses us" if isinstance(exc, ResponseError) else "cannot be reached"
            raise LogUnavailableError(f"Redis {what}{hint}: {exc}") from exc
        self._is_open = True

    def close(self) -> None:
        """Let the connection go."""
        self._is_open = False
        self._connection.disconnect()

    def abort(self) -> None:
        """Make a thread that waits for a reply give up at once, for good. May be called from any thread."""
        self._is_aborted = True
        sock = self._connection._sock  # noqa: SLF001  # disconnect() would pull the parser from under that thread
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def send(self, commands: Sequence[Command]) -> None:
        """Send commands, all in one go."""
        if not self._is_open or self._is_aborted:
            raise LogUnavailableError("not connected to Redis")
        try:
            # Packed here in C: redis-py's own way around it costs as much as all the rest of an entry's way out.
            packed = b"".join([_pack(tuple(command)) for command in commands])
            self._connection.send_packed_command([packed], check_health=False)
        except (RedisError, OSError) as exc:
            raise self._gone(exc) from exc

    def receive(self) -> Reply:
        """Wait for the reply to the oldest command that has none yet. A refusal is given, not raised."""
        try:
            return self._connection.read_response()
        except ResponseError as refusal:
            return refusal
        except (RedisError, OSError, AttributeError) as exc:  # AttributeError: aborted between two replies
            raise self._gone(exc) from exc

    def ask(self, commands: Sequence[Command]) -> list[Reply]:
        """Send commands and wait for all their replies: one round trip."""
        self.send(commands)
        return [self.receive() for _ in commands]

    def ask_one(self, command: Command) -> Reply:
        """Send one command and give its reply. Here a refusal is raised, as LogUnavailableError."""
        reply = self.ask([command])[0]
        if isinstance(reply, ResponseError):
            raise LogUnavailableError(f"Redis refused {command[0]!r}: {reply}") from reply
        return reply

    def _gone(self, exc: Exception) -> LogUnavailableError:
        self.close()
        return LogUnavailableError(f"the connection to Redis was lost: {exc}")
