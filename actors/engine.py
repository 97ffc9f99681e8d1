"""The engine: runs agents. A model, tools, a store of threads; one run for each turn, each for itself.

    engine = Engine(model, [search, delete], store)
    outcome = await engine.run(RunInput(...), publish)

What a run does stands in engine_run.py, what it decides in core/run_machine.py. Runs of one thread come one after the
other (thread_turns.py): each goes on from what the one before has saved.
"""

from collections.abc import Mapping
from functools import partial
from typing import Protocol

from turnwire.actors.conversation import Conversation
from turnwire.actors.core.run_errors import NOT_LOADED, no_input, unknown_model
from turnwire.actors.core.run_machine import RunMachine
from turnwire.actors.core.toolset import Tools, ToolSet
from turnwire.actors.engine_options import EngineOptions
from turnwire.actors.engine_ports import Model, Publish, ThreadStore
from turnwire.actors.engine_run import EngineRun
from turnwire.actors.persist import persist_for_run
from turnwire.actors.thread_desk import ThreadDesk
from turnwire.actors.thread_turns import ThreadTurns
from turnwire.messages.errors import LogUnavailableError
from turnwire.messages.particulars import ErrorInfo
from turnwire.messages.runs import Answer, PendingCall, RunInput, RunOutcome


class AnnouncedTurn(Protocol):
    """A turn that a worker has taken from its queue."""

    @property
    def run_id(self) -> str: ...  # noqa: D102  # names are all there is to say
    @property
    def turn_id(self) -> str: ...  # noqa: D102
    @property
    def thread_id(self) -> str: ...  # noqa: D102


class Engine:
    """Runs agents. Has no task of its own: a run lives in the task of whoever asks for it."""

    def __init__(
        self,
        models: Model | Mapping[str, Model],
        tools: Tools,
        store: ThreadStore,
        options: EngineOptions | None = None,
    ) -> None:
        """Take one model, or several by name, of which the first is the default."""
        self.models: Mapping[str, Model] = models if isinstance(models, Mapping) else {models.model_id: models}
        self.tools = tools if isinstance(tools, ToolSet) else ToolSet.of(*tools)
        self.store = store
        self.options = options or EngineOptions()
        self._runs: dict[str, EngineRun] = {}
        self._turns = ThreadTurns(store, patience=self.options.patience)
        if not self.models:
            raise ValueError("an engine needs at least one model")

    async def run(self, run: RunInput, publish: Publish) -> RunOutcome:
        """Run one turn of a thread to its end, and say how it ended. Everything it has to tell goes to `publish`.

        Raises ValueError if a run of this id is running, and what `publish` raises. Whatever else goes wrong is the
        run's end: response_error, with the code in the outcome too.
        """
        if run.run_id in self._runs:
            raise ValueError(f"run {run.run_id} is running already")
        model = self._find_model(run.model)
        if model is None:
            return await _refuse(run, unknown_model(run.model, self.models), publish)
        tools = self.tools.with_client_tools(run.client_tools)
        desk = ThreadDesk(self.store, run, patience=self.options.patience)
        turn = self._turns.join(run)
        engine_run = self._runs[run.run_id] = EngineRun(run, model, tools, desk, turn, self.options, publish)
        try:
            return await engine_run.run()
        finally:
            del self._runs[run.run_id]

    async def work(self, turn: AnnouncedTurn, publish: Publish) -> None:
        """Run a turn that was announced to workers: what a worker calls. Its input was put into the store before."""
        bare = RunInput(run_id=turn.run_id, turn_id=turn.turn_id, thread_id=turn.thread_id)
        try:
            get_input = partial(self.store.get_input, turn.run_id)
            run = await persist_for_run(turn.run_id, get_input, patience=self.options.patience)
        except LogUnavailableError:
            await _refuse(bare, NOT_LOADED, publish)
            return
        if run is None:
            await _refuse(bare, no_input(turn.run_id), publish)
        else:
            await self.run(run, publish)

    def stop(self, run_id: str) -> bool:
        """Stop a run of this engine: it ends as aborted. False if no such run is running here."""
        run = self._runs.get(run_id)
        if run is not None:
            run.stop()
        return run is not None

    def conversation(self, run_id: str) -> Conversation | None:
        """Give the conversation of a run of this engine, to look at and to follow; None before it is loaded."""
        run = self._runs.get(run_id)
        return None if run is None else run.conversation

    @property
    def running(self) -> tuple[str, ...]:
        """The ids of the runs that are running."""
        return tuple(self._runs)

    async def answer(self, thread_id: str, answer: Answer) -> None:
        """Answer what a thread waits for; the next run of the thread goes on with it.

        Raises UnknownCallError if nobody asked; ApprovalAnsweredError or CallAnsweredError, with the first answer, if
        it was answered before.
        """
        await self.store.answer(thread_id, answer)

    async def pending(self, thread_id: str | None = None) -> tuple[PendingCall, ...]:
        """List what waits for somebody: of one thread, or of all."""
        return await self.store.pending(thread_id)

    def _find_model(self, name: str | None) -> Model | None:
        return next(iter(self.models.values())) if name is None else self.models.get(name)


async def _refuse(run: RunInput, error: ErrorInfo, publish: Publish) -> RunOutcome:
    """Tell a run that cannot begin: its start, and why it ended."""
    machine = RunMachine(run, ToolSet(), lambda _state: False)
    machine.begin(run.model or "", "", None)
    machine.fail(error)
    machine.tell_end()
    await publish(tuple(machine.outbox))
    return RunOutcome(status="error", error_code=error.code)
