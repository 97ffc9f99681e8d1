"""Models for the engine: providers over HTTP, and one that follows a script.

The providers' is `turnwire.runtime.models.provider`; it is not imported here because it needs httpx.
"""

from turnwire.runtime.models.script import Call, Cut, Fail, Finish, Hang, Pause, Reply, Say, Script, Step, Think
from turnwire.runtime.models.scripted import ScriptedModel

__all__ = [
    "Call",
    "Cut",
    "Fail",
    "Finish",
    "Hang",
    "Pause",
    "Reply",
    "Say",
    "Script",
    "ScriptedModel",
    "Step",
    "Think",
]
