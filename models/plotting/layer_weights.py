"""The learned mixtures of layers from which a context is read (Xu et al. 2021, table 5)."""

from models.engine.runtime import Runtime
from models.errors import PictureError
from models.plotting.passage import name_of, network_of


def layer_weights(runtime: Runtime) -> dict[str, list[float]]:
    """Return, for each mixture, the shares of the embeddings and of each layer's output; they sum to 1.

    Raises:
        PictureError: the model mixes no layers.
    """
    mixtures = network_of(runtime).architecture.layer_weights()
    if not mixtures:
        raise PictureError(f"{name_of(runtime)} has no learned weights of layers to draw")
    return {side: shares.tolist() for side, shares in mixtures.items()}
