"""Guo and Nguyen 2020 written out for one sentence; BERT itself is that of `transformers`, without padding."""

from pathlib import Path

import torch
from torch import Tensor, nn
from transformers import BertModel

from models.network.architectures.bert_context import BertAttention, BertContext
from models.network.layers import Residual
from models.network.model import TranslationModel
from models.network.transformer import DecoderLayer, EncoderLayer
from tests.models.network.oracles.transformer import (
    Sequence,
    Sublayer,
    attended,
    embed,
    feed_forward,
    keys_and_values,
    linear,
    log_probabilities,
    norm,
    over,
    over_itself,
    over_past,
    residual,
)


def bert_context(
    model: TranslationModel, bert: Path, source: list[int], target: list[int], texts: tuple[str, str, str]
) -> Tensor:
    """Log-probabilities (T, V) after each token of `target`.

    Args:
        model: with the weights.
        bert: folder of BERT, whose vocabulary is letters.
        source: ids, with </s>.
        target: ids, beginning with <s>.
        texts: the text before the sentence, the sentence, and the text after it.
    """
    backbone, architecture = model.backbone, model.architecture
    assert isinstance(architecture, BertContext)
    states = bert_states(bert, *texts) if len(architecture.encoder) + len(architecture.decoder) else []
    memory = embed(backbone, backbone.source_embedding, source)
    for index, layer in enumerate(backbone.encoder):
        assert isinstance(layer, EncoderLayer)
        own = over_itself(layer.self_attention)
        if len(architecture.encoder):
            memory = _mixed(architecture.encoder[index], layer.self_residual, memory, own, states, opens=False)
        else:
            memory = residual(layer.self_residual, memory, own)
        memory = residual(layer.feed_residual, memory, feed_forward(layer.feed_forward))
    memory = [norm(backbone.encoder_norm, x) for x in memory]
    hidden = embed(backbone, backbone.target_embedding, target)
    for index, layer in enumerate(backbone.decoder):
        assert isinstance(layer, DecoderLayer)
        hidden = residual(layer.self_residual, hidden, over_past(layer.self_attention))
        own = over(layer.source_attention, memory)
        if len(architecture.decoder):
            hidden = _mixed(architecture.decoder[index], layer.source_residual, hidden, own, states, opens=True)
        else:
            hidden = residual(layer.source_residual, hidden, own)
        hidden = residual(layer.feed_residual, hidden, feed_forward(layer.feed_forward))
    return log_probabilities(backbone, [norm(backbone.decoder_norm, x) for x in hidden])


def bert_states(folder: Path, before: str, current: str, after: str) -> Sequence:
    """The last states of `[CLS] before [SEP] current [SEP]`, followed by `after [SEP]` if there is any."""
    vocabulary = (folder / "vocab.txt").read_text(encoding="utf-8").splitlines()
    pieces = ["[CLS]", *_letters(before), "[SEP]", *_letters(current), "[SEP]"]
    pieces += [*_letters(after), "[SEP]"] if after else []
    model = BertModel.from_pretrained(folder).eval()
    ids = torch.tensor([[vocabulary.index(piece) for piece in pieces]])
    return list(model(input_ids=ids, token_type_ids=torch.zeros_like(ids)).last_hidden_state[0])


def _letters(text: str) -> list[str]:
    return [f"##{letter}" if at else letter for word in text.split() for at, letter in enumerate(word)]


def _mixed(
    sublayer: nn.Module, connection: Residual, sequence: Sequence, own: Sublayer, states: Sequence, *, opens: bool
) -> Sequence:
    """LN(s + g * own + (1 - g) * bert), where g = sigmoid(W [own; bert] + b); in the decoder bert comes first.

    In a pre-norm backbone, it is s + own + (share of bert) * bert.
    """
    assert isinstance(sublayer, BertAttention)
    queries = [norm(connection.norm, s) for s in sequence] if connection.pre else sequence
    both, mixed = keys_and_values(sublayer.attention, states), []
    for s, first, query in zip(sequence, own(queries), queries, strict=True):
        second = attended(sublayer.attention, query, both)
        if opens:
            gate = 1 / (1 + torch.exp(-linear(sublayer.both, torch.cat([second, first]))))
            share = gate
        else:
            gate = 1 / (1 + torch.exp(-linear(sublayer.both, torch.cat([first, second]))))
            share = 1 - gate
        if connection.pre:
            mixed.append(s + first + share * second)
        else:
            mixed.append(norm(connection.norm, s + (1 - share) * first + share * second))
    return mixed
