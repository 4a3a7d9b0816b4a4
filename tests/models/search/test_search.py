"""With the same weights, search finds what CTranslate2 finds."""

from collections.abc import Callable
from typing import Any

import ctranslate2
import pytest
import torch

from models.bundle.conversion import convert_backbone
from models.config import BackboneConfig, Norm, SentenceConfig
from models.data.batches import Batch, make_batch
from models.data.tokenizer import EOS, SPECIAL_PIECES
from models.errors import UnsupportedOptionError
from models.network.decoding import ModelDecoder
from models.network.model import TranslationModel
from models.search.hypotheses import Hypothesis, SearchOptions
from models.search.running import Wanted
from models.search.search import new_search
from tests.support.search import search

PIECES = [*SPECIAL_PIECES, *(f"t{i}" for i in range(36))]
LIMIT = 24
CONFIG = BackboneConfig(
    width=32, feed_forward=64, heads=4, encoder_layers=1, decoder_layers=2, max_length=32, embeddings="separate"
)


def sharp_model(norm: Norm, seed: int) -> TranslationModel:
    """A random model with clear preferences that, like a trained one, never generates padding or <s>."""
    torch.manual_seed(seed)
    model = TranslationModel(CONFIG.model_copy(update={"norm": norm}), SentenceConfig(), len(PIECES), len(PIECES))
    model.initialize()
    backbone = model.backbone
    last = backbone.decoder_norm if norm == "pre" else backbone.decoder[-1].feed_residual.norm
    with torch.no_grad():
        backbone.output.weight *= 2.5
        # The first feature of the last hidden state is a constant that makes those two unlikely.
        last.weight[0], last.bias[0] = 0.0, 5.0  # type: ignore[operator, index, union-attr]
        backbone.output.weight[:, 0] = 0.0
        backbone.output.weight[:2, 0] = -6.0
    return model.eval()


@pytest.fixture(scope="module")
def sources() -> list[list[int]]:
    """Sixty sentences of random tokens."""
    generator = torch.Generator().manual_seed(1)
    lengths = torch.randint(1, 15, (60,), generator=generator).tolist()
    return [torch.randint(4, len(PIECES), (length,), generator=generator).tolist() for length in lengths]


@pytest.fixture(scope="module", params=[("pre", 0), ("post", 1)], ids=["pre", "post"])
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[ModelDecoder, ctranslate2.Translator]:
    """The same model in torch and in CTranslate2."""
    model = sharp_model(*request.param)
    folder = tmp_path_factory.mktemp("ctranslate2")
    convert_backbone(model.backbone, PIECES, PIECES, folder, "float32")
    return ModelDecoder(model), ctranslate2.Translator(str(folder), compute_type="float32", intra_threads=1)


@pytest.mark.parametrize(
    ("beam", "n_best", "alpha", "patience"),
    [
        (1, 1, 1.0, 1.0),
        (1, 1, 1.0, 2.0),
        (4, 1, 1.0, 1.0),
        (4, 4, 0.6, 1.0),
        (5, 3, 0.0, 1.0),
        (2, 2, 1.3, 1.0),
        (4, 1, 1.4, 2.0),
        (3, 3, 0.8, 1.5),
        (4, 4, 0.0, 2.0),
    ],
)
def test_search_finds_what_ctranslate2_finds(
    pair: tuple[ModelDecoder, ctranslate2.Translator],
    sources: list[list[int]],
    beam: int,
    n_best: int,
    alpha: float,
    patience: float,
) -> None:
    """The tokens and scores of all n best are CTranslate2's, whether or not they end."""
    decoder, translator = pair
    options = SearchOptions(beam, n_best, alpha=alpha, patience=patience)
    ours = search(decoder, make_batch(sources, None, {}), options, [LIMIT] * len(sources))
    theirs = translator.translate_batch(
        [[PIECES[token] for token in source] for source in sources],
        beam_size=beam,
        num_hypotheses=n_best,
        length_penalty=alpha,
        patience=patience,
        max_decoding_length=LIMIT,
        return_scores=True,
    )
    for found, expected in zip(ours, theirs, strict=True):
        assert [[PIECES[token] for token in hypothesis.tokens] for hypothesis in found] == expected.hypotheses
        assert [hypothesis.score for hypothesis in found] == pytest.approx(expected.scores, abs=1e-4)
    assert {hypothesis.finished for found in ours for hypothesis in found} == {True, False}


def test_beam_of_one_and_wider_beams_answer_in_one_form(
    make_decoder: Callable[..., ModelDecoder], make_sources: Callable[[int], Batch]
) -> None:
    """With any beam, there is a list of the n best for each sentence."""
    for options in (SearchOptions(1), SearchOptions(3, 2)):
        found = search(make_decoder(5), make_sources(5), options, [6] * 5)
        assert [len(hypotheses) for hypotheses in found] == [options.n_best] * 5


def test_results_do_not_depend_on_a_training_context(
    make_decoder: Callable[..., ModelDecoder], make_sources: Callable[[int], Batch]
) -> None:
    """Search works, and keeps no gradients, even if the caller tracks them."""
    decoder = make_decoder(2)
    decoder.tables.requires_grad_()  # type: ignore[attr-defined]
    assert search(decoder, make_sources(2), SearchOptions(2), [4, 4])


def test_too_wide_a_beam_is_refused(
    make_decoder: Callable[..., ModelDecoder], make_sources: Callable[[int], Batch]
) -> None:
    """The search's error reaches the caller."""
    with pytest.raises(UnsupportedOptionError):
        search(make_decoder(1), make_sources(1), SearchOptions(60), [3])


@pytest.mark.parametrize(
    ("options", "scores"),
    [
        (SearchOptions(1, min_length=3), {EOS: 3.5}),
        (SearchOptions(4, 4, min_length=2), {EOS: 3.5}),
        (SearchOptions(1, most_repeated=4), {41: 60.0, 42: 30.0}),
        (SearchOptions(3, most_repeated=4), {41: 60.0, 42: 30.0}),
    ],
)
def test_how_often_search_looks_changes_nothing(
    make_decoder: Callable[..., Any],
    make_sources: Callable[[int], Batch],
    options: SearchOptions,
    scores: dict[int, float],
) -> None:
    """With several steps between two looks, translations are the same, even with loops and sentences that join late."""

    def found(stride: int) -> dict[int, list[Hypothesis]]:
        decoder = make_decoder(20, scores=scores)
        decoder.stride = stride
        running = new_search(decoder, options)
        running.add(make_sources(20), [Wanted(key, 1 + key) for key in range(20)])
        results = {one.key: one.hypotheses for one in running.step()}
        running.add(make_sources(10), [Wanted(20 + key, 9) for key in range(10)])
        running.drop([4])
        while running.running:
            results |= {one.key: one.hypotheses for one in running.step()}
        return results

    once = found(1)
    for stride in (2, 7, 30):
        assert {key: found(stride)[key] for key in once} == once
