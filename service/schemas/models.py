"""The loaded models: `/v1/models`."""

from typing import Annotated, Literal

from pydantic import Field

from service.schemas.body import Body

BundleName = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*$", max_length=128, description="Name of a folder in the bundle root."),
]
ModelState = Literal["serving", "no_worker"]


class ModelRequest(Body):
    """A bundle to load."""

    bundle: BundleName


class ModelInfo(Body):
    """A model that is loaded at the answering replica."""

    name: str
    source_lang: str
    target_lang: str
    window: int
    """How many preceding sentences the model reads."""
    reads_target_context: bool
    """Whether it also reads the translations of those sentences."""
    serves_sessions: bool
    """Whether it can translate sessions. If not, it translates only whole documents."""
    licence: str
    attribution: str
    """Who must be credited under the licence."""
    fingerprint: str
    """Identifies the bundle, even among bundles of the same name."""
    unsure_below: float | None
    """Nine in ten translations of the texts it was checked on have a `score` above this. One below it is less likely to
    be right. Null if that is unknown."""
    default: bool
    """Whether it serves its language pair if a request names no model."""
    state: ModelState
    """`no_worker` while all of its processes are being restarted."""


class ModelToLoad(Body):
    """A model that all replicas should serve, but that the answering replica could not load. It keeps trying."""

    name: str
    """`antecedent:models` stands for all of them: the record in Redis that lists them cannot be read."""
    code: str
    """The code of the error; the log has the details."""


class ModelList(Body):
    """All models of the answering replica."""

    models: list[ModelInfo]
    not_loaded: list[ModelToLoad]
    """Older bundles of the same names may be served in their place."""
