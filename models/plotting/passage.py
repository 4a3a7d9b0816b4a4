"""A whole document as a model reads it, on which its attention and gates are observed."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from models.data.batches import Batch, Example
from models.data.corpus import TokenizedCorpus
from models.data.documents import Document, Sentence
from models.engine.requests import Options
from models.engine.runtime import Runtime
from models.engine.strategies import TorchEngine
from models.engine.windows import WindowTranslator
from models.errors import PictureError
from models.evaluation.document_translation import translate_documents
from models.network.model import TranslationModel
from models.network.observation import WatchedAttention, WatchedGate, observe
from models.training.objective import target_of


@dataclass(frozen=True, slots=True)
class Passage:
    """The sentences of a document with translations, as one batch."""

    model: TranslationModel
    document: Document
    positions: Sequence[int]
    """Positions in the document of the batch's sentences; one that is too long serves as context only."""
    examples: Sequence[Example]
    batch: Batch

    @torch.inference_mode()
    def observe(self, watched: Sequence[WatchedGate | WatchedAttention]) -> list[Tensor]:
        """Return what is observed of each while the model reads the document and its translations."""
        target = target_of(self.batch)
        return observe(watched, lambda: self.model.hidden(self.batch, target[:, :-1]))


def name_of(runtime: Runtime) -> str:
    """Return what titles and messages call a model: its name, and the kind of its architecture."""
    return f"{runtime.manifest.name} ({runtime.manifest.architecture.kind})"


def network_of(runtime: Runtime) -> TranslationModel:
    """Return the network that translates with context.

    Raises:
        PictureError: there is none; the model is a plain Transformer in CTranslate2.
    """
    engine = runtime.engine("direct")
    if not isinstance(engine, TorchEngine):
        raise PictureError(f"{name_of(runtime)} is a plain Transformer in CTranslate2, which cannot be inspected")
    return engine.model


def read_passage(runtime: Runtime, document: Document) -> Passage:
    """Read a document with its translations; if any is missing, with the model's own by greedy search.

    Raises:
        DataError: no sentence is short enough for the model.
        PictureError: the model is a plain Transformer in CTranslate2.
    """
    model = network_of(runtime)
    if any(sentence.target is None for sentence in document.sentences):
        document = _translated(runtime, document)
    corpus = TokenizedCorpus([document], runtime.tokenizer, runtime.manifest.backbone.max_length)
    reader = model.architecture
    examples = [reader.select(corpus.example(int(index), reader)) for index in corpus.usable]
    batch = corpus.batch(corpus.usable, reader).to(model.device)
    return Passage(model, document, corpus.usable.tolist(), examples, batch)


def _translated(runtime: Runtime, document: Document) -> Document:
    translator = WindowTranslator(runtime, Options(beam_size=1))
    translations = translate_documents(translator, [document], runtime.manifest.window)
    pairs = zip(document.sentences, translations, strict=True)
    return Document(tuple(Sentence(sentence.source, found.text) for sentence, found in pairs), document.name)
