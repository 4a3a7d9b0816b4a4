"""An example of each body for the OpenAPI document, all about one short text."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

ID: Final = "pQ2vS4uX6yZ8aB0cD2eF4g"
"""The id of every document, session and request in the examples."""
_SOURCES: Final = ("紫式部は宮廷に仕えた。", "源氏物語を書いた。")
_TRANSLATIONS: Final = ("Murasaki Shikibu served at the court.", "She wrote The Tale of Genji.")
_PAIR: Final = {"source_lang": "ja", "target_lang": "en"}
_MODEL: Final = "ja-en"
_SEGMENT: Final = {"source": "歌人でもあった。", "target": "She was also a poet."}
_TERM: Final = {"source": "源氏物語", "target": "The Tale of Genji"}
_FIRST: Final[dict[str, Any]] = {
    "position": 0,
    "source": _SOURCES[0],
    "translation": _TRANSLATIONS[0],
    "score": -0.41,
    "context_size": 0,
    "alternatives": [],
}
_SECOND: Final[dict[str, Any]] = {
    "position": 1,
    "source": _SOURCES[1],
    "translation": _TRANSLATIONS[1],
    "score": -0.38,
    "context_size": 1,
    "alternatives": [],
}
_OTHERS: Final[dict[str, Any]] = {"alternatives": [{"translation": "She authored The Tale of Genji.", "score": -0.52}]}
_INFO: Final[dict[str, Any]] = {
    "name": _MODEL,
    **_PAIR,
    "window": 5,
    "reads_target_context": False,
    "serves_sessions": True,
    "licence": "CC-BY-SA-3.0",
    "attribution": "NICT, Japanese-English Bilingual Corpus of Wikipedia's Kyoto Articles",
    "fingerprint": "5f2c8e0d9a417b36",
    "unsure_below": -0.8,
    "default": True,
    "state": "serving",
}
_FILE: Final[dict[str, Any]] = {
    "id": ID,
    "filename": "letter.txt",
    "status": "translating",
    **_PAIR,
    "sentences": 120,
    "translated": 48,
    "unsure": 5,
    "seconds_remaining": 3,
    "problem": None,
}
_MISSING: Final[dict[str, Any]] = {"name": "en-ja", "code": "bundle_not_found"}
_LIMITS: Final[dict[str, Any]] = {
    "max_document_sentences": 5000,
    "max_context_sentences": 64,
    "max_sentence_characters": 1000,
    "max_translation_characters": 8000,
    "max_body_bytes": 4194304,
    "max_file_bytes": 16777216,
    "max_session_sentences": 10000,
    "session_max_ttl_seconds": 604800,
    "max_files": 20,
    "max_files_bytes": 67108864,
    "max_glossary_terms": 1000,
    "max_glossary_characters": 65536,
    "max_memory_segments": 10000,
    "max_session_memory_characters": 65536,
    "stream_message_bytes": 65536,
    "stream_in_flight": 32,
}
_REDIS: Final[dict[str, Any]] = {"name": "redis", "status": "up", "detail": "accepts writes"}

EXAMPLES: Final[Mapping[str, dict[str, Any]]] = MappingProxyType(
    {
        "DocumentRequest": {**_PAIR, "text": "".join(_SOURCES), "alternatives": 1},
        "DocumentAnswer": {
            "id": ID,
            "model": _MODEL,
            "text": " ".join(_TRANSLATIONS),
            "sentences": [_FIRST, _SECOND | _OTHERS],
        },
        "Alternative": _OTHERS["alternatives"][0],
        "TranslatedSentence": _FIRST,
        "StreamedSentence": _SECOND | _OTHERS | {"before": " "},
        "DocumentEnd": {"id": ID, "model": _MODEL, "sentences": 2, "after": ""},
        "FileForm": {**_PAIR, "file": "\n".join(_SOURCES), "filename": "letter.txt"},
        "FileInfo": _FILE,
        "FileList": {"files": [_FILE]},
        "FileProblem": {
            "type": "urn:antecedent:error:sentence_too_long",
            "title": "Cannot be processed",
            "status": 422,
            "detail": "the sentence has 700 tokens; this model accepts at most 512",
            "code": "sentence_too_long",
            "retryable": False,
            "position": 17,
        },
        "GlossaryTerm": _TERM,
        "MemorySegment": _SEGMENT,
        "SessionRequest": {**_PAIR, "ttl_seconds": 3600, "alternatives": 1},
        "SessionCreated": {"session_id": ID, "model": _MODEL, "window": 5, "next_position": 0},
        "SentenceRequest": {"text": _SOURCES[0], "position": 0},
        "Correction": {"translation": _TRANSLATIONS[1]},
        "KeptSentence": _SECOND,
        "SessionState": {
            "session_id": ID,
            "model": _MODEL,
            **_PAIR,
            "window": 5,
            "next_position": 2,
            "ttl_seconds": 3600,
            "beam_size": None,
            "alternatives": 1,
            "glossary": [_TERM],
            "memory": [_SEGMENT],
            "sentences": [_FIRST, _SECOND | _OTHERS],
        },
        "ModelRequest": {"bundle": _MODEL},
        "ModelInfo": _INFO,
        "ModelToLoad": _MISSING,
        "ModelList": {"models": [_INFO], "not_loaded": [_MISSING]},
        "Limits": _LIMITS,
        "ServiceInfo": {"version": "0.1.0", "limits": _LIMITS},
        "Health": {"status": "ok", "reasons": []},
        "Dependency": _REDIS,
        "Dependencies": {"status": "ok", "dependencies": [_REDIS]},
        "Problem": {
            "type": "urn:antecedent:error:position_gap",
            "title": "Conflict",
            "status": 409,
            "detail": "position 7 is beyond the next one, 4",
            "code": "position_gap",
            "retryable": False,
            "request_id": ID,
            "next_position": 4,
        },
    }
)
"""Examples by the name of their schema."""
