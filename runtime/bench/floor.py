"""The least that the job costs: a plain loop that decodes, appends, tests the threshold and encodes. No tasks.

It keeps no order, retries nothing, times nothing out and checks nothing. What our pipeline costs is told as a
multiple of this.
"""

import time
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from turnwire.actors.core.gradient import Gradient


class _Item:
    __slots__ = ("index", "limit", "pieces", "units")

    def __init__(self, limit: int) -> None:
        self.pieces: list[str] = []
        self.units = 0
        self.index = 0
        self.limit = limit


class Floor:
    """The loop's state: the items of each turn."""

    def __init__(self) -> None:
        self._gradient = Gradient()
        self._turns: dict[str, dict[str, _Item]] = {}
        self.emissions = 0
        self.bytes = 0
        self.last: Mapping[str, object] = {}

    def run_bytes(self, events: Iterable[bytes]) -> None:
        """Process events from their JSON."""
        loads, step = orjson.loads, self._step
        for data in events:
            step(loads(data))

    def run_decoded(self, events: Iterable[dict[str, Any]]) -> None:
        """Process events that were decoded before."""
        step = self._step
        for event in events:
            step(event)

    def _step(self, event: dict[str, Any]) -> None:
        turn_id, payload = event["run_id"], event["payload"]
        kind = payload["type"]
        if kind == "item_delta":
            item_id, text = payload["item_id"], payload["delta_content"]
            item = self._turns[turn_id][item_id]
            item.pieces.append(text)
            item.units += len(text)
            if item.units > item.limit:
                status = "update" if item.index else "create"
                item.index = self._gradient.index_past(item.units, item.index)
                item.limit = self._gradient.limit(item.index)
                whole = "".join(item.pieces)
                item.pieces = [whole]
                self._emit(turn_id, item_id, status, whole)
        elif kind == "item_start":
            self._turns[turn_id][payload["item_id"]] = _Item(self._gradient.limit(0))
        elif kind == "item_done":
            del self._turns[turn_id][payload["item_id"]]
            self._emit(turn_id, payload["item_id"], "complete", payload["final_item"]["content"])
        elif kind == "response_start":
            self._turns[turn_id] = {}
            self._emit(turn_id, "", kind, "")
        else:
            del self._turns[turn_id]
            self._emit(turn_id, "", kind, "")

    def _emit(self, turn_id: str, item_id: str, status: str, content: str) -> None:
        output = {
            "type": "message",
            "turnId": turn_id,
            "threadId": "th",
            "itemId": item_id,
            "status": status,
            "content": content,
            "origin": "agent",
        }
        self.emissions += 1
        message = {
            "eventId": f"{turn_id}:1-{self.emissions}",
            "timestamp": round(time.time() * 1000),
            "turnId": turn_id,
            "payload": (payload := orjson.dumps(output).decode()),
        }
        self.bytes += len(payload)
        self.last = message
