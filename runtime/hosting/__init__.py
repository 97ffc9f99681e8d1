"""A home in any application: the runtime inside Trio, inside AnyIO, and beside an asyncio loop."""

from turnwire.runtime.hosting.bridge import AsgiApp, Bridge, open_bridge
from turnwire.runtime.hosting.hosted import Hosted, open_hosted
from turnwire.runtime.hosting.streams import Stream
from turnwire.runtime.hosting.turns import AnyTurn

__all__ = ["AnyTurn", "AsgiApp", "Bridge", "Hosted", "Stream", "open_bridge", "open_hosted"]
