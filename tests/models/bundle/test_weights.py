"""Weights as they are stored: how exactly they come back, and how models score with them."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from models.bundle.manifest import WEIGHTS
from models.bundle.weights import read_weights, write_weights
from models.config import ArchitectureConfig, DocTransformerConfig, GlobalLocalConfig, RunConfig, SentenceConfig
from models.data.documents import windows
from models.engine.computation import place
from models.engine.requests import Options, TranslationRequest
from models.engine.runtime import Runtime
from models.errors import BundleError
from models.export.unpacking import unpack_bundle
from models.kernels.machine import supports_int8
from models.network.model import TranslationModel
from models.training.checkpoints import Checkpoint, load_checkpoint, load_model, load_weights, weights_of
from tests.support.bundles import documents, make_bundle, replace_weights

Stored = dict[str, Tensor]

MATRIX = "backbone.encoder.0.feed_forward.inner.weight"
VECTOR = "backbone.encoder.0.feed_forward.inner.bias"
SCALES = f"{MATRIX}.scales"
TARGETS = [sentence.target or "" for document in documents(3) for sentence in document.sentences]
NEEDS_INT8 = pytest.mark.skipif(not supports_int8(), reason="no kernel for this CPU")


@pytest.fixture(scope="module")
def rounded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An int8 bundle that has all weights in the file; its checkpoint is beside it."""
    return make_bundle(tmp_path_factory.mktemp("rounded") / "bundle", own_backbone=False, max_length=96)


@pytest.fixture
def copy(rounded: Path, tmp_path: Path) -> Path:
    """A copy of the bundle and its checkpoint, for a test to change."""
    shutil.copytree(rounded.with_name("bundle.checkpoint"), tmp_path / "bundle.checkpoint")
    return Path(shutil.copytree(rounded, tmp_path / "bundle"))


def requests(runtime: Runtime) -> list[TranslationRequest]:
    """All sentences of made-up documents, in their context."""
    return [
        TranslationRequest(each.current.source, each.preceding, each.following)
        for document in documents(3)
        for each in windows(document, runtime.manifest.window)
    ]


def run_of(checkpoint: Checkpoint, folder: Path) -> RunConfig:
    """The run of a checkpoint, as somebody has it who has only its configuration."""
    tokenizer = checkpoint.config.tokenizer.model_copy(update={"path": folder / "tokenizer"})
    return checkpoint.config.model_copy(update={"output": folder / "run", "tokenizer": tokenizer})


def same(ones: Stored, others: Stored) -> bool:
    """Whether two models have tensors of the same names that are equal to the bit."""
    return ones.keys() == others.keys() and all(torch.equal(ones[name], others[name]) for name in ones)


def test_floats_come_back_as_they_were(model: TranslationModel, tmp_path: Path) -> None:
    """In float32 to the bit, in float16 as rounded to it."""
    trained = weights_of(model)
    write_weights(tmp_path, trained, "float32")
    assert same(read_weights(tmp_path), trained)
    write_weights(tmp_path, trained, "float16")
    assert same(read_weights(tmp_path), {name: tensor.half() for name, tensor in trained.items()})


def test_matrices_come_back_to_half_a_step(model: TranslationModel, tmp_path: Path) -> None:
    """A step is 1/127 of a row's largest element; tensors that are no matrices come back to the bit."""
    trained = weights_of(model)
    write_weights(tmp_path, trained, "int8")
    stored, found = load_file(tmp_path / WEIGHTS), read_weights(tmp_path)
    assert found.keys() == trained.keys()
    assert {tensor.dtype for tensor in found.values()} == {torch.float32}
    for name, tensor in trained.items():
        assert (stored[name].dtype == torch.int8) == (tensor.dim() == 2)
        if tensor.dim() == 2:
            steps = tensor.abs().amax(1, keepdim=True) / 127
            assert ((found[name] - tensor).abs() <= 0.5001 * steps).all()
            assert not torch.equal(found[name], tensor)
        else:
            assert torch.equal(found[name], tensor)


