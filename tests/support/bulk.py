"""A corpus for bulk translation, its expected translation without a cluster, and the settings of a worker."""

from dataclasses import dataclass
from pathlib import Path

from models.bulk.worker import Settings
from models.bundle.manifest import Manifest
from models.data.replacement import REAL
from models.engine.corpus import translate_file
from models.engine.requests import Options
from models.engine.runtime import Runtime
from models.engine.windows import WindowTranslator
from tests.support.bundles import documents

GREEDY = Options(beam_size=1)


@dataclass(frozen=True)
class Corpus:
    """A file of documents."""

    file: Path
    expected: str
    """The output of `translate` for it."""


def make_corpus(file: Path, bundle: Path, count: int) -> Corpus:
    """Write documents of five sentences, all different, with empty lines everywhere that they are allowed."""
    groups = ["".join(f"{sentence.source}\n" for sentence in one.sentences) for one in documents(count)]
    half = count // 2
    text = "\n" + "\n".join(groups[:half]) + "\n\n\n" + "\n".join(groups[half:]) + "\n\n"
    file.write_text(text, encoding="utf-8")
    runtime = Runtime.load(bundle)
    lines = translate_file(WindowTranslator(runtime, GREEDY), file, runtime.manifest.window)
    return Corpus(file, "".join(f"{line}\n" for line in lines))


def settings_of(bundle: Path) -> Settings:
    """Settings for greedy search on one CPU core."""
    return Settings(bundle, Manifest.load(bundle).fingerprint, GREEDY, REAL, "cpu", "auto", 1)
