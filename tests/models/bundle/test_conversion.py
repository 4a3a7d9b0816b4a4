from collections.abc import Callable
from pathlib import Path
from typing import Any

import ctranslate2
import pytest
import torch

from models.bundle.conversion import convert_backbone, vocabulary_tokens
from models.bundle.converted import read_backbone
from models.config import BackboneConfig, SentenceConfig
from models.data.batches import make_batch
from models.data.tokenizer import SPECIAL_PIECES
from models.engine.computation import ctranslate2_type
from models.errors import BundleError
from models.network.decoding import ModelDecoder
from models.network.model import TranslationModel
from models.search.hypotheses import SearchOptions
from models.training.objective import token_losses
from tests.support.bundles import randomize
from tests.support.search import search

SOURCES = [[5, 6, 7, 3], [8, 9], [10] * 15, [4], [11, 30, 12, 39, 5, 6]]
TARGETS = [[5, 6, 7, 8, 9], [4], [7, 7], [10, 3, 11] * 5, [38, 12]]
VARIANTS: list[dict[str, Any]] = [
    {},
    {"norm": "post"},
    {"activation": "gelu", "embeddings": "output"},
    {"activation": "gelu_tanh", "norm": "post", "embeddings": "separate", "encoder_layers": 3},
    {"activation": "swish", "embeddings": "output", "encoder_layers": 1, "decoder_layers": 3},
    {"embeddings": "separate", "heads": 1, "width": 18},
    {"norm": "post", "activation": "swish", "embeddings": "output", "positions": "marian", "output_bias": True},
]


def pieces(prefix: str, size: int) -> list[str]:
    """A vocabulary."""
    return [*SPECIAL_PIECES, *(f"{prefix}{i}" for i in range(len(SPECIAL_PIECES), size))]


def make_model(**variant: Any) -> TranslationModel:
    """A small sentence model with random weights; vocabularies of different sizes unless they are shared."""
    shape = {"width": 32, "feed_forward": 48, "heads": 4, "encoder_layers": 2, "decoder_layers": 2, "max_length": 20}
    config = BackboneConfig.model_validate(shape | variant)
    model = TranslationModel(config, SentenceConfig(), 40, 40 if config.embeddings == "shared" else 50)
    randomize(model)
    return model.eval()


def convert(model: TranslationModel, folder: Path, quantization: Any = "float32") -> ctranslate2.Translator:
    """The backbone of a model in CTranslate2."""
    sizes = model.backbone.source_embedding.num_embeddings, model.backbone.target_embedding.num_embeddings
    prefixes = ("p", "p") if model.backbone.config.embeddings == "shared" else ("s", "t")
    vocabularies = [pieces(prefix, size) for prefix, size in zip(prefixes, sizes, strict=True)]
    convert_backbone(model.backbone, vocabularies[0], vocabularies[1], folder, quantization)
    return ctranslate2.Translator(str(folder), compute_type=ctranslate2_type(quantization, "cpu"), intra_threads=1)


def strings(sequences: list[list[int]], prefix: str) -> list[list[str]]:
    """Ids as pieces, which CTranslate2 takes."""
    vocabulary = pieces(prefix, 50)
    return [[vocabulary[i] for i in sequence] for sequence in sequences]


def prefixes_of(model: TranslationModel) -> tuple[str, str]:
    """The prefixes of the pieces of both vocabularies."""
    return ("p", "p") if model.backbone.config.embeddings == "shared" else ("s", "t")


@torch.inference_mode()
def torch_log_probabilities(model: TranslationModel) -> list[list[float]]:
    """Log-probabilities of the targets' tokens and ends in torch."""
    losses = token_losses(model, make_batch(SOURCES, TARGETS, {}))
    return [(-row[: len(target) + 1]).tolist() for row, target in zip(losses, TARGETS, strict=True)]


def converted_log_probabilities(translator: ctranslate2.Translator, model: TranslationModel) -> list[list[float]]:
    """The same log-probabilities in CTranslate2."""
    source, target = prefixes_of(model)
    return [found.log_probs for found in translator.score_batch(strings(SOURCES, source), strings(TARGETS, target))]


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: "-".join(map(str, variant.values())) or "default")
def test_probabilities_are_those_of_torch(variant: dict[str, Any], tmp_path: Path) -> None:
    """In float32, every token of a translation has the same log-probability in CTranslate2 as in torch."""
    model = make_model(**variant)
    found = converted_log_probabilities(convert(model, tmp_path), model)
    for ours, theirs in zip(torch_log_probabilities(model), found, strict=True):
        assert theirs == pytest.approx(ours, abs=1e-4)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: "-".join(map(str, variant.values())) or "default")
@pytest.mark.parametrize("beam_size", [1, 4])
def test_translations_are_those_of_torch(variant: dict[str, Any], beam_size: int, tmp_path: Path) -> None:
    """In float32, greedy and beam search find in CTranslate2 what they find in torch, with the same scores."""
    model = make_model(**variant)
    found = convert(model, tmp_path).translate_batch(
        strings(SOURCES, prefixes_of(model)[0]), beam_size=beam_size, max_decoding_length=12, return_scores=True
    )
    ours = search(ModelDecoder(model), make_batch(SOURCES, None, {}), SearchOptions(beam_size), [12] * len(SOURCES))
    for mine, theirs in zip(ours, found, strict=True):
        assert strings([mine[0].tokens], prefixes_of(model)[1]) == theirs.hypotheses
        assert theirs.scores == pytest.approx([mine[0].score], abs=1e-4)


