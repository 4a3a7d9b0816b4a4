"""Compiled kernels: sums of products, and sub-layers in one call, compared with their separate steps."""

from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from numba import njit
from torch import Tensor, nn

from models.config import Activation, BackboneConfig, Norm
from models.kernels.dots import PANELS, dots, in_panels, lanes
from models.kernels.machine import TILES, VNNI, supports_int8
from models.kernels.tiles import PAIR, ROWS, product_of_tiles
from models.network.architectures.aware_layers import Gate as JoinedGate
from models.network.architectures.context_attention import ContextAttention
from models.network.attention import Attention, additive
from models.network.context import over_past
from models.network.inference.int8_sublayers import Int8Norm
from models.network.inference.kernel_embedding import KernelEmbedding
from models.network.inference.preparation import prepare
from models.network.layers import ACTIVATIONS, FeedForward, Framed, Gate, Residual
from models.network.state import State
from models.network.transformer import Transformer

WIDTH = 40
needs_int8 = pytest.mark.skipif(not supports_int8(), reason="no kernel for this CPU")


def ready(module: nn.Module) -> Any:
    """A module in int8, as in a model that is served."""
    torch.manual_seed(1)
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.3)
    owner = nn.Module()
    owner.self_attention = module
    prepare(owner.eval(), int8=True)
    return owner.self_attention


def rows(count: int, words: int = 1) -> Tensor:
    """Random rows of very different sizes, (count, words, WIDTH)."""
    return torch.randn(count, words, WIDTH) * torch.logspace(-3, 1, count)[:, None, None]


SENTENCES = (torch.arange(9) < torch.tensor([9, 1, 4, 8, 0, 2, 5])[:, None])[:, None, None]
"""The mask of sentences of different lengths, one of which is empty."""


def without_padding(x: Tensor, mask: Tensor) -> Tensor:
    """Vectors (B, S, ...) with zeros for padding."""
    return x.masked_fill(~mask[:, 0, 0, :, None], 0)


def one_by_one(count: int) -> list[slice]:
    """Slices of so many rows, a few at a time, odd and even in number."""
    return [slice(0, 1), slice(1, 3), slice(3, 8), slice(8, count)]


