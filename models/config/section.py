"""What all sections of a run file have in common."""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A config section: immutable, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")