@pytest.mark.parametrize(("quantization", "bound"), [("int8", 0.1), ("float16", 0.01)])
def test_rounded_weights_are_close(quantization: str, bound: float, tmp_path: Path) -> None:
    """In int8 and float16, the model loads and log-probabilities stay near those of float32."""
    model = make_model()
    found = converted_log_probabilities(convert(model, tmp_path, quantization), model)
    for ours, theirs in zip(torch_log_probabilities(model), found, strict=True):
        assert theirs == pytest.approx(ours, abs=bound)
        assert theirs != ours


def test_conversion_leaves_the_model_as_it_was(tmp_path: Path) -> None:
    """Quantising the copy changes no weight of the original."""
    model = make_model()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    convert(model, tmp_path, "int8")
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())


def test_positions_end_where_the_table_ends(tmp_path: Path) -> None:
    """A source that fills the position table agrees with torch; a longer one is an error and never cut."""
    model = make_model()
    translator = convert(model, tmp_path)
    longest = [[4 + i for i in range(19)]]
    found = translator.score_batch(strings(longest, "p"), strings([[5]], "p"), max_input_length=0)
    ours = -token_losses(model, make_batch(longest, [[5]], {}))[0]
    assert found[0].log_probs == pytest.approx(ours.tolist(), abs=1e-4)
    with pytest.raises(RuntimeError, match="positions >= 20"):
        translator.score_batch(strings([longest[0] + [4]], "p"), strings([[5]], "p"), max_input_length=0)


def test_odd_pieces_do_not_shift_ids(tmp_path: Path) -> None:
    """Pieces that repeat, are empty, or look like something else keep their own embeddings."""
    odd = pieces("p", 40)
    odd[5:11] = ["", "p12", "\n", '"', "\u2581", "</s>x"]  # p12 occurs twice
    model = make_model()
    convert_backbone(model.backbone, odd, odd, tmp_path, "float32")
    tokens = vocabulary_tokens(odd)
    translator = ctranslate2.Translator(str(tmp_path), compute_type="float32", intra_threads=1)
    found = translator.score_batch(*([[tokens[i] for i in ids] for ids in side] for side in (SOURCES, TARGETS)))
    for ours, theirs in zip(torch_log_probabilities(model), found, strict=True):
        assert theirs.log_probs == pytest.approx(ours, abs=1e-4)


def test_a_vocabulary_of_another_size_is_refused(tmp_path: Path) -> None:
    """Vocabularies that do not belong to the embeddings are an error, not a model with shifted ids."""
    with pytest.raises(ValueError, match="vocabulary"):
        convert_backbone(make_model().backbone, pieces("p", 39), pieces("p", 40), tmp_path, "float32")


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: "-".join(map(str, variant.values())) or "default")
def test_what_was_converted_comes_back(variant: dict[str, Any], tmp_path: Path) -> None:
    """Every weight is read back by its name: float32 exactly, float16 as rounded, int8 to half a step of its row."""
    model = make_model(**variant)
    trained = {name: parameter.detach() for name, parameter in model.backbone.named_parameters()}
    found = {}
    for quantization in ("float32", "float16", "int8"):
        convert(model, tmp_path / quantization, quantization)
        found[quantization] = read_backbone(tmp_path / quantization, model.backbone)
        assert found[quantization].keys() == trained.keys()
    for name, tensor in trained.items():
        assert torch.equal(found["float32"][name], tensor)
        assert torch.equal(found["float16"][name], tensor.half())
        if tensor.dim() == 1:
            assert torch.equal(found["int8"][name], tensor)
        else:
            steps = tensor.abs().amax(1, keepdim=True) / 127
            assert ((found["int8"][name] - tensor).abs() <= 0.5001 * steps).all()


def test_what_was_rounded_is_rounded_to_the_same_again(tmp_path: Path) -> None:
    """So weights do not drift with repeated exports; only scales may differ, in the last bit."""
    model = make_model()
    read = []
    for name in ("once", "twice"):
        convert(model, tmp_path / name, "int8")
        read.append(read_backbone(tmp_path / name, model.backbone))
        model.backbone.load_state_dict(read[-1], strict=False)
    for name in read[0]:
        assert torch.allclose(read[0][name], read[1][name], rtol=1e-6, atol=0)


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda content: b"", "it ends too soon"),
        (lambda content: content[:-100], "it ends too soon"),
        (lambda content: b"\x07" + content[1:], "it is in version 7 of CTranslate2's format, and only 6 is known"),
        (lambda content: content.replace(b"encoder/layer_norm/beta", b"encoder/layer_norm/zeta"), "layer_norm/beta"),
        (None, "No such file"),
    ],
)
def test_a_file_of_something_else_is_refused(
    damage: Callable[[bytes], bytes] | None, problem: str, tmp_path: Path
) -> None:
    """A file that is empty, cut short, in another format version, of another model, or missing is refused."""
    model = make_model()
    convert(model, tmp_path)
    file = tmp_path / "model.bin"
    file.write_bytes(damage(file.read_bytes())) if damage else file.unlink()
    with pytest.raises(BundleError, match=rf"model\.bin cannot be read: .*{problem}"):
        read_backbone(tmp_path, model.backbone)


def test_weights_of_another_size_are_refused(tmp_path: Path) -> None:
    """A folder that belongs to another model is an error, not a model with shifted rows."""
    convert(make_model(), tmp_path)
    with pytest.raises(BundleError, match=r"model\.bin cannot be read"):
        read_backbone(tmp_path, make_model(feed_forward=64).backbone)
