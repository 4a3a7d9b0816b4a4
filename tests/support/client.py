"""Short helpers for what a client of the service does."""

import httpx

from tests.support.servers import eventually
from tests.support.stand_in import expected

PAIR = {"source_lang": "ja", "target_lang": "en"}
SHAKE_HANDS = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
}
"""Headers with which a GET asks for a WebSocket."""
SENTENCES = ["彼女は来た。", "座った。", "笑った。", "泣いた。", "帰った。"]


def begin(client: httpx.Client, **members: object) -> str:
    """Start a session and return its path."""
    answer = client.post("/v1/sessions", json=PAIR | members)
    assert answer.status_code == 201
    return f"/v1/sessions/{answer.json()['session_id']}"


def say(client: httpx.Client, session: str, text: str, position: int | None = None, **headers: str) -> httpx.Response:
    """Send a sentence to a session."""
    body = {"text": text} if position is None else {"text": text, "position": position}
    return client.post(f"{session}/sentences", json=body, headers=headers)


def say_until_served(client: httpx.Client, session: str, text: str, position: int) -> httpx.Response:
    """Send a sentence, again and again at the same position while the answer is a 503, which must say when to retry."""
    answers: list[httpx.Response] = []

    def served() -> bool:
        answers.append(say(client, session, text, position))
        if answers[-1].status_code == 503:
            assert answers[-1].headers["retry-after"] == "1"
            assert answers[-1].json()["code"] == "session_store_unavailable"
        return answers[-1].status_code != 503

    eventually(served, "the session is served again")
    return answers[-1]


def translate(client: httpx.Client, *sentences: str, **members: object) -> httpx.Response:
    """Send a document of these sentences."""
    return client.post("/v1/documents", json=PAIR | {"sentences": sentences} | members)


def check_document(client: httpx.Client, session: str) -> None:
    """Check that a session holds exactly SENTENCES, in order, with the translations of an undisturbed run."""
    kept = client.get(session).json()["sentences"]
    assert [sentence["source"] for sentence in kept] == SENTENCES
    for at, sentence in enumerate(kept):
        assert sentence["translation"] == expected(SENTENCES[at], SENTENCES[max(0, at - 2) : at])


def check_file(client: httpx.Client) -> None:
    """Check that a file can be uploaded, is translated, and can be downloaded."""
    form, file = {"source_lang": "JA", "target_lang": "EN"}, {"file": ("a.txt", b"a")}
    sent = client.post("/v2/document", data=form, files=file).json()
    path, key = f"/v2/document/{sent['document_id']}", {"document_key": sent["document_key"]}
    eventually(lambda: client.post(path, json=key).json()["status"] == "done", "it is translated")
    assert client.post(f"{path}/result", json=key).content == b"A"


def measured(client: httpx.Client, line: str) -> bool:
    """Whether the metrics contain a line."""
    return line in client.get("/metrics").text.splitlines()
