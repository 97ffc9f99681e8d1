"""What a client is told when something is wrong: {"error": {"code", "message"}}, and which status that has."""

from collections.abc import Mapping

from starlette.responses import Response

from turnwire.messages.errors import (
    ApprovalAnsweredError,
    CallAnsweredError,
    ClosedError,
    InvalidEventError,
    LogUnavailableError,
    TooManyReadersError,
    TooManyTurnsError,
    TurnwireError,
    UnknownCallError,
)
from turnwire.messages.json_text import dump_json

RETRY_AFTER = "1"  # seconds: what is full or away may be otherwise soon


class HttpError(Exception):
    """A request cannot be done. For the client: the message says what came, what was expected, and where."""

    def __init__(self, status: int, code: str, message: str, *, headers: Mapping[str, str] | None = None) -> None:
        self.status = status
        self.code = code
        self.is_body_unread = False
        """Is there more of the body to come, which nobody wants?"""
        self.headers = dict(headers or {})
        super().__init__(message)


def bad_request(code: str, message: str) -> HttpError:
    """The request is not one: wrong JSON, a wrong parameter."""
    return HttpError(400, code, message)


def unprocessable(message: str) -> HttpError:
    """The JSON is well-formed, and says something that it must not; the message begins with the place."""
    return HttpError(422, "invalid", message)


def not_found(what: str) -> HttpError:
    """There is no such thing, or it ended so long ago that it is gone."""
    return HttpError(404, "not_found", f"{what} is not known here, or ended long ago")


def conflict(message: str) -> HttpError:
    """The request contradicts what is there already."""
    return HttpError(409, "conflict", message)


def too_large(message: str, *, unread: bool = False) -> HttpError:
    """More bytes than are taken; `unread`: they are still coming."""
    error = HttpError(413, "too_large", message)
    error.is_body_unread = unread
    return error


def unavailable(code: str, message: str) -> HttpError:
    """Not now; the same request may be right later."""
    return HttpError(503, code, message, headers={"Retry-After": RETRY_AFTER})


def to_http_error(error: TurnwireError) -> HttpError | None:
    """Word an error of ours for the client; None for one that is nobody's business outside."""
    match error:
        case InvalidEventError():
            return unprocessable(f"{error.path}: {error.problem}")
        case TooManyReadersError():
            return unavailable("too_many_readers", str(error))
        case TooManyTurnsError():
            return unavailable("too_many_turns", str(error))
        case LogUnavailableError():
            # What Redis said is the operator's business; it is in the log lines.
            return unavailable("log_unavailable", "the log cannot be reached for now; the same request may be repeated")
        case ClosedError():
            return unavailable("closing", "the service is shutting down")
        case ApprovalAnsweredError() | CallAnsweredError() | UnknownCallError():
            return conflict(str(error))
        case _:
            return None


def error_response(error: HttpError) -> Response:
    """Say it in JSON."""
    document = {"error": {"code": error.code, "message": str(error)}}
    headers = {"Cache-Control": "no-store", **error.headers}
    return Response(dump_json(document), error.status, headers, media_type="application/json")


def json_response(document: object, status: int = 200) -> Response:
    """Answer with JSON that must not be kept by anybody in between."""
    return Response(dump_json(document), status, {"Cache-Control": "no-store"}, media_type="application/json")
