"""What messages of several kinds tell in the same way: ids, tokens spent, what went wrong, where it came from."""

from typing import Annotated, Any, Literal, TypeAlias

import attrs
import msgspec

Json: TypeAlias = Any  # a JSON value that passes through us unread; the one place where Any is the honest type
Id: TypeAlias = Annotated[str, msgspec.Meta(min_length=1)]  # opaque: no UUID syntax is demanded, only not ""
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
Origin: TypeAlias = Literal["user", "agent", "system"]


@attrs.frozen(kw_only=True)
class TraceContext:
    """W3C trace context of the request that caused an event."""

    traceparent: str
    tracestate: str | None = None


@attrs.frozen(kw_only=True)
class ErrorInfo:
    """What went wrong, as the producer tells it."""

    code: str
    message: str
    stack: str | None = None
    details: Json = None


@attrs.frozen(kw_only=True)
class Usage:
    """Tokens spent. Unknown is None, never zero."""

    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    total_tokens: Count | None = None
    cached_tokens: Count | None = None
    cache_write_tokens: Count | None = None
    reasoning_tokens: Count | None = None
