"""A runtime that knows the sentences of docs/clients.md and how the shipped model translates them.

With it, the examples there can be tested for the output that readers see, on any machine and whatever model is trained
next. `python -m tests.support.phrase_book` runs the whole service on this runtime.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from loadtests.stage.stand_in import WithoutModel
from models.engine.requests import Options, Translation, TranslationRequest

LOAD = "tests.support.phrase_book:load"
PHRASES = {
    "紫式部は女流歌人である。": "Murasaki Shikibu was a female poet.",
    "藤原為時の娘である。": "She was a daughter of FUJIWARA no Tametoki.",
    "源氏物語を書いた。": "She wrote the Tale of Genji.",
    "晩年は山科で静かに暮らしたと伝えられる。": "It is said that he lived quietly in Yamashina in his later years.",
}
WORDINGS = {"源氏物語": "the Tale of Genji"}
"""How it translates terms unless the request asks for something else."""


class PhraseBook(WithoutModel):
    """Translates only sentences that it knows; any other is a mistake in the examples."""

    def translate(self, requests: Sequence[TranslationRequest], options: Options) -> list[Translation]:
        """Look each sentence up."""
        return [Translation(_in_terms(request), -0.5, len(request.preceding), 10, ()) for request in requests]


def _in_terms(request: TranslationRequest) -> str:
    text = PHRASES[request.source]
    for term in request.terms:
        text = text.replace(WORDINGS[term.source], term.target)
    return text


def load(folder: Path, *, device: str, compute_type: str, tested: bool) -> PhraseBook:
    """The phrase book, whichever bundle is asked for."""
    return PhraseBook()


if __name__ == "__main__":
    from service.__main__ import main

    sys.exit(main(translator=LOAD))
