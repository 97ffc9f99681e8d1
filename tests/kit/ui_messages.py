"""Conversations for Hypothesis: any that a UI can hold, and those that a provider's request can hold whole."""

import base64
from typing import Any

from hypothesis import strategies as st
from msgspec import UNSET

from turnwire.messages.agui.messages import MediaSource
from turnwire.messages.json_text import dump_json, parse_json_or_text
from turnwire.messages.model_messages import DENIED, NO_RESULT
from turnwire.messages.ui import (
    Approval,
    MediaPart,
    Part,
    Role,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolCallState,
    ToolResultPart,
    ToolResultState,
    UIMessage,
)

_ROLES: tuple[Role, ...] = ("user", "assistant", "assistant", "system", "developer")
STATES: tuple[ToolCallState, ...] = (
    "awaiting-input", "input-streaming", "input-complete", "approval-requested", "approval-responded", "complete", "error",
)  # fmt: skip
WORDS = st.text(st.characters(codec="utf-8"), max_size=12)
SAID = WORDS.filter(lambda text: text.strip() != "")
NAMES = st.text("abcdefghij_", min_size=1, max_size=6)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(WORDS, JSON, max_size=3)
DATA = st.none() | st.dictionaries(NAMES, JSON, max_size=2)
BASE64 = st.binary(max_size=12).map(lambda data: base64.b64encode(data).decode())
URLS = NAMES.map("https://example.org/{}".format)

# Whatever a UI can hold


def thinking_parts(index: int, count: int) -> st.SearchStrategy[ThinkingPart]:
    """Thinking of several steps, each of which names its place, or stands right behind the one before."""

    @st.composite
    def make(draw: st.DrawFn) -> ThinkingPart:
        steps: list[dict[str, Any]] = [{"stepId": "s0", "content": draw(WORDS), "signature": draw(WORDS)}]
        places = sorted(draw(st.lists(st.integers(index + 1, max(index + 1, count)), max_size=3)))
        for number, place in enumerate(places, 1):
            named = {"at": place} if place > index + 1 or draw(st.booleans()) else {}
            steps.append(
                {"stepId": f"s{number}", "content": draw(WORDS), **named, **draw(st.sampled_from([{}, {"x": 1}]))}
            )
        content = "".join(step["content"] for step in steps)
        rest: dict[str, Any] = draw(st.dictionaries(NAMES, JSON, max_size=1))
        return ThinkingPart(content=content, provider_data={**rest, "steps": steps})

    return make()


def media_parts(sources: st.SearchStrategy[MediaSource] | None = None) -> st.SearchStrategy[MediaPart]:
    """Any medium."""
    anything = st.builds(
        MediaSource,
        type=st.sampled_from(["data", "url", "file"]),
        value=WORDS,
        mime_type=st.none() | NAMES,
        provider=st.none() | NAMES,
    )
    kinds = st.sampled_from(["image", "audio", "video", "document"])
    return st.builds(MediaPart, kind=kinds, source=sources or anything, metadata=JSON, provider_data=DATA)


@st.composite
def any_ui_messages(draw: st.DrawFn) -> list[UIMessage]:
    """Conversations as wild as the types allow, with ids that are each used once."""
    ids = draw(st.lists(NAMES, max_size=5, unique=True))
    messages: list[UIMessage] = []
    for message_id in ids:
        parts: list[Part] = draw(st.lists(_any_part(), max_size=7))
        merged = draw(st.none() | st.integers(0, len(parts)))
        if merged is not None:
            parts.insert(merged, draw(thinking_parts(merged, len(parts) + 1)))
        role: Role = draw(st.sampled_from(_ROLES))
        created = draw(st.none() | st.integers(0, 2**40) | WORDS)
        messages.append(
            UIMessage(id=message_id, role=role, parts=tuple(parts), created_at=created, provider_data=draw(DATA))
        )
    return messages


def _any_part() -> st.SearchStrategy[Part]:
    approvals = st.none() | st.builds(Approval, id=NAMES, approved=st.none() | st.booleans())
    return st.one_of(
        st.builds(TextPart, content=WORDS, provider_data=DATA),
        st.builds(ThinkingPart, content=WORDS, step_id=st.none() | NAMES, provider_data=DATA),
        st.builds(
            ToolCallPart,
            id=NAMES,
            name=NAMES,
            arguments=WORDS,
            state=st.sampled_from(STATES),
            input=st.just(UNSET) | JSON,
            output=st.just(UNSET) | JSON,
            approval=approvals,
            provider_data=DATA,
        ),
        st.builds(
            ToolResultPart,
            tool_call_id=NAMES,
            content=WORDS,
            state=st.sampled_from(["complete", "error"]),
            error=st.none() | WORDS,
            provider_data=DATA,
        ),
        media_parts(),
    )


# What a request can hold whole: each part as a conversation with that provider would have left it


_EXCHANGES: list[list[Role]] = [["user"], ["user", "assistant"]]


@st.composite
def whole_ui_messages(draw: st.DrawFn, provider: str) -> list[UIMessage]:
    """Conversations of which this provider's request keeps everything but the messages' ids, made to match here."""
    roles: list[Role] = ["system"] if draw(st.booleans()) else []
    for _ in range(draw(st.integers(0, 4))):
        roles += draw(st.sampled_from(_EXCHANGES))
    messages: list[UIMessage] = []
    for number, role in enumerate(roles, 1):
        parts: list[Part]
        if role == "assistant":
            parts = _rounds(draw, provider, number)
        else:
            media = st.nothing() if role == "system" else _sendable(provider)
            parts = draw(st.lists(st.builds(TextPart, content=SAID) | media, min_size=1, max_size=3))
        messages.append(UIMessage(id=f"message-{number}", role=role, parts=tuple(parts)))
    return messages


