"""What the writer of a Redis log remembers between two rounds. Touched only by the thread that runs a round."""

import os
from collections.abc import Iterator, Sequence
from math import inf

from turnwire.actors.core.kept_tail import KeptTail
from turnwire.messages.entries import START, EntryId
from turnwire.runtime.logs.counts import LogCounts
from turnwire.runtime.logs.redis.lane import pack
from turnwire.runtime.logs.redis.options import RedisLogOptions
from turnwire.runtime.logs.redis.wire import add_fence

FORGET_BEYOND = 1000  # turns owned and silent, before the table is gone through


class Book:
    """Which turns are ours, what was acknowledged lately, and what is still to be done."""

    def __init__(self, options: RedisLogOptions, counts: LogCounts) -> None:
        self.options = options
        self.counts = counts
        self.outputs = KeptTail(seconds=options.keep_seconds, most_bytes=options.keep_bytes)
        self.raw = KeptTail(seconds=options.keep_seconds, most_bytes=options.keep_bytes)
        self.to_expire: set[str] = set()
        """Logs whose turn has ended: they are to be given their time to live."""
        self.heard_at = -inf
        """When the last round was begun that the server saw through."""
        self._ended: set[str] = set()  # logs of both kinds that are to expire, as long as anything of them is kept
        self._most_ended = self._most_owned = self._most_based = 2 * FORGET_BEYOND
        self._token = os.urandom(16).hex()
        self._claims = 0
        self._unanswered: dict[str, tuple[str, EntryId]] = {}
        self._bases: dict[str, EntryId] = {}
        self._disowned: dict[str, int] = {}
        self._epochs: dict[str, int] = {}

    def new_token(self) -> str:
        """Make a name for a fence that nobody else uses, and that we know again as ours."""
        self._claims += 1
        return f"{self._token}:{self._claims}"

    def claim(self, key: str, base: EntryId) -> str:
        """Make the name of a fence that is about to be put up to claim a turn. It is remembered until the answer.

        `base` is the last thing in the turn's log: what its next owner builds upon.
        """
        token = self.new_token()
        self._unanswered[key] = token, base
        return token

    def settle_claim(self, key: str, fence: str | None) -> bool:
        """Forget a claim. True if this fence is the one that it put up: then the turn is built upon what was there."""
        token, base = self._unanswered.pop(key, ("", START))
        if not token or token != fence:
            return False
        if base != self.outputs.newest(key):  # else its owner was us, and it is built upon the same as then
            self._bases[key] = base
            if len(self._bases) > self._most_based:
                self._bases = {key: base for key, base in self._bases.items() if self.outputs.keeps(key)}
                self._most_based = 2 * max(FORGET_BEYOND, len(self._bases))
        return True

    def base(self, key: str) -> EntryId:
        """Give the last thing that was in a turn's log when we claimed it; the start, if there was nothing."""
        return self._bases.get(key, START)

    def disown(self, key: str, epoch: int) -> None:
        """Give a turn up: nothing of it is put back, and nothing more is written under this epoch."""
        self.outputs.forget(key)
        self._disowned[key] = epoch
        if len(self._disowned) > FORGET_BEYOND:
            del self._disowned[next(iter(self._disowned))]

    def is_disowned(self, key: str, epoch: int) -> bool:
        """Did we give the turn up?"""
        return self._disowned.get(key, 0) >= epoch

    def is_ours(self, fence: str | None) -> bool:
        """Did we put this fence up?"""
        return fence is not None and fence.startswith(f"{self._token}:")

    def owns(self, key: str, epoch: int) -> bool:
        """Have we fenced this epoch, or a later one, under which Redis itself refuses what is of an earlier one?"""
        return self._epochs.get(key, 0) >= epoch

    def own(self, key: str, epoch: int, token: str | None, *, now: float) -> None:
        """Note that a turn is ours. The fence is kept with the rest if it was put up just now."""
        self._epochs[key] = max(epoch, self._epochs.get(key, 0))
        self._disowned.pop(key, None)
        if token is not None:
            self.outputs.add(key, EntryId(epoch, 0), (pack(add_fence(key, epoch, token)),), now=now)
        if len(self._epochs) > self._most_owned:
            self._forget_silent()

    def forget_owners(self) -> None:
        """Be sure of no turn any more: a server that forgets may have given it to another under the same epoch."""
        self._epochs.clear()

    @property
    def keeps_any(self) -> bool:
        """Is there anything that the server might lose, and we could put back?"""
        return bool(len(self.outputs) or len(self.raw))

    def trim(self, *, now: float) -> None:
        """Let go of what is old enough."""
        self.outputs.trim(now=now)
        self.raw.trim(now=now)

    def end(self, key: str) -> None:
        """Note that a log is to be given its time to live."""
        self.to_expire.add(key)
        self._ended.add(key)
        if len(self._ended) > self._most_ended:
            self._ended = set(self.ended())
            self._most_ended = 2 * max(FORGET_BEYOND, len(self._ended))

    def ended(self) -> Iterator[str]:
        """Give the logs that were given their time to live so lately that the server may have forgotten it."""
        return (key for key in self._ended if self.outputs.keeps(key) or self.raw.keeps(key))

    def appended(self, key: str, first: EntryId, commands: Sequence[bytes], *, is_terminal: bool, now: float) -> None:
        """Note outputs that were acknowledged."""
        self.outputs.add(key, first, commands, now=now)
        if is_terminal:
            self._epochs.pop(key, None)
            self.end(key)

    def appended_raw(self, key: str, entry_id: EntryId, command: bytes, *, now: float) -> None:
        """Note a raw event that was acknowledged."""
        self.raw.add(key, entry_id, (command,), now=now)

    def _forget_silent(self) -> None:
        """Forget turns that have not been written for long. Should one speak again, its fence is looked up."""
        self._epochs = {key: epoch for key, epoch in self._epochs.items() if self.outputs.keeps(key)}
        self._most_owned = 2 * max(FORGET_BEYOND, len(self._epochs))  # so that this is not done for each turn more
