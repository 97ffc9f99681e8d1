"""The text of one stream: where a segment begins, what of it is shown, what all of it is. No clock, no await.

1. A START, another message id, or another part after the segment's own begins a new segment: two blocks in a row are
   two parts, and text after a tool call is a part of its own.
2. A segment has a part from the moment something of it is shown. What waits is shown before any other part is added.
3. What was shown is not shown again unchanged.
"""

from turnwire.actors.core.chunking import ChunkStrategy, Immediate
from turnwire.actors.core.conversation_options import Notices
from turnwire.actors.core.message_list import MessageList
from turnwire.actors.core.open_message import OpenMessage
from turnwire.actors.core.open_parts import OpenText
from turnwire.messages.json_text import mend_surrogates, split_waiting_half
from turnwire.messages.ui import ProviderData


class Halves:
    """Keeps half a character, cut from its other half by the producer, until that comes."""

    __slots__ = ("_half",)

    def __init__(self) -> None:
        self._half = ""

    def join(self, piece: str) -> str:
        """Give a piece without half a character at its end, and with the one that was kept before it."""
        if not self._half and piece.isascii():
            return piece
        whole, self._half = split_waiting_half(self._half + piece)
        return mend_surrogates(whole)

    def give_up(self) -> str:
        """Give what stands for a half that was left alone, if there is one."""
        half, self._half = self._half, ""
        return mend_surrogates(half)


class TextFlow:
    """The segments of one stream's text."""

    __slots__ = (
        "_halves",
        "_immediate",
        "_message_id",
        "_messages",
        "_notices",
        "_part",
        "_segments",
        "_strategy",
        "_waiting",
        "texts",
    )

    def __init__(self, messages: MessageList, notices: Notices, strategy: ChunkStrategy) -> None:
        self._messages = messages
        self._notices = notices
        self._strategy = strategy
        self._immediate = type(strategy) is Immediate
        self.reset()

    def reset(self) -> None:
        """Begin a new stream."""
        self.texts: list[str] = []
        """All text of the stream, in order."""
        self._halves = Halves()
        self.forget()

    def forget(self) -> None:
        """Let go of the segment: its message is gone."""
        self._message_id: str | None = None
        self._part: OpenText | None = None
        self._segments: dict[str, OpenText] = {}  # the last one of each block
        self._waiting: list[str] = []

    def begin(self, message_id: str) -> None:
        """Begin a new segment."""
        self.flush()
        self._message_id = message_id
        self._part = None

    def add(self, message_id: str, delta: str, message: OpenMessage) -> None:
        """Add to the segment of this id, or begin one."""
        part = self._part
        if message_id != self._message_id or (part is not None and message.parts[-1] is not part):
            self.begin(message_id)
        piece = self._halves.join(delta)
        if piece:
            self._take(piece, message)

    def flush(self) -> None:
        """Show all that waits: what comes next is something else."""
        if self._messages.open is None:
            return
        if rest := self._halves.give_up():
            self.texts.append(rest)
            self._waiting.append(rest)
        self.show_waiting()

    def show_waiting(self) -> None:
        """Show what waits, but for half a character: its other half may still come."""
        message = self._messages.open
        if self._waiting and message is not None:
            piece = "".join(self._waiting)
            self._waiting.clear()
            self._show(piece, message)

    def knows(self, message_id: str) -> bool:
        """Has a block of this id begun in this stream?"""
        return message_id == self._message_id or message_id in self._segments

    def keep(self, message_id: str, data: ProviderData, message: OpenMessage) -> None:
        """Keep what the provider wants back with the segment of this id, which need not have any text."""
        part = self._part if message_id == self._message_id else self._segments.get(message_id)
        if part is None:
            if self._message_id not in (None, message_id):
                return  # the end of a block that never began
            self._message_id = message_id
            self.flush()
            part = self._part or self._show("", message)
        if not part.keeps(data):
            moment = self._messages.tick()
            message.touch(part, moment)
            part.keep(data, moment)
            self._messages.touch(message)
            self._notices.changed = True

    def _take(self, piece: str, message: OpenMessage) -> None:
        self.texts.append(piece)
        if self._immediate:
            self._show(piece, message)
            return
        waiting = self._waiting
        waiting.append(piece)
        count = self._strategy.visible(piece, len(waiting))
        if count < 0:
            return
        waiting[-1] = piece[:count]
        shown = "".join(waiting)
        waiting.clear()
        if count < len(piece):
            waiting.append(piece[count:])
        if shown:
            self._show(shown, message)

    def _show(self, piece: str, message: OpenMessage) -> OpenText:
        moment = self._messages.tick()
        part = self._part
        if part is None:
            self._part = self._segments[self._message_id or ""] = part = OpenText(moment)
            message.append(part, moment)
        else:
            message.touch(part, moment)
        part.append(piece, moment)
        self._messages.touch(message)
        self._notices.changed = True
        told = self._notices.callbacks.on_text_update
        if told is not None:
            self._notices.add(told, message.id, part.text.text)
        return part
