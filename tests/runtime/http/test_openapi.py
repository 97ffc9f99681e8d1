"""The OpenAPI document: says what the routes are, and nothing that it says can be answered by a 500."""

import contextlib
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable

from tests.kit.service import open_asked
from tests.kit.serving import open_serving
from turnwire.runtime.http.app import ROUTES
from turnwire.runtime.http.openapi import describe

EXAMPLES = 8  # requests of each route


def test_the_document_is_made_of_the_routes() -> None:
    """Valid OpenAPI 3.1: every route with its method, parameters and needs; every id of an operation once."""
    document = describe(ROUTES)
    schemathesis.openapi.from_dict(document).validate()
    said = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert said == {(route.method, route.path) for route in ROUTES}
    ids = [operation["operationId"] for methods in document["paths"].values() for operation in methods.values()]
    assert len(set(ids)) == len(ids)
    for route in ROUTES:
        operation = document["paths"][route.path][route.method.lower()]
        named = {it["name"] for it in operation["parameters"] if it["in"] == "path"}
        assert named == set(re.findall(r"{(\w+)}", route.path))
        assert bool(operation["security"]) == (route.need != "nothing")
        assert ("requestBody" in operation) == (route.body is not None)
        assert any(status.startswith("2") for status in operation["responses"])


def test_every_route_is_in_the_docs() -> None:
    """A page that leaves one out would be wrong."""
    page = (Path(__file__).parents[3] / "docs" / "http.md").read_text()
    missing = [f"{route.method} {route.path}" for route in ROUTES if f"{route.method} {route.path}" not in page]
    assert missing == []


async def test_the_document_is_served() -> None:
    """As JSON, to everybody."""
    async with open_asked() as asked:
        answer = await asked.http.get("/openapi.json")
        assert answer.json() == describe(ROUTES)
        assert (await asked.http.put("/openapi.json")).status_code == 405
        assert (await asked.http.get("/no/such/thing")).json()["error"]["code"] == "no_route"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the library's own dependencies
def test_nothing_that_fits_or_does_not_fit_the_document_crashes_the_service(tmp_path: Path) -> None:
    """No 500, whatever is asked; each refusal is JSON that says why."""
    with open_serving(tmp_path, "--set", "model.provider=scripted", "--set", "limits.body_bytes=100000") as serving:
        schema: Any = schemathesis.openapi.from_url(f"{serving.url}/openapi.json")
        with httpx.Client(base_url=serving.url, timeout=20) as client:
            for found in schema.get_all_operations():
                _try(found.ok(), client)
        assert serving.process.poll() is None
        assert serving.said("request crashed") == []
        assert b"Traceback" not in serving.lines.read_bytes()


def _try(operation: Any, client: httpx.Client) -> None:
    modes = schemathesis.GenerationMode
    for mode in (modes.POSITIVE, modes.NEGATIVE):
        strategy = operation.as_strategy(generation_mode=mode)

        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        )
        @given(case=strategy)
        def ask(case: Any) -> None:
            kwargs = case.as_transport_kwargs(base_url=str(client.base_url))
            answer = _send(client, kwargs)
            try:
                assert answer.status_code != 500, (kwargs, answer.read())
                if answer.status_code >= 400:  # what is right may be a stream: it need not be read
                    answer.read()
                    assert set(answer.json()["error"]) == {"code", "message"}
            finally:
                answer.close()

        with contextlib.suppress(Unsatisfiable):  # nothing can be wrong with a route that takes nothing
            ask()


def _send(client: httpx.Client, kwargs: dict[str, Any]) -> httpx.Response:
    content = kwargs.get("data")
    headers: dict[str, Any] = kwargs.get("headers") or {}
    request = client.build_request(
        kwargs["method"],
        kwargs["url"],
        params=kwargs.get("params"),
        headers={key: value for key, value in headers.items() if _can_be_sent(value)},
        json=kwargs.get("json"),
        content=content if isinstance(content, bytes | str) else None,
    )
    return client.send(request, stream=True)


def _can_be_sent(value: object) -> bool:
    return isinstance(value, str) and value.isascii() and value.isprintable() and value == value.strip()
