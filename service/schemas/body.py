"""The base of all bodies."""

from pydantic import BaseModel, ConfigDict


class Body(BaseModel):
    """Base of the bodies of requests and answers: immutable, and without unknown members."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
