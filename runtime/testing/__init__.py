"""For the tests of whoever builds on turnwire: a model that follows a script, a log in memory, turns of production.

Everything waits on Trio's clock, so that under `trio.testing.MockClock` an hour's turn takes a moment and all times are
exact.
"""

from turnwire.messages.testing import (
    AguiContractChecker,
    ContractChecker,
    ContractError,
    check_agui_contract,
    check_contract,
)
from turnwire.runtime.logs.memory import MemoryLog
from turnwire.runtime.models import (
    Call,
    Cut,
    Fail,
    Finish,
    Hang,
    Pause,
    Reply,
    Say,
    Script,
    ScriptedModel,
    Step,
    Think,
)
from turnwire.runtime.testing.collect import CollectedTurn, collect_turn
from turnwire.runtime.testing.expect import assert_outputs, assert_says
from turnwire.runtime.testing.recorded import RecordedEvent, check_saved_turn, read_turn_events, save_turn

__all__ = [
    "AguiContractChecker",
    "Call",
    "CollectedTurn",
    "ContractChecker",
    "ContractError",
    "Cut",
    "Fail",
    "Finish",
    "Hang",
    "MemoryLog",
    "Pause",
    "RecordedEvent",
    "Reply",
    "Say",
    "Script",
    "ScriptedModel",
    "Step",
    "Think",
    "assert_outputs",
    "assert_says",
    "check_agui_contract",
    "check_contract",
    "check_saved_turn",
    "collect_turn",
    "read_turn_events",
    "save_turn",
]
