"""The state beside the messages, which AG-UI's producers keep by snapshot and JSON Patch. No clock, no await."""

from collections.abc import Mapping, Sequence

from jsonpatch import JsonPatch, JsonPatchException
from jsonpointer import JsonPointerException

from turnwire.messages.events import Json


def apply_patch(state: Json, patch: Sequence[Mapping[str, Json]]) -> Json:
    """Give the state after a patch; the one given stays as it was. Raises ValueError if the patch does not fit."""
    try:
        return JsonPatch([dict(operation) for operation in patch]).apply(state)
    except (
        JsonPatchException,
        JsonPointerException,
        TypeError,
        KeyError,
        IndexError,
        ValueError,
        RecursionError,
    ) as exc:
        # The first two are the library's own; the others escape from it where a patch is of the wrong types.
        raise ValueError(f"the patch does not fit the state: {exc}") from exc
