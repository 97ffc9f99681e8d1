"""One event of each type that AG-UI 1.0 has, as it is on the wire."""

from typing import Any

SOURCE = {"type": "url", "value": "https://x/y.png", "mimeType": "image/png"}
ONE_OF_EACH: dict[str, dict[str, Any]] = {
    "RUN_STARTED": {"runId": "r", "threadId": "t", "parentRunId": "p", "protocolVersion": "1.0"},
    "TEXT_MESSAGE_START": {"messageId": "m", "role": "assistant", "name": "Ann"},
    "TEXT_MESSAGE_CONTENT": {"messageId": "m", "delta": "Hi"},
    "TEXT_MESSAGE_END": {"messageId": "m"},
    "TEXT_MESSAGE_CHUNK": {"messageId": "m", "role": "assistant", "delta": "Hi"},
    "TOOL_CALL_START": {"toolCallId": "c", "toolCallName": "look", "parentMessageId": "m"},
    "TOOL_CALL_ARGS": {"toolCallId": "c", "delta": "{"},
    "TOOL_CALL_END": {"toolCallId": "c"},
    "TOOL_CALL_CHUNK": {"toolCallId": "c", "toolCallName": "look", "delta": "{"},
    "TOOL_CALL_RESULT": {"messageId": "t", "toolCallId": "c", "content": "ok", "role": "tool"},
    "STATE_SNAPSHOT": {"snapshot": {"a": None}},
    "STATE_DELTA": {"delta": [{"op": "add", "path": "/a", "value": 1}]},
    "MESSAGES_SNAPSHOT": {
        "messages": [
            {"id": "1", "role": "user", "content": [{"type": "text", "text": "x"}, {"type": "image", "source": SOURCE}]},
            {"id": "2", "role": "system", "content": "x"},
            {"id": "3", "role": "developer", "content": "x", "name": "Bob"},
            {"id": "4", "role": "reasoning", "content": "x", "encryptedValue": "e"},
            {"id": "5", "role": "assistant", "content": "x", "toolCalls": [{"id": "c", "type": "function", "function": {"name": "n", "arguments": "{}"}}]},
            {"id": "6", "role": "tool", "toolCallId": "c", "content": "x", "error": "no"},
            {"id": "7", "role": "activity", "activityType": "plan", "content": {"a": 1}},
        ]
    },
    "ACTIVITY_SNAPSHOT": {"messageId": "a", "activityType": "plan", "content": {"a": 1}, "replace": False},
    "ACTIVITY_DELTA": {"messageId": "a", "activityType": "plan", "patch": [{"op": "remove", "path": "/a"}]},
    "RAW": {"event": {"any": "thing"}, "source": "acme"},
    "CUSTOM": {"name": "mood", "value": [1]},
    "RUN_FINISHED": {"runId": "r", "threadId": "t", "result": 5, "outcome": {"type": "success"}, "usage": [{"inputTokens": 3, "outputTokens": 4, "totalTokens": 7}]},
    "RUN_ERROR": {"message": "no", "code": "X"},
    "STEP_STARTED": {"stepName": "plan"},
    "STEP_FINISHED": {"stepName": "plan"},
    "REASONING_START": {"messageId": "r"},
    "REASONING_MESSAGE_START": {"messageId": "r", "role": "reasoning"},
    "REASONING_MESSAGE_CONTENT": {"messageId": "r", "delta": "Hm"},
    "REASONING_MESSAGE_END": {"messageId": "r"},
    "REASONING_MESSAGE_CHUNK": {"messageId": "r", "delta": "Hm"},
    "REASONING_END": {"messageId": "r"},
    "REASONING_ENCRYPTED_VALUE": {"subtype": "tool-call", "entityId": "c", "encryptedValue": "e"},
    "SUBAGENT_STARTED": {"subagentRunId": "s", "name": "helper", "parentToolCallId": "c"},
    "SUBAGENT_FINISHED": {"subagentRunId": "s", "result": 1, "outcome": {"type": "success"}},
    "SUBAGENT_ERROR": {"subagentRunId": "s", "message": "no", "code": "X"},
}  # fmt: skip
