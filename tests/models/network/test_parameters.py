"""Parameter counts are those of the papers."""

from models.config import BackboneConfig, DocTransformerConfig, SentenceConfig
from models.network.model import TranslationModel
from models.network.parameters import count_parameters


def test_sentence_model_has_the_published_size() -> None:
    """Transformer-base with a shared vocabulary of 37,000 has 63 million parameters, as in Vaswani et al. 2017."""
    parts = count_parameters(TranslationModel(BackboneConfig(), SentenceConfig(), 37_000, 37_000))
    assert round(sum(part.frozen for part in parts) / 1e6) == 63
    assert not any(part.trained for part in parts)


def test_each_context_attention_has_four_projections_a_gate_and_a_norm() -> None:
    """A gated context attention adds 6 d^2 weights: four projections and the two matrices of the gate."""
    backbone = BackboneConfig(width=512, encoder_layers=6, decoder_layers=6)
    parts = count_parameters(TranslationModel(backbone, DocTransformerConfig(), 100, 100))
    by_name = {part.name: part for part in parts}
    biases_and_norm = 4 * 512 + 2 * 512
    assert by_name["architecture.encoder"].trained == 6 * (6 * 512**2 + biases_and_norm)
    assert by_name["architecture.decoder"].trained == by_name["architecture.encoder"].trained
    assert all(part.trained == 0 for name, part in by_name.items() if name.startswith("backbone."))


def test_a_run_that_unfreezes_leaves_nothing_as_it_is() -> None:
    """In step three, backbone and context modules are all trained."""
    model = TranslationModel(BackboneConfig(), DocTransformerConfig(), 100, 100)
    parts = count_parameters(model, unfreeze=True)
    assert sum(part.trained for part in parts) == sum(parameter.numel() for parameter in model.parameters())
    assert not any(part.frozen for part in parts)
