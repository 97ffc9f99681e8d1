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
from redis.exceptions import AuthenticationError, InvalidResponse, RedisError, ResponseError
from redis.retry import Retry

from turnwire.messages.errors import LogUnavailableError

Command: TypeAlias = Sequence[str | bytes | int | float] | bytes
"""A command's words; or all of it as it goes over the wire."""
Reply: TypeAlias = Any
"""What Redis answered: bytes, numbers, lists of those, or a ResponseError where it refused one command."""

MORE = object()  # what the parser says when a reply is not all there yet
READ_BYTES = 64 * 1024  # taken from the socket at once: the replies to a round

_NOT_YET = ("LOADING ", "MASTERDOWN ")  # a server that is just coming up: as good as none
_MULTI, _EXEC = b"*1\r\n$5\r\nMULTI\r\n", b"*1\r\n$4\r\nEXEC\r\n"

_pack: Callable[[tuple[object, ...]], bytes] = cast("Any", hiredis).pack_command  # typed as taking one word only


def pack(command: Command) -> bytes:
    """Word a command as it goes over the wire; one that is so already stays as it is.

    In C: redis-py's own way around it costs as much as all the rest of an entry's way out.
    """
    return command if isinstance(command, bytes) else _pack(tuple(command))


def together(commands: Sequence[Command]) -> list[Command]:
    """Frame commands so that all of them are done or, when the server refuses any before it begins, none is."""
    return [_MULTI, *commands, _EXEC]


def _new_reader() -> Any:
    return hiredis.Reader(protocolError=InvalidResponse, replyError=_refusal, notEnoughData=MORE)


def _refusal(text: str) -> ResponseError:
    return ResponseError(text.removeprefix("ERR "))  # which says nothing; other codes do


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
        self.socket_timeout = socket_timeout
        """Seconds that an answer may take."""
        self._connection: Any = pool.make_connection()
        self._sock: socket.socket | None = None
        self._reader = _new_reader()
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
        # From here on we talk to the socket ourselves: a reply costs a tenth of what it does through redis-py.
        self._sock = self._connection._sock  # noqa: SLF001  # connecting, TLS and logging in are all that we need of it
        self._reader = _new_reader()
        self._is_open = True

    def close(self) -> None:
        """Let the connection go."""
        self._is_open = False
        self._sock = None
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
        if self._sock is None or self._is_aborted:
            raise LogUnavailableError("not connected to Redis")
        try:
            self._sock.sendall(b"".join([it if isinstance(it, bytes) else pack(it) for it in commands]))
        except OSError as exc:
            raise self._gone(exc) from exc

    def receive(self) -> Reply:
        """Wait for the reply to the oldest command that has none yet. A refusal is given, not raised."""
        return self.receive_many(1)[0]

    def receive_many(self, count: int) -> list[Reply]:
        """Wait for the replies to the oldest `count` commands that have none yet."""
        replies: list[Reply] = []
        parse = self._reader.gets
        try:
            while len(replies) < count:
                if (reply := parse()) is MORE:
                    self._read_more()
                else:
                    replies.append(reply)
        except RedisError as exc:
            raise self._gone(exc) from exc
        for reply in replies:
            if isinstance(reply, ResponseError) and str(reply).startswith(_NOT_YET):
                raise self._gone(reply)
        return replies

    def receive_together(self, count: int) -> list[Reply] | ResponseError:
        """Wait for the replies to `count` commands that were sent `together`; a refusal means that none was done."""
        *queued, done = self.receive_many(count + 2)
        if isinstance(done, ResponseError):
            return next((reply for reply in queued if isinstance(reply, ResponseError)), done)  # that one says why
        replies: list[Reply] = done
        return replies

    def ask(self, commands: Sequence[Command]) -> list[Reply]:
        """Send commands and wait for all their replies: one round trip."""
        self.send(commands)
        return self.receive_many(len(commands))

    def ask_one(self, command: Command) -> Reply:
        """Send one command and give its reply. Here a refusal is raised, as LogUnavailableError."""
        reply = self.ask([command])[0]
        if isinstance(reply, ResponseError):
            raise LogUnavailableError(f"Redis refused {command[0]!r}: {reply}") from reply
        return reply

    def _read_more(self) -> None:
        if self._sock is None:
            raise LogUnavailableError("not connected to Redis")
        try:
            data = self._sock.recv(READ_BYTES)
        except OSError as exc:
            raise self._gone(exc) from exc
        if not data:
            raise self._gone(ConnectionError("the server has closed it"))
        self._reader.feed(data)

    def _gone(self, exc: Exception) -> LogUnavailableError:
        self.close()
        return LogUnavailableError(f"the connection to Redis was lost: {exc}")
