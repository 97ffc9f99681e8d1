"""A provider's model as the settings name it. Needs the extra `turnwire[providers]`."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from turnwire.messages.particulars import Json
from turnwire.runtime.models.provider import ProviderModel
from turnwire.runtime.providers.endpoints import Endpoint, anthropic_messages, openai_chat, openai_responses
from turnwire.runtime.providers.http import open_client
from turnwire.runtime.settings import ModelSettings

_ENDPOINTS: Mapping[str, Callable[..., Endpoint]] = {
    "openai-responses": openai_responses,
    "openai-chat": openai_chat,
    "anthropic-messages": anthropic_messages,
}


def endpoint_of(settings: ModelSettings) -> Endpoint:
    """Give where to ask. Raises ValueError where neither the settings nor the environment have the provider's key."""
    if settings.provider is None:
        raise ValueError("model.provider must be set")
    place: dict[str, Any] = {} if settings.base_url is None else {"base_url": settings.base_url}
    return _ENDPOINTS[settings.provider](api_key=settings.api_key, **place)


@asynccontextmanager
async def open_provider(settings: ModelSettings) -> AsyncGenerator[ProviderModel, None]:
    """Open the model. Raises ValueError as `endpoint_of` does."""
    if settings.name is None:
        raise ValueError("model.name must be set")
    endpoint = endpoint_of(settings)
    more: dict[str, Json] = {"max_tokens": settings.max_tokens} if settings.provider == "anthropic-messages" else {}
    async with open_client() as client:
        yield ProviderModel(endpoint, model_id=settings.name, client=client, settings=more, unsendable="refuse")
