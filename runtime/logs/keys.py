"""Under which names things are kept in Redis. The only room that makes them."""

import attrs


@attrs.frozen
class Keys:
    """Makes the keys below one prefix."""

    prefix: str = "codex"

    @property
    def queue(self) -> str:
        """The stream that announces turns to workers."""
        return f"{self.prefix}:turns"

    @property
    def recent(self) -> str:
        """The sorted set of the turns that were announced lately, of all threads."""
        return f"{self.prefix}:recent"

    def raw(self, run_id: str) -> str:
        """Log A of a run: its StreamEvents."""
        return f"{self.prefix}:run:{_checked(run_id)}:events"

    def turn_of(self, run_id: str) -> str:
        """Which turn a run belongs to."""
        return f"{self.prefix}:run:{_checked(run_id)}:turn"

    def run_of(self, turn_id: str) -> str:
        """Which run a turn's events are kept under: the other way round."""
        return f"{self.prefix}:turn:{_checked(turn_id)}:run"

    def thread_of(self, turn_id: str) -> str:
        """Which thread a turn belongs to."""
        return f"{self.prefix}:turn:{_checked(turn_id)}:thread"

    def processed(self, turn_id: str) -> str:
        """Log B of a turn: its outputs."""
        return f"{self.prefix}:turn:{_checked(turn_id)}:processed"

    def thread(self, thread_id: str) -> str:
        """The sorted set of a thread's turns."""
        return f"{self.prefix}:thread:{_checked(thread_id)}:turns"

    @property
    def waiting(self) -> str:
        """The sorted set of threads that wait for somebody's answer."""
        return f"{self.prefix}:waiting"

    def run_input(self, run_id: str) -> str:
        """What a run of an engine begins with."""
        return f"{self.prefix}:run:{_checked(run_id)}:input"

    def conversation(self, thread_id: str) -> str:
        """The conversation of a thread, as it was last saved."""
        return f"{self.prefix}:thread:{_checked(thread_id)}:conversation"

    def pending(self, thread_id: str) -> str:
        """The calls that a thread waits for."""
        return f"{self.prefix}:thread:{_checked(thread_id)}:pending"

    def claim(self, thread_id: str) -> str:
        """Which run has a thread."""
        return f"{self.prefix}:thread:{_checked(thread_id)}:claim"

    def saved_by(self, thread_id: str) -> str:
        """Which run has saved a thread last."""
        return f"{self.prefix}:thread:{_checked(thread_id)}:saved-by"

    def answers(self, thread_id: str) -> str:
        """The hash of a thread's answers."""
        return f"{self.prefix}:thread:{_checked(thread_id)}:answers"


def _checked(name: str) -> str:
    """Give the id back. One that cannot be sent is refused here, where it came from, and not in everybody's round."""
    try:
        name.encode()
    except UnicodeEncodeError as exc:
        raise ValueError(f"an id must be text that UTF-8 can carry; got {name!r}") from exc
    return name