def _rounds(draw: st.DrawFn, provider: str, number: int) -> list[Part]:
    """Give what was said, called and answered, in one or more rounds; only the last may leave calls unanswered."""
    parts: list[Part] = []
    last = draw(st.integers(0, 2))
    for round_number in range(last + 1):
        said: list[Part] = draw(st.lists(_thinking(provider), max_size=1))
        said += draw(st.lists(_text(provider), max_size=2))
        count = draw(st.integers(1 if round_number < last or not said else 0, 3))
        calls = [_call(draw, provider, f"call-{number}-{round_number}-{place}") for place in range(count)]
        if provider != "openai-chat":  # there calls stand last
            said = draw(st.permutations([*said, *(call for call, _ in calls)]))
        else:
            said += [call for call, _ in calls]
        answered = round_number < last or draw(st.booleans())
        if not answered:
            said = [_unanswered(part) if isinstance(part, ToolCallPart) else part for part in said]
        parts += said
        parts += draw(st.permutations([result for _, result in calls])) if answered else []
    return parts


def _unanswered(call: ToolCallPart) -> ToolCallPart:
    return ToolCallPart(
        id=call.id,
        name=call.name,
        arguments=call.arguments,
        state="input-complete",
        input=call.input,
        provider_data=call.provider_data,
    )


def _call(draw: st.DrawFn, provider: str, call_id: str) -> tuple[ToolCallPart, ToolResultPart]:
    arguments = draw(OBJECTS)
    content = draw(WORDS | JSON.map(lambda value: dump_json(value).decode())).replace(NO_RESULT, DENIED)
    state: ToolResultState = "complete"
    if provider == "anthropic-messages" and draw(st.booleans()):
        state = "error"
    sealed: dict[str, Any] = {"format": provider}
    match provider:
        case "anthropic-messages":
            sealed |= {"block": {"caller": {"type": "direct"}}}
        case "openai-responses":
            sealed |= {"item": {"id": f"fc_{call_id}"}}
        case _:
            sealed |= {"extra_content": {"google": {"thought_signature": draw(SAID)}}}
    call = ToolCallPart(
        id=call_id,
        name=draw(NAMES),
        arguments=dump_json(arguments).decode(),
        state=state,
        input=arguments,
        output=parse_json_or_text(content),
        provider_data=draw(st.sampled_from([None, sealed])),
    )
    return call, ToolResultPart(tool_call_id=call_id, content=content, state=state)


def _text(provider: str) -> st.SearchStrategy[TextPart]:
    plain = st.builds(TextPart, content=SAID)
    if provider == "openai-responses":
        noted = {"type": "file_path", "file_id": "f", "index": 0}
        data = [{"format": provider, "item": {"id": "msg_1", "phase": "commentary"}},
                {"format": provider, "item": {"id": "msg_2"}, "annotations": [noted]}]  # fmt: skip
        return plain | st.builds(TextPart, content=SAID, provider_data=st.sampled_from(data))
    if provider == "anthropic-messages":
        before = [{"type": "redacted_thinking", "data": "sealed"}]
        return plain | st.builds(TextPart, content=SAID, provider_data=st.just({"format": provider, "before": before}))
    return plain


def _thinking(provider: str) -> st.SearchStrategy[ThinkingPart]:
    def seal(text: str, secret: str) -> ThinkingPart:
        data: dict[str, Any]
        match provider:
            case "anthropic-messages":
                data = {"block": {"type": "thinking", "thinking": text, "signature": secret}}
            case "openai-responses":
                summary = [{"type": "summary_text", "text": text}]
                data = {"item": {"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": secret}}
            case _:
                data = {"reasoning_details": [{"type": "reasoning.text", "text": text, "signature": secret}]}
        return ThinkingPart(content=text, provider_data={"format": provider, **data})

    return st.builds(seal, SAID, SAID)


def _sendable(provider: str) -> st.SearchStrategy[MediaPart]:
    """Media that this provider takes and gives back as they were."""
    owner = "anthropic" if provider == "anthropic-messages" else "openai"
    inline_picture = st.builds(MediaSource, type=st.just("data"), value=BASE64, mime_type=st.just("image/png"))
    pdf = st.builds(MediaSource, type=st.just("data"), value=BASE64, mime_type=st.just("application/pdf"))
    at_url = st.builds(MediaSource, type=st.just("url"), value=URLS)
    stored = st.builds(MediaSource, type=st.just("file"), value=NAMES, provider=st.just(owner))
    named = st.fixed_dictionaries({"filename": NAMES})
    pictures = inline_picture | at_url if provider == "openai-chat" else inline_picture | at_url | stored
    papers = [st.builds(MediaPart, kind=st.just("document"), source=pdf, metadata=named),
              st.builds(MediaPart, kind=st.just("document"), source=stored)]  # fmt: skip
    if provider != "openai-chat":
        papers.append(st.builds(MediaPart, kind=st.just("document"), source=at_url))
    else:
        wav = st.builds(MediaSource, type=st.just("data"), value=BASE64, mime_type=st.just("audio/wav"))
        papers.append(st.builds(MediaPart, kind=st.just("audio"), source=wav))
    return st.builds(MediaPart, kind=st.just("image"), source=pictures) | st.one_of(papers)
