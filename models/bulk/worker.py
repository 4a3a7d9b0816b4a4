"""A worker of a cluster: it loads the bundle once, and translates parts of the corpus.

Knows nothing of Ray, which makes actors of it; a part is received and returned as a row of plain values.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from models.data.checksums import sha256_of_program
from models.data.documents import Document, Sentence
from models.data.replacement import Replacement
from models.engine.requests import Options, TranslationRequest
from models.engine.runtime import Runtime
from models.engine.windows import WindowTranslator
from models.errors import BundleError, ClusterError, RequestError
from models.evaluation.document_translation import translate_documents
from models.text.glossary import Glossary, Term
from models.text.memory import Segment, TranslationMemory

ATTEMPTS: Final = 5
"""Maximum attempts at a part: machines may fail, but a text that kills every worker must not be retried for ever."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How every part is translated."""

    bundle: Path
    """Folder of the bundle on every node."""
    fingerprint: str
    """Fingerprint of the bundle's manifest."""
    options: Options
    replacement: Replacement
    """Replacement of the context; only one that needs no other documents."""
    device: str
    compute_type: str
    threads: int
    terms: tuple[Term, ...] = ()
    """Terms of a glossary."""
    segments: tuple[Segment, ...] = ()
    """Segments of a translation memory."""
    program: str = field(default_factory=sha256_of_program)
    """Checksum of the program that the job was started with."""

    @property
    def key(self) -> str:
        """All that the translations depend on, including the program that makes them."""
        values = asdict(replace(self, segments=()))
        del values["bundle"], values["threads"]
        if self.segments:  # there may be millions
            values["segments"] = hashlib.sha256(json.dumps(self.segments).encode()).hexdigest()
        return json.dumps(values, sort_keys=True)


@dataclass(frozen=True, slots=True)
class Translation:
    """Result for a part."""

    key: str
    sentences: int
    text: str
    """One line per line of the part; empty if a sentence of it cannot be translated."""
    refused: str
    """Untranslatable sentences, one per line: number in the corpus, and reason."""


class PartTranslator:
    """Translator of parts, a callable class as Ray Data expects."""

    def __init__(self, settings: Settings, begin: Callable[[str], int]) -> None:
        """Load the bundle.

        Args:
            settings: how to translate.
            begin: counts the attempts at a part, by its key, over all workers; returns how many there were before.

        Raises:
            BundleError: this node has no bundle there, or another one than the node where the job was started.
            ClusterError: this node has another version of the program.
            UnsupportedOptionError: the bundle does not support the options.
        """
        if sha256_of_program() != settings.program:
            raise ClusterError("the program on this node is not the same as where the job was started")
        self._runtime = Runtime.load(
            settings.bundle, device=settings.device, compute_type=settings.compute_type, threads=settings.threads
        )
        if self._runtime.manifest.fingerprint != settings.fingerprint:
            raise BundleError(
                f"{settings.bundle}: the bundle on this node is not the same as where the job was started"
            )
        glossary, memory = Glossary(settings.terms), TranslationMemory(settings.segments)
        self._translator = WindowTranslator(self._runtime, settings.options, glossary, memory)
        self._replacement = settings.replacement
        self._begin = begin
        self._runtime.check(TranslationRequest("."), settings.options)

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """Translate a part, given as key, number of sentences, text and number of its first line."""
        lines = _lines(row["text"])
        text = refused = ""
        if self._begin(row["key"]) >= ATTEMPTS:
            refused = f"{row['line']}: a text of {len(lines)} lines has ended {ATTEMPTS} workers that translated it"
        else:
            try:
                text = "".join(f"{line}\n" for line in self._translated(lines))
            except RequestError:
                refused = "\n".join(self._refused(lines, row["line"]))
        return asdict(Translation(row["key"], row["sentences"], text, refused))

    def _translated(self, lines: Sequence[str]) -> Iterator[str]:
        documents = [Document(tuple(map(Sentence, group))) for full, group in groupby(lines, bool) if full]
        window = self._runtime.manifest.window
        translations = iter(translate_documents(self._translator, documents, window, replacement=self._replacement))
        for line in lines:
            yield (next(translations).text or line) if line else ""  # as `translate_file` does

    def _refused(self, lines: Sequence[str], first: int) -> Iterator[str]:
        for number, line in enumerate(lines, first):
            if self._translator.memory.find(line) is not None:
                continue
            try:
                self._runtime.check(TranslationRequest(line), self._translator.options)
            except RequestError as error:
                yield f"{number}: {error}"


def _lines(text: bytes) -> list[str]:
    """Split a text into sentences, empty where a document ends; only a line feed ends a line."""
    lines = text.decode().split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.strip() for line in lines]
