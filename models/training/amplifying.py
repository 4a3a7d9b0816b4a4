"""Change of a trained model so that contexts have more influence, or less, than it learnt to give them."""

from pathlib import Path

from models.errors import CheckpointError
from models.network.architectures.doc_transformer import DocTransformer
from models.training.checkpoints import load_checkpoint, load_model, save_checkpoint


def amplify_run(folder: Path, out: Path, by: float) -> None:
    """Write a checkpoint of the same run in which the effect of a context is scaled by `by`.

    Raises:
        CheckpointError: the checkpoint is damaged, or is no `doc_transformer` that reads a context; or `out` exists.
    """
    if out.exists():
        raise CheckpointError(f"{out}: already exists")
    checkpoint = load_checkpoint(folder)
    model = load_model(checkpoint)
    if not isinstance(model.architecture, DocTransformer) or model.architecture.context_encoder is None:
        kind = checkpoint.config.architecture.kind
        raise CheckpointError(f"{folder}: only a doc_transformer that reads a context can be amplified, not a {kind}")
    model.architecture.amplify(model.backbone, by)
    state = model.state_dict()
    weights = {name: state[name] for name in checkpoint.weights}
    save_checkpoint(out, checkpoint.config, checkpoint.tokenizer, weights, checkpoint.progress)
