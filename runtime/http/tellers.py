"""One log, four ways to tell it: each entry becomes the data of some server-sent events.

`native` and `upsert` tell whole states, so a reader may come back anywhere. `agui` and `ui-message` tell deltas: who
comes back at an entry gets a converter that has taken in everything up to it, silently, and goes on from there.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal, Protocol, TypeAlias, cast, get_args

from turnwire.messages.agui.codec import encode_agui
from turnwire.messages.agui.custom import ApprovalRequested, tell_custom
from turnwire.messages.dialects import OutputsToAgui
from turnwire.messages.dialects.ui_message import OutputsToUiMessage
from turnwire.messages.dialects.upsert import OutputsToUpsert
from turnwire.messages.entries import Entry
from turnwire.messages.json_text import dump_json
from turnwire.messages.outputs import TurnComplete
from turnwire.messages.runs import PendingCall
from turnwire.messages.ui import Approval
from turnwire.runtime.logs.paging import output_of
from turnwire.runtime.observe import get_logger

log = get_logger("turnwire.http")

Dialect: TypeAlias = Literal["native", "upsert", "agui", "ui-message"]
DIALECTS: tuple[Dialect, ...] = get_args(Dialect)
Pending: TypeAlias = Callable[[], Awaitable[Sequence[PendingCall]]]
"""Asks what the turn's thread waits for."""

DONE = b"[DONE]"


class Teller(Protocol):
    """Tells the entries of one turn to one reader, in order."""

    is_stateful: bool
    """Does what it says depend on what it said before?"""
    headers: Mapping[str, str]

    async def tell(self, entry: Entry) -> list[bytes]:
        """Give the data of the events that an entry makes."""
        ...

    def finish(self) -> list[bytes]:
        """Give the data of what follows the turn's end."""
        ...


async def nothing_pending() -> Sequence[PendingCall]:
    """Say that nothing waits for an answer."""
    return ()


def make_teller(dialect: Dialect, pending: Pending = nothing_pending) -> Teller:
    """Make a teller for one reader."""
    match dialect:
        case "native":
            return NativeTeller()
        case "upsert":
            return UpsertTeller()
        case "agui":
            return AguiTeller(pending)
        case "ui-message":
            return UiMessageTeller(pending)


class NativeTeller:
    """Tells the outputs as they are in the log."""

    is_stateful = False
    headers: Mapping[str, str] = {}

    async def tell(self, entry: Entry) -> list[bytes]:
        """Give the payload."""
        return [entry.message.payload.encode()]

    def finish(self) -> list[bytes]:
        """Nothing follows the terminal."""
        return []


class UpsertTeller:
    """Tells the older item_upsert objects."""

    is_stateful = False
    headers: Mapping[str, str] = {}

    def __init__(self) -> None:
        self._converter = OutputsToUpsert()

    async def tell(self, entry: Entry) -> list[bytes]:
        """Give the objects of one output."""
        output = output_of(entry, log)
        return [] if output is None else [dump_json(told) for told in self._converter.push(output)]

    def finish(self) -> list[bytes]:
        """Nothing follows the terminal."""
        return []


class AguiTeller:
    """Tells AG-UI 1.0 events; what waits for the user's word is told before the run's end."""

    is_stateful = True
    headers: Mapping[str, str] = {}

    def __init__(self, pending: Pending) -> None:
        self._converter = OutputsToAgui()
        self._pending = pending

    async def tell(self, entry: Entry) -> list[bytes]:
        """Give the events of one output."""
        output = output_of(entry, log)
        if output is None:
            return []
        asked = await self._pending() if isinstance(output, TurnComplete) else ()
        told = [encode_agui(event) for event in self._converter.push(output)]
        requests = [encode_agui(tell_custom(_request(call))) for call in asked if call.kind == "approval"]
        return [*told[:-1], *requests, *told[-1:]] if told else []

    def finish(self) -> list[bytes]:
        """Nothing follows the terminal."""
        return []


class UiMessageTeller:
    """Tells the chunks of the AI SDK's UI message stream, and its mark of the end."""

    is_stateful = True
    headers: Mapping[str, str] = {"x-vercel-ai-ui-message-stream": "v1"}

    def __init__(self, pending: Pending) -> None:
        self._converter = OutputsToUiMessage()
        self._pending = pending

    async def tell(self, entry: Entry) -> list[bytes]:
        """Give the chunks of one output."""
        output = output_of(entry, log)
        if output is None:
            return []
        asked = await self._pending() if isinstance(output, TurnComplete) else ()
        requests = [chunk for call in asked if call.kind == "approval" for chunk in self._converter.ask_approval(call)]
        return [dump_json(chunk) for chunk in (*requests, *self._converter.push(output))]

    def finish(self) -> list[bytes]:
        """Mark the end."""
        return [DONE]


def _request(call: PendingCall) -> ApprovalRequested:
    return ApprovalRequested(
        tool_call_id=call.tool_call_id,
        tool_name=call.tool_name,
        approval=Approval(id=cast("str", call.approval_id)),
        input=call.input,
    )
