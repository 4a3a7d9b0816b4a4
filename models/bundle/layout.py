"""Which tensors of a CTranslate2 model correspond to which of a backbone, for writing and reading them."""

from models.config import BackboneConfig

Layout = dict[str, tuple[str, ...]]
"""By a tensor's name in CTranslate2, the names of the `Transformer`'s tensors whose rows it is made of, in order."""


def layout_of(config: BackboneConfig) -> Layout:
    """Map all tensors of a backbone but its positions, which are not trained; a tied tensor has several names."""
    target = "target_embedding.weight"
    layout: Layout = {
        "encoder/embeddings_0/weight": (target if config.embeddings == "shared" else "source_embedding.weight",),
        "decoder/embeddings/weight": (target,),
        "decoder/projection/weight": ("output.weight" if config.embeddings == "separate" else target,),
    }
    if config.output_bias:
        layout["decoder/projection/bias"] = ("output.bias",)
    for side, depth in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        if config.norm == "pre":  # a post-norm stack has no final norm
            layout |= _norm(f"{side}/layer_norm", f"{side}_norm")
        for index in range(depth):
            layer, ours = f"{side}/layer_{index}", f"{side}.{index}"
            layout |= _self_attention(f"{layer}/self_attention", ours)
            layout |= _source_attention(f"{layer}/attention", ours) if side == "decoder" else {}
            layout |= _feed_forward(f"{layer}/ffn", ours)
    return layout


def _self_attention(name: str, layer: str) -> Layout:
    attention = f"{layer}.self_attention"
    return {
        **_norm(f"{name}/layer_norm", f"{layer}.self_residual.norm"),
        **_linear(f"{name}/linear_0", f"{attention}.query", f"{attention}.key_value"),
        **_linear(f"{name}/linear_1", f"{attention}.output"),
    }


def _source_attention(name: str, layer: str) -> Layout:
    linears = (f"{layer}.source_attention.{part}" for part in ("query", "key_value", "output"))
    layout = _norm(f"{name}/layer_norm", f"{layer}.source_residual.norm")
    for index, linear in enumerate(linears):
        layout |= _linear(f"{name}/linear_{index}", linear)
    return layout


def _feed_forward(name: str, layer: str) -> Layout:
    return {
        **_norm(f"{name}/layer_norm", f"{layer}.feed_residual.norm"),
        **_linear(f"{name}/linear_0", f"{layer}.feed_forward.inner"),
        **_linear(f"{name}/linear_1", f"{layer}.feed_forward.outer"),
    }


def _linear(name: str, *linears: str) -> Layout:
    """Join linear layers with the same input into one, whose output is theirs one after the other."""
    return {f"{name}/{part}": tuple(f"{linear}.{part}" for linear in linears) for part in ("weight", "bias")}


def _norm(name: str, norm: str) -> Layout:
    return {f"{name}/gamma": (f"{norm}.weight",), f"{name}/beta": (f"{norm}.bias",)}
