"""Made-up languages whose translation needs the document, and a measure of how well a model has learnt one.

Nouns have a gender, which shows in the article of the target. The source has one pronoun, the target has two. A model
that reads each sentence alone gets at most half of those held-out sentences right that need context.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.config import RunConfig, TokenizerConfig
from models.data.corpus import TokenizedCorpus
from models.data.documents import Document, Sentence
from models.data.tokenizer import Tokenizer, train_tokenizer
from models.engine.strategies import TokenizedRequest, TorchEngine
from models.network.model import TranslationModel
from models.search.hypotheses import SearchOptions
from models.training.checkpoints import load_checkpoint, load_model
from models.training.curves import Curves
from models.training.distributed import World
from models.training.trainer import Trainer

NOUNS = [f"{a}{b}n" for a in "bdgk" for b in "aeio"]
VERBS = [f"{a}{b}s" for a in "lmr" for b in "aeiu"]
ARTICLES = ("der", "die")
PRONOUNS = ("er", "sie")
MARKS = ("du", "ihr")
FILLERS = 4
UPDATES = 200


@dataclass(frozen=True)
class Language:
    """Documents to learn from, documents to test on, and which sentences of a document need context."""

    learnt: list[Document]
    held_out: list[Document]
    needs_context: Callable[[int], bool]
    """Whether the sentence at this position in its document needs context."""


def with_noun(noun: str, verb: str) -> Sentence:
    """A sentence in which a noun does something."""
    return Sentence(f"{noun} {verb}", f"{ARTICLES[_gender(noun)]} {noun.upper()} {verb.upper()}")


def with_pronoun(noun: str, verb: str) -> Sentence:
    """A sentence in which `it` does something; the gender of the noun decides how `it` is translated."""
    return Sentence(f"it {verb}", f"{PRONOUNS[_gender(noun)]} {verb.upper()}")


def previous() -> Language:
    """The noun is in the sentence before the pronoun."""
    return _of_triples(
        lambda noun, one, two, _: [with_noun(noun, one), with_pronoun(noun, two)], lambda at: at % 2 == 1
    )


def far() -> Language:
    """The noun is five sentences before the pronoun, and no sentence in between has one."""

    def document(noun: str, one: str, two: str, chooser: random.Random) -> list[Sentence]:
        fillers = [Sentence(f"so {verb}", f"ja {verb.upper()}") for verb in chooser.choices(VERBS, k=FILLERS)]
        return [with_noun(noun, one), *fillers, with_pronoun(noun, two)]

    return _of_triples(document, lambda at: at % (FILLERS + 2) == FILLERS + 1, together=1)


def following() -> Language:
    """The noun is in the sentence after the pronoun."""
    return _of_triples(
        lambda noun, one, two, _: [with_pronoun(noun, two), with_noun(noun, one)], lambda at: at % 2 == 0, together=1
    )


def translation() -> Language:
    """Nothing in the source decides how the reader is addressed, but two sentences must do it the same way."""

    def document(noun: str, one: str, two: str, chooser: random.Random) -> list[Sentence]:
        mark = MARKS[chooser.randrange(2)]
        return [Sentence(f"{noun} {one}", f"{mark} {one.upper()}"), Sentence(f"you {two}", f"{mark} {two.upper()}")]

    return _of_triples(document, lambda at: at == 1, together=1)


LANGUAGES: dict[str, Callable[[], Language]] = {
    "previous": previous,
    "far": far,
    "following": following,
    "translation": translation,
}


def make_tokenizer(language: Language, folder: Path) -> Tokenizer:
    """One vocabulary for both sides."""
    sentences = [sentence for document in language.learnt for sentence in document.sentences]
    config = TokenizerConfig(path=folder, kind="bpe", vocabulary=90, byte_fallback=False)
    return train_tokenizer(config, (s.source for s in sentences), (s.target or "" for s in sentences))


def run_config(folder: Path, step: str, seed: int, **sections: Any) -> RunConfig:
    """A run of one step; step two starts from the model that step one has left in the same folder."""
    training = {
        "step": step,
        "init": folder / "sentence" / "final" if step == "document" else None,
        "updates": UPDATES,
        "batch_tokens": 512,
        "schedule": {"peak": 1e-2, "warmup": 50},
        "precision": "float32",
        "seed": seed,
    }
    values: dict[str, Any] = {
        "name": step,
        "languages": {"source": "xx", "target": "yy"},
        "data": {"train": {"source": "made-up", "target": "made-up"}},
        "tokenizer": {"path": folder},
        "backbone": {"width": 32, "feed_forward": 64, "heads": 2, "encoder_layers": 1, "decoder_layers": 1},
        "training": training,
        "output": folder / step,
    }
    for name, section in sections.items():
        values[name] = values.get(name, {}) | section
    return RunConfig.model_validate(values)


def train(config: RunConfig, tokenizer: Tokenizer, documents: list[Document]) -> TranslationModel:
    """The model that a run ends with."""
    corpus = TokenizedCorpus(documents, tokenizer, 32)
    final = Trainer(config, tokenizer, corpus, World()).run(lambda model: {}, Curves(None))
    return load_model(load_checkpoint(final))


def accuracies(model: TranslationModel, tokenizer: Tokenizer, language: Language) -> tuple[float, float]:
    """The shares of held-out sentences without mistakes: among those that need no context, and those that do.

    Preceding sentences come with their reference translations, for architectures that read those.
    """
    corpus = TokenizedCorpus(language.held_out, tokenizer, 32)
    reader = model.architecture
    examples = [reader.select(corpus.example(index, reader)) for index in range(len(corpus.sources))]
    requests = [TokenizedRequest(example, max_length=20) for example in examples]
    found = TorchEngine(model).translate(requests, SearchOptions(beam_size=1))
    right: dict[bool, list[bool]] = {True: [], False: []}
    translations = iter(tokenizer.decode_target(hypotheses[0].tokens) for hypotheses in found)
    for document in language.held_out:
        for at, sentence in enumerate(document.sentences):
            right[language.needs_context(at)].append(next(translations) == sentence.target)
    alone, in_context = (sum(right[needed]) / len(right[needed]) for needed in (False, True))
    return alone, in_context


def _gender(noun: str) -> int:
    return NOUNS.index(noun) % 2


def _of_triples(
    sentences: Callable[[str, str, str, random.Random], list[Sentence]],
    needs_context: Callable[[int], bool],
    together: int = 4,
) -> Language:
    """Documents of `together` nouns with two verbs each; no combination that is held out is learnt."""
    chooser = random.Random(1)
    held_out = [
        (noun, chooser.choice(VERBS), verb)
        for verb in VERBS
        for gender in (0, 1)
        for noun in chooser.sample(NOUNS[gender::2], 4)
    ]
    learnt = [(noun, one, two) for noun in NOUNS for one in VERBS for two in VERBS]
    learnt = [triple for triple in learnt if triple not in held_out]
    chooser.shuffle(learnt)
    chooser.shuffle(held_out)

    def documents(triples: list[tuple[str, str, str]]) -> list[Document]:
        groups = [triples[i : i + together] for i in range(0, len(triples), together)]
        return [Document(tuple(s for triple in group for s in sentences(*triple, chooser))) for group in groups]

    return Language(documents(learnt), documents(held_out), needs_context)
