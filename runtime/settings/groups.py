"""The settings, group by group, and which of them do not go together.

The classes below are the list: name, type, default, meaning and check stand in one place each. Where values come from
is the business of sources.py, docs/settings.md tells users of them, and a test compares the two.

Times are in seconds. Values that are secret are hidden wherever a settings object is shown.
"""

import os
import socket
from typing import Any, TypeVar

import attrs

from turnwire.actors.core.gradient import DEFAULT_GRADIENT
from turnwire.actors.core.options import MIB, TurnOptions
from turnwire.actors.core.restarts import RestartBudget
from turnwire.runtime.settings import checks as may_be
from turnwire.runtime.settings.checks import HIDDEN, Check

_T = TypeVar("_T")


def _hide(value: str | None) -> str:
    return HIDDEN if value else repr(value)


def _hide_each(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(HIDDEN for _ in values)


def _setting(default: _T, meaning: str, check: Check | None = None, *, shown: Any = True) -> _T:
    """Make a field. `shown` is how its value is shown, if not as it is."""
    metadata = {"meaning": meaning, "check": check, "shown": shown}
    return attrs.field(default=default, metadata=metadata, repr=shown)


@attrs.frozen(kw_only=True)
class RedisSettings:
    """The server that holds the logs."""

    url: str | None = _setting(
        None, "address of the server; none: logs in memory", may_be.redis_url, shown=may_be.without_password
    )
    prefix: str = _setting("codex", "what all keys begin with", may_be.word)
    expire_after: float = _setting(86_400.0, "how long a turn's logs stay after its terminal", may_be.seconds())
    keep_seconds: float = _setting(
        30.0, "how long an acknowledged entry is kept, to be appended again if the server loses it", may_be.seconds()
    )
    keep_bytes: int = _setting(64 * MIB, "how much is kept for that at most, over all turns", may_be.whole(1))
    socket_timeout: float = _setting(5.0, "a server silent for so long counts as gone", may_be.seconds())


@attrs.frozen(kw_only=True)
class WorkerSettings:
    """How turns are taken, kept and given up."""

    name: str | None = _setting(None, "the worker's name; none: made of host name and process id", may_be.word)
    claim_idle: float = _setting(
        10.0, "a turn whose worker was not heard of for so long is taken over", may_be.seconds()
    )
    heartbeat: float = _setting(2.5, "how often a worker says that it still works on a turn", may_be.seconds())
    stall_timeout: float = _setting(
        300.0, "a turn whose producer is silent for so long ends with TURN_STALLED", may_be.seconds(endless=True)
    )
    grace: float = _setting(
        5.0, "how long a shutdown waits for turns to end or be handed over", may_be.seconds(zero=True)
    )
    restart_limit: int = _setting(5, "so many restarts of a failed long-lived task ...", may_be.whole(0))
    restart_window: float = _setting(60.0, "... within so many seconds; then its failure goes up", may_be.seconds())

    @property
    def full_name(self) -> str:
        """The name this process works under, unlike that of any other."""
        return self.name or f"{socket.gethostname()}-{os.getpid()}"

    @property
    def restart_budget(self) -> RestartBudget:
        """A fresh budget for one long-lived task."""
        return RestartBudget(limit=self.restart_limit, window=self.restart_window)


@attrs.frozen(kw_only=True)
class TurnSettings:
    """How each turn batches, retries and ends."""

    batch_gradient: tuple[float, ...] = _setting(
        DEFAULT_GRADIENT, "tokens between emissions; the last step repeats", may_be.steps
    )
    growth: float = _setting(0.0, "each step is at least this share of what is there", may_be.not_negative)
    batch_timeout: float = _setting(1.0, "a stall this long emits what is there", may_be.seconds(endless=True))
    max_latency: float | None = _setting(
        1.0,
        "text that has waited this long is emitted even while deltas keep coming; none: it may wait",
        may_be.seconds(),
    )
    deadline: float = _setting(3600.0, "a turn open for longer ends with TURN_TIMEOUT", may_be.seconds(endless=True))
    retry_attempts: int | None = _setting(
        None, "tries after the first when a log refuses; none: until the deadline", may_be.whole(0)
    )
    retry_base: float = _setting(1.0, "wait before the first retry; it doubles with each", may_be.seconds(zero=True))
    retry_max: float = _setting(10.0, "longest wait before a retry", may_be.seconds(zero=True))
    retry_jitter: float = _setting(0.0, "up to this share of a wait is taken off at random", may_be.share)
    emit_cancelled: bool = _setting(False, "tell readers of cancelled items that they have seen")
    repeat_window: int | None = _setting(
        64, "so many of a turn's last event ids are remembered, to tell repeated events; none: all", may_be.whole(0)
    )


@attrs.frozen(kw_only=True)
class LimitSettings:
    """How much is taken of anything before it is refused, held up or cut."""

    event_bytes: int = _setting(16 * MIB, "bytes of one event; a larger one is refused", may_be.whole(1))
    item_bytes: int = _setting(4 * MIB, "bytes of one item's text; past it ITEM_TOO_LARGE", may_be.whole(1))
    live_items: int = _setting(1000, "live items of a turn; past it TOO_MANY_ITEMS", may_be.whole(1))
    channel_events: int = _setting(256, "events waiting in a turn's channel; then the producer waits", may_be.whole(1))
    outbox: int = _setting(64, "emissions waiting before the turn waits for its log", may_be.whole(1))
    patience: float = _setting(
        0.25,
        "then, once the oldest has waited this long, only newest states wait",
        may_be.seconds(zero=True, endless=True),
    )
    waiting: int = _setting(10_000, "emissions waiting before `send` waits in any case", may_be.whole(1))
    waiting_bytes: int = _setting(64 * MIB, "bytes of waiting emissions before `send` waits", may_be.whole(1))
    turns: int = _setting(10_000, "turns per process; a worker takes no more", may_be.whole(1))
    readers_per_turn: int = _setting(1000, "readers of one turn; one more is refused", may_be.whole(1))
    readers: int = _setting(10_000, "readers per process; one more is refused", may_be.whole(1))
    body_bytes: int = _setting(32 * MIB, "bytes of one HTTP request's body; a larger one is refused", may_be.whole(1))


@attrs.frozen(kw_only=True)
class HttpSettings:
    """Where the service listens, and whom it lets in."""

    host: str = _setting("127.0.0.1", "address to listen on; without tokens only a loopback one", may_be.word)
    port: int = _setting(8080, "port to listen on; 0: any that is free", may_be.whole(0, 65_535))
    tokens: tuple[str, ...] = _setting((), "bearer tokens that are let in", may_be.words, shown=_hide_each)
    secret: str | None = _setting(
        None, "signs the read-only tokens of browsers; 32 bytes or more", may_be.secret, shown=_hide
    )
    cors_origins: tuple[str, ...] = _setting(
        (), "origins that browsers may read from; empty: CORS is off", may_be.origins
    )
    token_lifetime: float = _setting(3600.0, "how long a browser's read-only token is valid at most", may_be.seconds())
    heartbeat: float = _setting(15.0, "a stream that was quiet for so long gets a comment", may_be.seconds())
    grace: float = _setting(
        5.0, "how long a shutdown waits for requests to end; then their connections are cut", may_be.seconds(zero=True)
    )
    work: bool = _setting(True, "work on turns too, as a worker does; false: leave them to workers on the same Redis")


@attrs.frozen(kw_only=True)
class ModelSettings:
    """The model that turns of threads are run with."""

    provider: str | None = _setting(
        None,
        "who answers: openai-responses, openai-chat, anthropic-messages, or scripted, which repeats what it hears",
        may_be.one_of("openai-responses", "openai-chat", "anthropic-messages", "scripted"),
    )
    name: str | None = _setting(None, "which of the provider's models", may_be.word)
    api_key: str | None = _setting(None, "the key for it", may_be.word, shown=_hide)
    base_url: str | None = _setting(None, "where to ask, if not at the provider's own address", may_be.http_url)
    max_tokens: int = _setting(4096, "most tokens of one answer, where the provider wants to be told", may_be.whole(1))
    instructions: str | None = _setting(None, "what the model is told before every conversation")


@attrs.frozen(kw_only=True)
class Settings:
    """All settings in force."""

    redis: RedisSettings = RedisSettings()
    worker: WorkerSettings = WorkerSettings()
    turn: TurnSettings = TurnSettings()
    limits: LimitSettings = LimitSettings()
    http: HttpSettings = HttpSettings()
    model: ModelSettings = ModelSettings()

    @property
    def turn_options(self) -> TurnOptions:
        """The options of each turn."""
        turn, limits = self.turn, self.limits
        return TurnOptions(
            batch_gradient=turn.batch_gradient,
            growth=turn.growth,
            batch_timeout=turn.batch_timeout,
            max_latency=turn.max_latency,
            retry_attempts=turn.retry_attempts,
            retry_base=turn.retry_base,
            retry_max=turn.retry_max,
            retry_jitter=turn.retry_jitter,
            emit_cancelled=turn.emit_cancelled,
            deadline=turn.deadline,
            outbox_limit=limits.outbox,
            patience=limits.patience,
            max_waiting=limits.waiting,
            max_waiting_bytes=limits.waiting_bytes,
            max_item_bytes=limits.item_bytes,
            max_items=limits.live_items,
            max_event_bytes=limits.event_bytes,
            channel_size=limits.channel_events,
            repeat_window=turn.repeat_window,
        )


def conflicts(settings: Settings) -> list[tuple[str, str]]:
    """Name the settings that are fine alone but not together, each with its problem."""
    found: list[tuple[str, str]] = []
    redis, worker, http, model = settings.redis, settings.worker, settings.http, settings.model
    if redis.expire_after <= redis.keep_seconds:
        found.append(("redis.expire_after", f"must be more than redis.keep_seconds ({redis.keep_seconds:g})"))
    if worker.heartbeat * 2 > worker.claim_idle:
        # One heartbeat may be late without the turn being taken away.
        found.append(("worker.heartbeat", f"must be at most half of worker.claim_idle ({worker.claim_idle:g})"))
    if not http.tokens and not may_be.is_loopback(http.host):
        found.append(("http.host", "must be a loopback address, such as 127.0.0.1, unless http.tokens are set"))
    if redis.url is None and not http.work:
        found.append(("http.work", "must be true without redis.url: nobody else can work on turns in memory"))
    if model.provider not in (None, "scripted") and model.name is None:
        found.append(("model.name", f"must be set for model.provider {model.provider}"))
    if model.provider is None and (model.name or model.api_key or model.base_url):
        found.append(("model.provider", "must be set for a model to be asked"))
    return found
