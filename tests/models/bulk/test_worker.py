"""A worker translates whole documents as `translate` does, line for line, and names what it cannot translate."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from models.bulk.worker import ATTEMPTS, PartTranslator, Settings
from models.config import GlobalLocalConfig
from models.data.checksums import sha256_of_program
from models.data.replacement import Replacement
from models.engine.requests import Options
from models.errors import BundleError, ClusterError, UnsupportedOptionError
from models.text.glossary import Term
from models.text.memory import Segment
from tests.support.bulk import Corpus, make_corpus, settings_of
from tests.support.bundles import UNFIT, make_bundle


def worker(settings: Settings, attempts: int = 0) -> PartTranslator:
    """A worker that gets every part after so many attempts at it."""
    return PartTranslator(settings, lambda _: attempts)


def row(text: str, line: int = 1) -> dict[str, Any]:
    """A part that begins at a line."""
    return {"key": "k", "line": line, "sentences": 3, "text": text.encode()}


def test_part_is_translated_line_for_line(bulk_bundle: Path, bulk_corpus: Corpus) -> None:
    """The translation of a part is what `translate` gives, including empty lines."""
    found = worker(settings_of(bulk_bundle))(row(bulk_corpus.file.read_text(encoding="utf-8")))
    assert found == {"key": "k", "sentences": 3, "text": bulk_corpus.expected, "refused": ""}


def test_documents_that_read_their_translations(tmp_path: Path) -> None:
    """A model that reads the whole source and the translation so far gets both of its own document alone."""
    bundle = make_bundle(tmp_path / "bundle", GlobalLocalConfig(block_sentences=4), max_length=64)
    corpus = make_corpus(tmp_path / "corpus.ja", bundle, 6)
    assert worker(settings_of(bundle))(row(corpus.file.read_text(encoding="utf-8")))["text"] == corpus.expected


def test_layout_of_lines(bulk_bundle: Path) -> None:
    """Only a line feed ends a line; a line of nothing but whitespace is empty; a part may have no sentence."""
    translate = worker(settings_of(bulk_bundle))
    text = translate(row("から。\r\n\u3000\n きく。\u2028から。 \n\n"))["text"]
    assert [bool(line) for line in text.split("\n")] == [True, False, True, False, False]
    assert translate(row("\n\n"))["text"] == "\n\n"


@pytest.mark.parametrize("context", ["empty", "none"])
def test_context_may_be_left_out(bulk_bundle: Path, bulk_corpus: Corpus, context: Any) -> None:
    """Without context, every sentence is translated as if it were alone."""
    options = Options("sentence" if context == "none" else "direct", beam_size=1)
    settings = replace(settings_of(bulk_bundle), options=options, replacement=Replacement(context))
    translate, lines = worker(settings), bulk_corpus.file.read_text(encoding="utf-8").split("\n")[1:6]
    alone = "".join(translate(row(f"{line}\n"))["text"] for line in lines)
    assert translate(row("".join(f"{line}\n" for line in lines)))["text"] == alone
    assert alone not in bulk_corpus.expected


def test_what_a_memory_has_is_not_translated(bulk_bundle: Path) -> None:
    """All else is translated as without a memory: a sentence that it has is still read as context."""
    settings, text = settings_of(bulk_bundle), "から。\nきく。\n\nきく。\n"
    without = worker(settings)(row(text))["text"].splitlines()
    found = worker(replace(settings, segments=(Segment("から。", "Since."),)))(row(text))["text"].splitlines()
    assert found == ["Since.", *without[1:]]


def test_translations_depend_on_the_program(bulk_bundle: Path, tmp_path: Path) -> None:
    """What another version of the program has kept, with different code in any file, is not taken for this one's."""
    (tmp_path / "engine").mkdir()
    (code := tmp_path / "engine" / "runtime.py").write_text("one = 1\n", encoding="utf-8")
    before = sha256_of_program(tmp_path)
    assert sha256_of_program(tmp_path) == before
    code.write_text("one = 2\n", encoding="utf-8")
    assert sha256_of_program(tmp_path) != before
    assert json.loads(settings_of(bulk_bundle).key)["program"] == sha256_of_program()


def test_sentences_that_are_refused(narrow_bundle: Path) -> None:
    """Each sentence that the model has no room for is named by its line in the corpus, and the part has no text."""
    text = f"から。\n{UNFIT}\n\nから。\n{UNFIT}\n"
    found = worker(settings_of(narrow_bundle))(row(text, line=11))
    assert found["text"] == ""
    assert [line.split(": ")[0] for line in found["refused"].splitlines()] == ["12", "15"]
    assert "tokens that cannot be divided" in found["refused"]


def test_sentences_that_are_known_are_not_refused(narrow_bundle: Path) -> None:
    """A sentence whose translation is known needs no room in the model, with other sentences that do or without."""
    settings = replace(settings_of(narrow_bundle), segments=(Segment(UNFIT, "Known."),))
    assert worker(settings)(row(f"{UNFIT}\n"))["text"] == "Known.\n"
    found = worker(settings)(row(f"{UNFIT}\nき{UNFIT}\n"))
    assert [line.split(": ")[0] for line in found["refused"].splitlines()] == ["2"]


def test_part_that_ends_workers_is_given_up(bulk_bundle: Path) -> None:
    """A part that was started too often is refused and not touched, so that it does not kill this worker, too."""
    settings = settings_of(bulk_bundle)
    assert worker(settings, ATTEMPTS - 1)(row("から。\n"))["text"]
    found = worker(settings, ATTEMPTS)(row("から。\n", line=7))
    assert found["text"] == ""
    assert found["refused"] == f"7: a text of 1 lines has ended {ATTEMPTS} workers that translated it"


def test_another_bundle_is_refused(bulk_bundle: Path) -> None:
    """A node that has another bundle at the same path refuses to translate."""
    with pytest.raises(BundleError, match="the bundle on this node is not"):
        worker(replace(settings_of(bulk_bundle), fingerprint="0" * 64))


def test_another_program_is_refused(bulk_bundle: Path) -> None:
    """A node with another version of the program, which may translate differently, refuses to translate."""
    with pytest.raises(ClusterError, match="the program on this node is not"):
        worker(replace(settings_of(bulk_bundle), program="0" * 64))


def test_option_is_refused_before_any_part(bulk_bundle: Path) -> None:
    """An option that the bundle does not offer is refused when the worker starts."""
    with pytest.raises(UnsupportedOptionError, match="beam_size 60"):
        worker(replace(settings_of(bulk_bundle), options=Options(beam_size=60)))


def test_key_is_of_what_matters(bulk_bundle: Path) -> None:
    """The key is the same for any path and number of threads, but depends on all that may change translations."""
    settings = settings_of(bulk_bundle)
    assert replace(settings, bundle=Path("/elsewhere"), threads=4).key == settings.key
    others: list[dict[str, Any]] = [
        {"fingerprint": "0"},
        {"program": "0"},
        {"options": Options(beam_size=4)},
        {"options": Options("sentence", beam_size=1)},
        {"replacement": Replacement("empty")},
        {"compute_type": "bfloat16"},
        {"device": "cuda"},
        {"terms": (Term("神社", "shrine"),)},
        {"segments": (Segment("から。", "Since."),)},
        {"segments": (Segment("から。", "From."),)},
    ]
    assert len({replace(settings, **other).key for other in [{}, *others]}) == len(others) + 1
