"""What the bodies have in common."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from service.schemas.body import Body
from service.schemas.fields import Text

Id = Annotated[Text, Field(min_length=1, max_length=200)]
Formality = Literal["default", "prefer_more", "prefer_less"]
"""A preference, which no model here takes into account; DeepL's strict values are refused."""


class DeepLRequest(Body):
    """A request in which an empty member counts as missing: Mastodon sends one if it knows no source language."""

    @model_validator(mode="before")
    @classmethod
    def _without_what_is_empty(cls, members: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in members.items() if value is not None and value != ""}
