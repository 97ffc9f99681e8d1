"""The models that the settings name, ready to be asked; and the one that is always there, which follows a script."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

from turnwire.actors.engine_ports import Model, ModelCall
from turnwire.messages.ui import TextPart
from turnwire.runtime.models import Reply, Say, ScriptedModel, Think
from turnwire.runtime.settings import ModelSettings, SettingsError

PACE = 0.02  # seconds between the words of the scripted model: about what a quick model takes


def check_model(settings: ModelSettings) -> None:
    """Raise SettingsError where the provider that is set could not be asked: its key, or our extra, is missing.

    For whoever starts something, before anything is open: from inside, the reason would come out in groups.
    """
    if settings.provider in (None, "scripted"):
        return
    try:
        from turnwire.runtime.backend.provider_models import endpoint_of  # noqa: PLC0415  # needs an extra

        endpoint_of(settings)
    except ModuleNotFoundError as exc:
        raise SettingsError([f"model.provider: {exc}"]) from None
    except ValueError as exc:
        raise SettingsError([f"model.api_key: {exc}"]) from None


@asynccontextmanager
async def open_models(settings: ModelSettings) -> AsyncGenerator[Mapping[str, Model], None]:
    """Open the models, by name; none if no provider is set. Raises ValueError for a provider without its key."""
    if settings.provider is None:
        yield {}
    elif settings.provider == "scripted":
        yield {"scripted": ScriptedModel(scripted_reply)}
    else:
        from turnwire.runtime.backend.provider_models import open_provider  # noqa: PLC0415  # needs an extra

        async with open_provider(settings) as model:
            yield {model.model_id: model}


def scripted_reply(call: ModelCall) -> Reply:
    """Answer whatever is asked: what was said, and who it is that answers."""
    said = "".join(
        part.content
        for message in call.messages[-1:]
        if message.role == "user"
        for part in message.parts
        if isinstance(part, TextPart)
    )
    return [
        Think("Somebody has asked something. I know what I will say: it is written down. ", every=PACE),
        Say(
            f"You said: {said.strip() or 'nothing'}\n\nI am a script, not a model: I repeat what I hear, one word at a "
            "time, so that you can see how a turn grows. Set model.provider to a real one to talk to somebody.",
            every=PACE,
        ),
    ]
