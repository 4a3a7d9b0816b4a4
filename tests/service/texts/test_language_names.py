"""Names of languages."""

import pytest

from service.texts.language_names import name_of


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("ja", "Japanese"),
        ("EN-GB", "English (British)"),
        ("pt-br", "Portuguese (Brazilian)"),
        ("zh-hans", "Chinese (simplified)"),
        ("de-at", "German (AT)"),
        ("tlh", "tlh"),
        ("TLH-QO", "TLH-QO"),
    ],
)
def test_languages_have_names(code: str, name: str) -> None:
    """Names are in English, whatever the case of the code; a language without a name is called by its code."""
    assert name_of(code) == name
