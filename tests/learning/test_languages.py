"""Each architecture learns what its inputs decide, as in its paper, and is at chance level where they do not.

Step one yields a sentence model that translates everything that needs no context; step two trains the parameters that
an architecture declares. All pairs of architecture and language take long, and are marked slow, except those in QUICK:
for four architectures a language that it learns, for another one a language that it cannot learn.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from models.config import RunConfig
from models.data.tokenizer import Tokenizer
from tests.learning.languages import LANGUAGES, NOUNS, VERBS, Language, accuracies, make_tokenizer, run_config, train
from tests.support.bert import make_bert, tiny_bert_context, with_bert

LEARNT, CHANCE = 0.95, (0.3, 0.7)
NARROW = {"attention_width": 16, "attention_heads": 2}
BERT = tiny_bert_context(bert_width=32).model_dump()
ARCHITECTURES: dict[str, tuple[dict[str, Any], set[str]]] = {
    "doc_transformer": ({"context_sentences": 1}, {"previous"}),
    "concatenation": ({"context_sentences": 1}, {"previous"}),
    "averaged_document": ({"context": "joint"} | NARROW, {"previous", "far"}),
    "layer_weighting": ({"context_sentences": 3}, {"previous", "translation"}),
    "global_local": ({}, {"previous", "far", "following", "translation"}),
    "global_local, causal": ({"kind": "global_local", "causal": True}, {"previous", "far", "translation"}),
    "global_local without memory": (
        {"kind": "global_local", "target_memory": False},
        {"previous", "far", "following"},
    ),
    "global_local of the history": ({"kind": "global_local", "global_layer": False}, {"previous", "translation"}),
    "bert_context": (BERT, {"previous"}),
    "bert_context with what follows": (BERT | {"following_sentences": 1}, {"previous", "following"}),
    "bert_context of random words": (BERT | {"context": "random"}, set()),
}
"""For each architecture, its switches and the languages that it learns."""
QUICK = {
    ("doc_transformer", "previous"),
    ("averaged_document", "following"),
    ("layer_weighting", "translation"),
    ("global_local", "translation"),
    ("bert_context", "previous"),
}
LONGER = {("averaged_document", "far"): {"updates": 800, "schedule": {"peak": 3e-3, "warmup": 50}}}
"""It takes more updates to learn to read a mean over six sentences."""
GENTLER = {"updates": 300, "schedule": {"peak": 2e-3, "warmup": 50}}
"""For `global_local`, whose decoder is not that of the sentence model."""
MATRIX = [
    pytest.param(kind, language, marks=[] if (kind, language) in QUICK else pytest.mark.slow, id=f"{kind}-{language}")
    for kind in ARCHITECTURES
    for language in LANGUAGES
]
Learn = Callable[[str], tuple[Language, Tokenizer, Path]]


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    """Use one thread: more would only wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random BERT that has each source word of all languages as one piece."""
    words = [*NOUNS, *VERBS, "it", "so", "you"]
    return make_bert(tmp_path_factory.mktemp("bert"), "", words=words, hidden_size=32, initializer_range=0.1)


@pytest.fixture(scope="module")
def step_one(tmp_path_factory: pytest.TempPathFactory) -> Learn:
    """A language, its tokenizer and the folder of a sentence model trained on it once for all architectures."""
    made: dict[str, tuple[Language, Tokenizer, Path]] = {}

    def learn(name: str) -> tuple[Language, Tokenizer, Path]:
        if name not in made:
            language, folder = LANGUAGES[name](), tmp_path_factory.mktemp(name)
            tokenizer = make_tokenizer(language, folder)
            sentence = train(run_config(folder, "sentence", 1), tokenizer, language.learnt)
            alone, in_context = accuracies(sentence, tokenizer, language)
            assert alone >= (LEARNT if name != "translation" else CHANCE[0])
            assert CHANCE[0] <= in_context <= CHANCE[1]
            made[name] = language, tokenizer, folder
        return made[name]

    return learn


@pytest.mark.parametrize(("kind", "name"), MATRIX)
def test_architecture_learns_what_it_can_read(
    kind: str, name: str, step_one: Learn, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Of the held-out sentences that need context, 95 % are right if it can be read, and about half otherwise."""
    language, tokenizer, folder = step_one(name)
    switches, learnt = ARCHITECTURES[kind]
    architecture, training = {"kind": kind} | switches, LONGER.get((kind, name), {})
    if kind.startswith("global_local"):
        training = GENTLER
    settings: RunConfig = run_config(folder, "document", 1, architecture=architecture, training=training)
    reads = with_bert(settings.architecture, request)
    settings = settings.model_copy(update={"output": tmp_path, "architecture": reads})
    model = train(settings, tokenizer, language.learnt)
    _, in_context = accuracies(model, tokenizer, language)
    if name in learnt:
        assert in_context >= LEARNT
    else:
        assert CHANCE[0] <= in_context <= CHANCE[1]
