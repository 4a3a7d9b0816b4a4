"""What one worker of a cluster does: it loads the bundle once, and translates parts of the corpus.

Knows nothing of Ray, which makes actors of it; a part comes and goes as a row of plain values.
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
from models.data.glossary import Glossary, Term
from models.data.memory import Segment, TranslationMemory
from models.data.replacement import Replacement
from models.engine.requests import Options, TranslationRequest
from models.engine.runtime import Runtime, WindowTranslator
from models.errors import BundleError, ClusterError, RequestError
from models.evaluation.document_translation import translate_documents

ATTEMPTS: Final = 5
"""How often a part is begun: machines are lost, but a text that ends every worker must not go round for ever."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How every part is translated."""

    bundle: Path
    """Folder of the bundle on every node."""
    fingerprint: str
    """Of its manifest."""
    options: Options
    replacement: Replacement
    """Of the context; one that needs no other documents."""
    device: str
    compute_type: str
    threads: int
    terms: tuple[Term, ...] = ()
    """Of a glossary."""
    segments: tuple[Segment, ...] = ()
    """Of a translation memory."""
    program: str = field(default_factory=sha256_of_program)
    """Checksum of the one that the job was started with."""

    @property
    def key(self) -> str:
        """What the translations depend on, the program that makes them included."""
        values = asdict(replace(self, segments=()))
        del values["bundle"], values["threads"]
        if self.segments:  # of a memory there may be millions
            values["segments"] = hashlib.sha256(json.dumps(self.segments).encode()).hexdigest()
        return json.dumps(values, sort_keys=True)


@dataclass(frozen=True, slots=True)
class Translation:
    """What becomes of a part."""

    key: str
    sentences: int
    text: str
    """A line for each line of the part; none, if a sentence of it cannot be translated."""
    refused: str
    """Sentences that cannot be translated, a line each: its number in the corpus, and why."""


class PartTranslator:
    """A callable class, as Ray Data wants one."""

    def __init__(self, settings: Settings, begin: Callable[[str], int]) -> None:
        """Load the bundle.

        Args:
            settings: how to translate.
            begin: counts the attempts at a part, by its key, over all workers; gives how many there were before.

        Raises:
            BundleError: this node has none there, or another one than where the job was started.
            ClusterError: this node has another version of the program.
            UnsupportedOptionError: the bundle does not offer what is asked for.
        """
        if sha256_of_program() != settings.program:
            raise ClusterError("the program on this node is not the one where the job was started")
        self._runtime = Runtime.load(
            settings.bundle, device=settings.device, compute_type=settings.compute_type, threads=settings.threads
        )
        if self._runtime.manifest.fingerprint != settings.fingerprint:
            raise BundleError(f"{settings.bundle}: the bundle on this node is not the one where the job was started")
        self._settings = settings
        self._glossary = Glossary(settings.terms)
        self._memory = TranslationMemory(settings.segments)
        self._begin = begin
        self._runtime.check(TranslationRequest("."), settings.options)

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """Turn a part, as key, number of sentences, text and number of the first line, into a `Translation`."""
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
        translator = WindowTranslator(self._runtime, self._settings.options, self._glossary, self._memory)
        window, replacement = self._runtime.manifest.window, self._settings.replacement
        translations = iter(translate_documents(translator, documents, window, replacement=replacement))
        for line in lines:
            yield (next(translations).text or line) if line else ""  # as `translate_file` does

    def _refused(self, lines: Sequence[str], first: int) -> Iterator[str]:
        for number, line in enumerate(lines, first):
            try:
                self._runtime.check(TranslationRequest(line), self._settings.options)
            except RequestError as error:
                yield f"{number}: {error}"


def _lines(text: bytes) -> list[str]:
    """Sentences, and nothing where a document ends; only a line feed ends a line."""
    lines = text.decode().split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.strip() for line in lines]