def test_what_was_rounded_is_stored_as_it_is(rounded: Path, tmp_path: Path) -> None:
    """Writing what was read gives the same file, so that no weight moves further away with each export."""
    write_weights(tmp_path, read_weights(rounded), "int8")
    assert (tmp_path / WEIGHTS).read_bytes() == (rounded / WEIGHTS).read_bytes()


def test_what_is_no_number_stays_none(model: TranslationModel, tmp_path: Path) -> None:
    """The whole row of a NaN comes back as NaN, and nothing else, so that the self-tests find it."""
    trained = {name: tensor.clone() for name, tensor in weights_of(model).items()}
    trained[MATRIX][3, 5] = float("nan")
    write_weights(tmp_path, trained, "int8")
    found = read_weights(tmp_path)[MATRIX].isnan()
    assert found[3].all()
    assert found.sum() == found.size(1)


@NEEDS_INT8
@pytest.mark.parametrize(
    ("architecture", "embeddings"),
    [
        (SentenceConfig(), "separate"),
        (DocTransformerConfig(), "output"),
        (DocTransformerConfig(), "shared"),
        (GlobalLocalConfig(block_sentences=3), "output"),
    ],
)
def test_in_int8_a_bundle_scores_as_its_checkpoint(
    tmp_path: Path, architecture: ArchitectureConfig, embeddings: str
) -> None:
    """Equal to the bit, as linear layers have the very same integers and scales; embeddings are taken as stored."""
    values = {"embeddings": embeddings, "max_length": 96}
    bundle = make_bundle(tmp_path / "bundle", architecture, own_backbone=False, **values)
    checkpoint, stored = load_checkpoint(tmp_path / "bundle.checkpoint"), read_weights(bundle)
    model = load_model(checkpoint)
    embedded = {f"{name}.weight" for name, each in model.named_modules() if isinstance(each, nn.Embedding)}
    load_weights(model, {n: stored[n] if n in embedded else tensor for n, tensor in checkpoint.weights.items()})
    place(model, "cpu", "int8", 1, to_serve=True)
    runtimes = Runtime.load(bundle, compute_type="int8"), Runtime.of(checkpoint.config, checkpoint.tokenizer, model)
    asked = requests(runtimes[0])
    found, expected = (runtime.score(asked, TARGETS) for runtime in runtimes)
    assert found == expected
    found, expected = (runtime.translate(asked, Options()) for runtime in runtimes)
    assert found == expected


@NEEDS_INT8
def test_in_int8_a_bundle_with_its_own_backbone_scores_nearly_so(tmp_path: Path) -> None:
    """Scores differ a little: CTranslate2's scales may come back different in their last bit."""
    bundle = make_bundle(tmp_path / "bundle", max_length=96)
    checkpoint = load_checkpoint(tmp_path / "bundle.checkpoint")
    model = load_model(checkpoint)
    place(model, "cpu", "int8", 1, to_serve=True)
    runtimes = Runtime.load(bundle, compute_type="int8"), Runtime.of(checkpoint.config, checkpoint.tokenizer, model)
    asked = requests(runtimes[0])
    found, expected = (runtime.score(asked, TARGETS) for runtime in runtimes)
    assert found == pytest.approx(expected, rel=0.01)
    assert found != expected


def test_floats_in_an_int8_bundle_are_read(copy: Path, tmp_path: Path) -> None:
    """A bundle from before matrices were in int8 has them in float16, scores accordingly, and can be trained on."""
    checkpoint = load_checkpoint(copy.with_name("bundle.checkpoint"))
    old = {name: tensor.half() for name, tensor in checkpoint.weights.items()}
    replace_weights(copy, old)
    found = Runtime.load(copy, compute_type="float32")
    model = load_model(checkpoint)
    load_weights(model, old)
    expected = Runtime.of(checkpoint.config, checkpoint.tokenizer, model)
    asked = requests(found)
    assert found.score(asked, TARGETS) == pytest.approx(expected.score(asked, TARGETS), abs=1e-4)
    unpacked = load_checkpoint(unpack_bundle(copy, run_of(checkpoint, tmp_path))).weights
    assert same(unpacked, {name: tensor.float() for name, tensor in old.items()})


