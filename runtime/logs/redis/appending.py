"""Makes one request of outputs of a turn: as many as can be written in one go."""

from collections.abc import Sequence

from turnwire.messages.entries import id_of
from turnwire.messages.outputs import StreamMessage
from turnwire.messages.peek import peek_output
from turnwire.runtime.logs.redis.requests import Append
from turnwire.runtime.logs.redis.wire import pack_outputs

_OF_ITEMS = ('{"type":"message"', '{"type":"thinking"', '{"type":"tool_call"')


def append_of(key: str, messages: Sequence[StreamMessage], *, now: float) -> Append:
    """Word the request for the first of these messages, up to the first gap in their ids or the turn's end.

    Here and not in the round that carries them: text that cannot be sent is the trouble of its own turn alone. Raises
    ValueError for a first event id that names no entry, and for text that UTF-8 cannot carry.
    """
    first, turn_id = id_of(messages[0]), messages[0].turn_id
    start, count, is_terminal = f"{turn_id}:{first.major}-", 0, False
    for seq, message in enumerate(messages, first.minor):
        if is_terminal or message.event_id != f"{start}{seq}" or message.turn_id != turn_id:
            break
        is_terminal = _is_terminal(message.payload)
        count += 1
    taken = messages if count == len(messages) else messages[:count]
    commands = pack_outputs(key, taken)
    return Append(
        key=key,
        asked_at=now,
        size=sum(map(len, commands)),
        turn_id=turn_id,
        first=first,
        event_ids=[message.event_id for message in taken],
        commands=commands,
        is_terminal=is_terminal,
    )


def _is_terminal(payload: str) -> bool:
    # Most outputs are of items, and our own encoder puts the type first: those need no closer look.
    return not payload.startswith(_OF_ITEMS) and peek_output(payload).is_terminal
