"""Asks the service of its own container: `python - KEY < client.py`; fails if an answer is not what it should be."""

import json
import sys
import time
import urllib.error
import urllib.request
from http import HTTPStatus
from importlib.resources import files
from typing import Any

_SERVICE = "http://127.0.0.1:8000"
_PAIR = {"source_lang": "ja", "target_lang": "en"}


def ask(path: str, body: dict[str, Any] | None = None) -> Any:  # noqa: ANN401 - JSON of whatever kind
    """What the service answers; an error of it is an error here."""
    headers = {"Authorization": f"Bearer {sys.argv[1]}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{_SERVICE}{path}", data, headers)  # noqa: S310 - http, as it stands above
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        return json.load(answer)


def wait_for_key() -> None:
    """Return once the key is valid, which takes two seconds at most."""
    for _ in range(10):
        try:
            ask("/v1/models")
        except urllib.error.HTTPError as error:
            if error.code != HTTPStatus.UNAUTHORIZED:
                raise
            time.sleep(0.5)
        else:
            return
    raise SystemExit("a new key has not become valid")


def main() -> None:
    """Ask for readiness, a document and the first sentence of a session."""
    wait_for_key()
    print("ready:", json.dumps(ask("/health/ready")))
    sentences = files("service").joinpath("samples", "ja.txt").read_text().splitlines()[:3]
    for sentence in ask("/v1/documents", _PAIR | {"sentences": sentences})["sentences"]:
        print(f"{sentence['source']} -> {sentence['translation']}")
    session = ask("/v1/sessions", _PAIR)["session_id"]
    answer = ask(f"/v1/sessions/{session}/sentences", {"text": sentences[0], "position": 0})
    print(f"session, position {answer['position']}: {answer['translation']}")


if __name__ == "__main__":
    main()