def test_an_int8_bundle_is_trained_on_as_it_is_stored(copy: Path, tmp_path: Path) -> None:
    """The checkpoint unpacked from it has its rounded weights, as floats."""
    config = run_of(load_checkpoint(copy.with_name("bundle.checkpoint")), tmp_path)
    assert same(load_checkpoint(unpack_bundle(copy, config)).weights, read_weights(copy))


def without_scales(stored: Stored) -> None:
    """Remove the scales."""
    del stored[SCALES]


def with_too_few_scales(stored: Stored) -> None:
    """Remove the scale of one row."""
    stored[SCALES] = stored[SCALES][1:].clone()


def with_one_scale(stored: Stored) -> None:
    """Give all rows a single scale."""
    stored[SCALES] = stored[SCALES].max()


def with_integers_as_scales(stored: Stored) -> None:
    """Make the scales integers."""
    stored[SCALES] = stored[SCALES].int()


def with_a_vector_in_int8(stored: Stored) -> None:
    """Store a vector, which has no rows, in int8."""
    stored[VECTOR] = stored[VECTOR].to(torch.int8)
    stored[f"{VECTOR}.scales"] = torch.ones(len(stored[VECTOR]))


def with_a_number_in_int8(stored: Stored) -> None:
    """Store a number, which has no dimensions at all, in int8."""
    stored[VECTOR], stored[f"{VECTOR}.scales"] = torch.tensor(1, dtype=torch.int8), torch.tensor(1.0)


def with_longer_integers(stored: Stored) -> None:
    """Store a matrix in another integer type than int8."""
    stored[MATRIX] = stored[MATRIX].short()


def with_scales_of_floats(stored: Stored) -> None:
    """Store a matrix as floats, but keep its scales."""
    stored[MATRIX] = stored[MATRIX].float()


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (without_scales, f"{MATRIX} is not an int8 matrix with a scale for each row"),
        (with_too_few_scales, f"{MATRIX} is not an int8 matrix with a scale for each row"),
        (with_one_scale, f"{MATRIX} is not an int8 matrix with a scale for each row"),
        (with_integers_as_scales, f"{MATRIX} is not an int8 matrix with a scale for each row"),
        (with_a_vector_in_int8, f"{VECTOR} is not an int8 matrix with a scale for each row"),
        (with_a_number_in_int8, f"{VECTOR} is not an int8 matrix with a scale for each row"),
        (with_longer_integers, f"{MATRIX} is not an int8 matrix with a scale for each row"),
        (with_scales_of_floats, f"the weights do not fit the model: only one of them has {SCALES}"),
    ],
)
def test_what_does_not_fit_together_is_refused(
    copy: Path, tmp_path: Path, damage: Callable[[Stored], None], problem: str
) -> None:
    """Loading and unpacking both fail with an error that names the tensor."""
    config = run_of(load_checkpoint(copy.with_name("bundle.checkpoint")), tmp_path)
    stored = load_file(copy / WEIGHTS)
    damage(stored)
    replace_weights(copy, stored)
    with pytest.raises(BundleError, match=problem):
        Runtime.load(copy)
    with pytest.raises(BundleError, match=problem):
        unpack_bundle(copy, config)


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    """A file without weights, one that is cut short, or a missing one, is refused."""
    write_weights(tmp_path, {"a": torch.ones(2, 2)}, "float32")
    whole = (tmp_path / WEIGHTS).read_bytes()
    for content in (b"no weights", whole[:-1], None):
        (tmp_path / WEIGHTS).unlink(missing_ok=True)
        if content is not None:
            (tmp_path / WEIGHTS).write_bytes(content)
        with pytest.raises(BundleError, match=r"model\.safetensors cannot be read"):
            read_weights(tmp_path)
