"""The OpenAPI document is complete and agrees with the code."""

import json
from typing import Any
from urllib.parse import urljoin

import pytest

from service.app import create_app
from service.http.examples import EXAMPLES
from service.schemas import documents, files, health, limits, models, problems, sentences, sessions, terms
from service.settings import Settings

Schema = dict[str, Any]

MODULES = (documents, files, health, limits, models, problems, sentences, sessions, terms)


@pytest.fixture(scope="module")
def document() -> Schema:
    """The document of a service with default settings."""
    return json.loads(json.dumps(create_app(Settings()).openapi()))  # type: ignore[no-any-return]


def operations(document: Schema) -> list[Schema]:
    """All operations of all paths."""
    return [operation for path in document["paths"].values() for operation in path.values()]


def test_every_operation_says_what_it_is(document: Schema) -> None:
    """Each operation has a unique id, a summary, a description and only known tags."""
    found = operations(document)
    tags = {tag["name"] for tag in document["tags"]}
    assert len({operation["operationId"] for operation in found}) == len(found)
    for operation in found:
        assert operation["summary"]
        assert operation["description"]
        assert set(operation["tags"]) <= tags


def test_every_error_is_a_problem_with_an_example_of_each_code(document: Schema) -> None:
    """Every status from 400 on, except those of probes, has the problem schema and examples with that status."""
    for operation in operations(document):
        for status, response in operation["responses"].items():
            if int(status) < 400 or "application/json" in response["content"]:
                continue
            content = response["content"]["application/problem+json"]
            assert content["schema"] == {"$ref": "#/components/schemas/Problem"}
            for code, example in content["examples"].items():
                problem = problems.Problem.model_validate(example["value"])
                assert (problem.code, problem.status) == (code, int(status))


def test_every_operation_under_v1_asks_for_a_key(document: Schema) -> None:
    """They declare the security scheme and the 401 without a key; probes and metrics need none."""
    for path, methods in document["paths"].items():
        for operation in methods.values():
            assert ("security" in operation) == path.startswith("/v1/")
            assert ("401" in operation["responses"]) == path.startswith("/v1/")


def test_paths_are_found_behind_a_proxy(document: Schema) -> None:
    """A reader of the document, such as /docs, finds the paths below its own address, whatever precedes them there."""
    (server,) = document["servers"]
    assert urljoin("https://example.org/openapi.json", server["url"]) == "https://example.org/"
    assert urljoin("https://example.org/mt/openapi.json", server["url"]) == "https://example.org/mt/"


def test_header_fields_are_described(document: Schema) -> None:
    """Every answer has the request's id; one that asks the client to wait says for how long."""
    for operation in operations(document):
        names = {parameter.get("name") or parameter["$ref"].rpartition("/")[2] for parameter in operation["parameters"]}
        assert "RequestId" in names
        for status, response in operation["responses"].items():
            assert "X-Request-ID" in response["headers"]
            if status in {"429", "503", "504"} and "application/problem+json" in response["content"]:
                assert "Retry-After" in response["headers"]
    changing = document["paths"]["/v1/models"]["post"]["responses"]["409"]  # while another administrator is changing it
    assert "Retry-After" in changing["headers"]


def test_every_schema_has_an_example_that_fits(document: Schema) -> None:
    """Each example is accepted by the class that it illustrates."""
    assert document["components"]["schemas"].keys() == EXAMPLES.keys()
    kinds = {name: kind for module in MODULES for name, kind in vars(module).items()}
    for name, example in EXAMPLES.items():
        kinds[name].model_validate(example)
        assert document["components"]["schemas"][name]["examples"] == [example]


def test_form_can_be_sent_as_it_is_filled_in(document: Schema) -> None:
    """Swagger UI fills in examples, or defaults, or else "string" as the model: only these leave the file its name."""
    fields = document["components"]["schemas"]["FileForm"]["properties"]
    filled = {name: field.get("examples", [field.get("default")])[0] for name, field in fields.items()}
    assert None not in filled.values()
    assert (filled["source_lang"], filled["target_lang"], filled["filename"], filled["model"]) == ("ja", "en", "", "")


def test_events_of_a_document_are_described(document: Schema) -> None:
    """A document may be sent as events, whose schemas are included."""
    answer = document["paths"]["/v1/documents"]["post"]["responses"]["200"]
    assert answer["content"].keys() == {"application/json", "text/event-stream"}
    assert {"StreamedSentence", "DocumentEnd"} <= document["components"]["schemas"].keys()


def test_stream_is_pointed_to(document: Schema) -> None:
    """OpenAPI cannot describe a WebSocket; the text refers to the page on its protocol."""
    assert "/v1/sessions/{session_id}/stream" in document["info"]["description"]
    assert "docs/streams.md" in document["info"]["description"]


def test_references_lead_somewhere(document: Schema) -> None:
    """Everything that the document refers to exists."""

    def references(part: object) -> list[str]:
        if isinstance(part, list):
            return [found for each in part for found in references(each)]
        if isinstance(part, dict):
            own = [part["$ref"]] if isinstance(part.get("$ref"), str) else []
            return own + [found for each in part.values() for found in references(each)]
        return []

    for reference in references(document):
        place: Any = document
        for step in reference.removeprefix("#/").split("/"):
            place = place[step]