def check_sums(multiply: Any, count: int, length: int, *, panels: int, vnni: bool) -> None:
    """Compare products of rows, from the second on, with numpy's in 64 bits; nothing around them may be overwritten.

    Args:
        multiply: a compiled function of inputs, units, a layer and the result, which leaves out the layer's first
            `panels` and takes as many more, and leaves three columns free.
        count: the number of rows.
        length: of each row.
        panels: as above.
        vnni: as of `dots`.
    """
    columns, random = panels * lanes(vnni=vnni), np.random.default_rng(1)
    x = random.integers(0, 256 if vnni else 128, (-(-count // ROWS) * ROWS + 1, length)).astype(np.uint8)
    w = random.integers(-127, 128, (2 * columns, length)).astype(np.int8)
    x[1], w[columns + 2] = 255 if vnni else 127, -127
    start = random.integers(-999, 999, 2 * columns).astype(np.int32)
    scales, bias = (2.0 ** random.integers(-2, 3, (2, 2 * columns))).astype(np.float32)
    units = (2.0 ** random.integers(-2, 3, count + 2)).astype(np.float32)
    packed = in_panels(w, vnni=vnni)
    layer = packed, start, scales, bias, 7
    result = np.full((count + 2, columns + 5), 7, np.float32)
    expected = result.copy()
    multiply(np.pad(x, [(0, 0), (0, 4 * packed.shape[1] - length)]), units, layer, result)
    sums, mine = x[1 : count + 1].astype(int) @ w[columns:].T.astype(int) + start[columns:], slice(1, count + 1)
    expected[mine, 3:-2] = sums.astype(np.float32) * scales[columns:] * units[mine, None] + bias[columns:]
    assert (result == expected).all()


@needs_int8
@pytest.mark.parametrize("length", [4, 100])
@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("vnni", [False, pytest.param(True, marks=pytest.mark.skipif(not VNNI, reason="no VNNI"))])
def test_sums_of_products_are_exact(length: int, count: int, *, vnni: bool) -> None:
    """They equal numpy's, even for the largest numbers."""
    operation = dots(count, vnni=vnni)

    @njit
    def multiply(x: object, units: object, layer: object, result: object) -> None:
        operation(x, units, layer, result, 1, PANELS, 3)

    check_sums(multiply, count, length, panels=PANELS, vnni=vnni)


@njit
def multiply_by_tiles(x: Any, units: Any, layer: object, result: Any) -> None:
    """Multiply all rows but the first."""
    product_of_tiles(x[1:], units[1:], layer, result[1:, 3:], len(result) - 2, 2 * PAIR, 2 * PAIR)


@pytest.mark.skipif(not TILES, reason="no AMX")
@pytest.mark.parametrize("length", [4, 64, 200, 2500])
@pytest.mark.parametrize("count", [1, 5, 16, 17, 32, 33, 64, 90])
def test_sums_of_tiles_are_exact(length: int, count: int) -> None:
    """The same with the matrix unit (AMX): of one tile, of as many rows as it takes at once, and of more."""
    check_sums(multiply_by_tiles, count, length, panels=2 * PAIR, vnni=True)


@needs_int8
@torch.inference_mode()
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_few_rows_are_fed_forward_as_many_are(activation: Activation) -> None:
    """A few rows give the same as many, to the bit, and nearly the same as the layers one by one."""
    fed, x = ready(FeedForward(WIDTH, 4 * WIDTH + 1, activation)), rows(200, 3)
    together = fed(x)
    assert torch.equal(torch.cat([fed(x[part]) for part in one_by_one(100)]), together[:100])
    by_steps = fed.outer(ACTIVATIONS[activation](fed.inner(x)))  # a last digit may differ, and so a rounded integer
    assert torch.allclose(by_steps, together, atol=1e-6 if activation == "relu" else 0.02 * together.abs().max())


@needs_int8
@torch.inference_mode()
def test_large_layers_feed_few_rows_forward_as_many() -> None:
    """A layer whose weights do not stay in the cache takes more rows at once: more than fit and few give the same."""
    torch.manual_seed(1)
    fed, x = ready(FeedForward(704, 1500, "gelu")), torch.randn(300, 704)
    together = fed(x)
    assert torch.equal(torch.cat([fed(x[:1]), fed(x[1:250]), fed(x[250:])]), together)


@needs_int8
@torch.inference_mode()
@pytest.mark.parametrize("order", ["pre", "post"])
def test_many_sentences_attend_to_themselves_as_one_does(order: Norm) -> None:
    """More sentences than are computed together, and one with more words than that, give what each gives alone."""
    attention, residual = ready(Attention(WIDTH, 5)), ready(Residual(WIDTH, order, 0))
    lengths = torch.tensor([300, 1, 0, *range(20, 60), 280])
    mask = (torch.arange(300) < lengths[:, None])[:, None, None]
    x = rows(len(lengths), 300)
    together = residual(x, attention.over_itself(mask))
    for n, length in enumerate(lengths.tolist()):
        alone = residual(x[n : n + 1, :length], attention.over_itself(mask[n : n + 1, ..., :length]))
        assert torch.equal(together[n, :length], alone[0])
        assert not together[n, length:].any()


@needs_int8
@torch.inference_mode()
@pytest.mark.parametrize("kind", [Gate, JoinedGate])
def test_a_gate_opens_for_few_rows_as_for_many(kind: type[nn.Module]) -> None:
    """A few rows give the same as many, to the bit, and what layers and torch's sigmoid give, even at 0 and 1."""
    gate, x, y = ready(kind(WIDTH)), rows(200), rows(200)
    together = gate(x, y)
    assert torch.equal(torch.cat([gate(x[part], y[part]) for part in one_by_one(100)]), together[:100])
    before = gate.sentence(x) + gate.context(y) if kind is Gate else gate.both(torch.cat([x, y], dim=-1))
    assert torch.allclose(together, torch.sigmoid(before), atol=1e-6)
    assert together.min() < 1e-6
    assert together.max() == 1


@needs_int8
@torch.inference_mode()
@pytest.mark.parametrize("order", ["pre", "post"])
@pytest.mark.parametrize("hypotheses", [1, 3])
def test_one_call_attends_as_its_steps_do(hypotheses: int, order: Norm) -> None:
    """It is equal to the bit, alone or in its residual connection, with keys, some hidden, that hypotheses share."""
    attention, residual = ready(Attention(WIDTH, 5)), ready(Residual(WIDTH, order, 0))
    keys, values = attention.known(rows(6, 9))
    mask = additive(torch.arange(9) < torch.tensor([9, 1, 4, 8, 2, 5])[:, None, None, None], torch.float32)
    x, kernel = rows(6 * hypotheses), attention.kernel
    for seen in (mask, None):
        bare = partial(attention.forward, keys=keys, values=values, mask=seen)
        framed = Framed(bare, lambda x, frame, seen=seen: kernel.attend_fixed(x, keys, values, seen, frame))
        assert torch.equal(bare(x), attention.mix(attention.query(x), keys, values, seen))
        assert torch.equal(residual(x, framed), residual(x, bare))


@needs_int8
@torch.inference_mode()
@pytest.mark.parametrize("order", ["pre", "post"])
def test_one_call_attends_to_its_own_words_as_its_steps_do(order: Norm) -> None:
    """It is equal to the bit, for sentences of different lengths, and for heads narrower than the model."""
    for mask, inner in product((SENTENCES, SENTENCES[:1]), (None, 20)):
        attention, residual = ready(Attention(WIDTH, 5, inner=inner)), ready(Residual(WIDTH, order, 0))
        x, framed = rows(len(mask), 9), attention.over_itself(mask)
        assert torch.equal(residual(x, framed), without_padding(residual(x, framed.bare), mask))


@needs_int8
@torch.inference_mode()
@pytest.mark.parametrize("order", ["pre", "post"])
def test_padding_is_not_fed_forward(order: Norm) -> None:
    """Words give the same as without a mask, to the bit, whatever the padding holds, and padding gives zeros."""
    fed, residual, x = ready(FeedForward(WIDTH, 4 * WIDTH, "relu")), ready(Residual(WIDTH, order, 0)), rows(7, 9)
    expected = without_padding(residual(x, fed), SENTENCES)
    x[~SENTENCES[:, 0, 0]] = float("nan")
    assert torch.equal(residual(x, fed.over(SENTENCES)), expected)


@needs_int8
@torch.inference_mode()
def test_padding_has_no_keys_nor_values() -> None:
    """Keys and values of words are the projection's, in half precision, to the bit, whatever the padding holds."""
    attention, x = ready(Attention(WIDTH, 5)), rows(7, 9)
    both = without_padding(attention.key_value(x), SENTENCES)
    expected = [attention.split(attention.kernel.kept(each.contiguous())) for each in both.chunk(2, dim=-1)]
    x[~SENTENCES[:, 0, 0]] = float("nan")
    assert all(map(torch.equal, attention.known(x, SENTENCES), expected))


@needs_int8
@torch.inference_mode()
@pytest.mark.parametrize("order", ["pre", "post"])
def test_one_call_lets_context_in_as_its_steps_do(order: Norm) -> None:
    """Zhang et al.'s context sub-layer gives the same as its steps, and for few rows as for many, to the bit."""
    config = BackboneConfig(width=WIDTH, heads=5, norm=order)
    sublayer = ready(ContextAttention(config, 0, gating=True))
    keys, values = sublayer.attention.known(rows(6, 9))
    mask = additive(torch.arange(9) < torch.tensor([9, 1, 4, 8, 2, 5])[:, None, None, None], torch.float32)
    x = rows(6, 7)
    together = sublayer(x, keys, values, mask)
    one_by_one = [sublayer(x[i : i + 1], keys[i : i + 1], values[i : i + 1], mask[i : i + 1]) for i in range(6)]
    assert torch.equal(torch.cat(one_by_one), together)
    assert torch.equal(ContextAttention.forward(sublayer, x, keys, values, mask), together)
    real = (torch.arange(7) < torch.tensor([3, 7, 0, 1, 6, 7])[:, None])[:, None, None]
    x[~real[:, 0, 0]] = float("nan")
    assert torch.equal(sublayer(x, keys, values, mask, real), without_padding(together, real))


@needs_int8
@torch.inference_mode()
@pytest.mark.parametrize(("offset", "tolerance"), [(0, 1e-5), (3, 1e-3)])
def test_a_norm_is_torchs(offset: float, tolerance: float) -> None:
    """It is equal but for the last digits, for rows of very different sizes and far from 0, and row by row."""
    norm, x = ready(nn.LayerNorm(WIDTH)), rows(50) + offset
    assert isinstance(norm, Int8Norm)
    found, expected = norm(x), torch.layer_norm(x, (WIDTH,), norm.weight, norm.bias, norm.eps)
    assert torch.allclose(found, expected, rtol=tolerance, atol=tolerance)
    assert torch.equal(torch.cat([norm(row) for row in x.split(1)]), found)


@needs_int8
@torch.inference_mode()
def test_words_are_placed_as_by_torch() -> None:
    """Embeddings are equal to the bit at any positions, even beyond the last, where finished rows may still be."""
    torch.manual_seed(1)
    backbone = Transformer(BackboneConfig(width=WIDTH, heads=5, max_length=12), 30, 30).eval()
    tokens = torch.randint(0, 30, (4, 3))
    places = [slice(3), slice(9, 12), torch.arange(3) + torch.tensor([0, 4, 9, 11])[:, None]]
    expected = [backbone.embed(backbone.source_embedding, tokens, place) for place in places]
    prepare(backbone, int8=True)
    assert isinstance(backbone.source_embedding, KernelEmbedding)
    found = [backbone.embed(backbone.source_embedding, tokens, place) for place in places]
    assert all(map(torch.equal, found, expected))


def step_by_step(attention: Attention, state: State, x: Tensor) -> Tensor:
    """Self-attention of one more word for each row, with torch between the products."""
    columns = state.look_up(len(x), 1)
    queries, keys, values = attention.project(x)
    keys = attention.split(state.extend("self.keys", attention.kernel.kept(keys)))
    values = attention.split(state.extend("self.values", attention.kernel.kept(values)))
    return attention.mix(queries, keys, values, state.unseen(x.dtype), columns=columns)


@needs_int8
@torch.inference_mode()
@pytest.mark.parametrize("order", ["pre", "post"])
def test_one_call_attends_to_the_past_as_its_steps_do(order: Norm) -> None:
    """It is equal to the bit over many words, while the cache grows, and hypotheses are reordered or leave."""
    attention, residual = ready(Attention(WIDTH, 5)), ready(Residual(WIDTH, order, 0))
    quick, slow = (State({"x": torch.empty(0)}, cached=True) for _ in range(2))
    for word in range(70):
        if word in (5, 40):
            places = torch.tensor([3, 0, 0, 2, 1][: 5 if word == 5 else 3])
            for state in (quick, slow):
                state.reorder(places)
        x = rows(3 if word >= 40 else 4 if word < 5 else 5)
        x *= 10.0 ** (word % 10 - 6)  # so that what is kept is large, small or almost 0
        found = residual(x, over_past("self", attention, quick))
        assert torch.equal(found, residual(x, partial(step_by_step, attention, slow)))
        for state in (quick, slow):
            state.advance(1)


@needs_int8
@torch.inference_mode()
def test_what_is_no_number_stays_none() -> None:
    """Feed-forward layers, gates and attention neither turn a NaN into a number, nor spread it to other rows."""
    x, attention, seen = rows(4), ready(Attention(WIDTH, 5)), torch.ones(4, 1, 1, 1) > 0
    x[2, 0, 7] = float("nan")
    attended = ready(Residual(WIDTH, "pre", 0))(x, attention.over_itself(seen))
    for found in (ready(FeedForward(WIDTH, WIDTH, "relu"))(x), ready(Gate(WIDTH))(rows(4), x), attended):
        assert not found[2].isfinite().any()
        assert found[[0, 1, 3]].isfinite().all()


def test_code_for_another_cpu_is_not_in_int8(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise, Numba would end the process over instructions that such a CPU lacks."""
    monkeypatch.setattr("numba.config.CPU_NAME", "generic")
    assert not supports_int8()
