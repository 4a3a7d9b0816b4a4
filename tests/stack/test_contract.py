"""The OpenAPI document against a running service: it covers all answers, and its page works."""

import re

from loadtests.profiles import fuzz
from loadtests.stage.processes import ROOT
from service.http.examples import EXAMPLES
from tests.support.servers import RedisServer, Replicas

CASES = 15
"""Number of cases for each operation; `python -m loadtests fuzz` tries many more."""


def test_no_answer_is_outside_the_openapi_document() -> None:
    """Generated requests to every operation, valid and invalid, single and in sequence, get no 5xx and no surprise."""
    report = fuzz.run(fuzz.Plan(cases=CASES, seed=1), ROOT / "models" / "pretrained" / "ja-en")
    assert report.holds


def test_page_needs_no_internet(replicas: Replicas, redis_server: RedisServer) -> None:
    """Everything that the page at /docs loads comes from the service and is allowed by its Content-Security-Policy."""
    with replicas.new(redis_url=redis_server.url).start().client() as client:
        page = client.get("/docs")
        loaded = re.findall(r'(?:src|href)="(?!data:)([^"]+)"', page.text)
        kinds = {address: client.get(f"/{address}").headers["content-type"].partition(";")[0] for address in loaded}
        assert kinds == {
            "docs/assets/swagger-ui.css": "text/css",
            "docs/assets/swagger-ui-bundle.js": "text/javascript",
            "page/docs.js": "text/javascript",
        }
        assert "script-src 'self'" in page.headers["content-security-policy"]
        assert "<script>" not in page.text
        assert 'url: "openapi.json"' in client.get("/page/docs.js").text
        assert client.get("/openapi.json").json()["info"]["title"] == "Antecedent"
        assert client.get("/docs/assets/../../pyproject.toml").status_code == 404


def test_examples_can_be_tried_in_their_order(replicas: Replicas, redis_server: RedisServer) -> None:
    """The examples at /docs work in sequence: a new session accepts the example sentence."""
    with replicas.new(redis_url=redis_server.url).start().client() as client:
        assert client.post("/v1/documents", json=EXAMPLES["DocumentRequest"]).status_code == 200
        session = client.post("/v1/sessions", json=EXAMPLES["SessionRequest"]).json()["session_id"]
        assert client.post(f"/v1/sessions/{session}/sentences", json=EXAMPLES["SentenceRequest"]).status_code == 200
