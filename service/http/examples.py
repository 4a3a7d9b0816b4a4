"""An example of each body for the OpenAPI document: one short document, all through."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

_ID: Final = "pQ2vS4uX6yZ8aB0cD2eF4g"
_SOURCES: Final = ("紫式部は宮廷に仕えた。", "源氏物語を書いた。")
_TRANSLATIONS: Final = ("Murasaki Shikibu served at the court.", "She wrote The Tale of Genji.")
_PAIR: Final = {"source_lang": "ja", "target_lang": "en"}
_MODEL: Final = "ja-en"
_FIRST: Final[dict[str, Any]] = {
    "position": 0,
    "source": _SOURCES[0],
    "translation": _TRANSLATIONS[0],
    "score": -0.41,
    "context_size": 0,
}
_SECOND: Final[dict[str, Any]] = {
    "position": 1,
    "source": _SOURCES[1],
    "translation": _TRANSLATIONS[1],
    "score": -0.38,
    "context_size": 1,
}

EXAMPLES: Final[Mapping[str, dict[str, Any]]] = MappingProxyType(
    {
        "DocumentRequest": {**_PAIR, "text": "".join(_SOURCES)},
        "DocumentAnswer": {
            "id": _ID,
            "model": _MODEL,
            "text": " ".join(_TRANSLATIONS),
            "sentences": [_FIRST, _SECOND],
        },
        "TranslatedSentence": _SECOND,
        "SessionRequest": {**_PAIR, "ttl_seconds": 3600},
        "SessionCreated": {"session_id": _ID, "model": _MODEL, "window": 2, "next_position": 0},
        "SentenceRequest": {"text": _SOURCES[1], "position": 1},
        "Correction": {"translation": _TRANSLATIONS[1]},
        "KeptSentence": _SECOND,
        "SessionState": {
            "session_id": _ID,
            "model": _MODEL,
            **_PAIR,
            "window": 2,
            "next_position": 2,
            "ttl_seconds": 3600,
            "sentences": [_FIRST, _SECOND],
        },
        "ServiceInfo": {
            "version": "0.1.0",
            "limits": {
                "max_document_sentences": 5000,
                "max_context_sentences": 64,
                "max_sentence_characters": 1000,
                "max_body_bytes": 4194304,
                "session_max_ttl_seconds": 604800,
            },
        },
        "Health": {"status": "ok", "reasons": []},
        "Dependencies": {
            "status": "ok",
            "dependencies": [{"name": "redis", "status": "up", "detail": "answers"}],
        },
    }
)
"""By the name of the schema; those of parts stand in the wholes."""
