"""Tiny random models, and a document to draw them on."""

from collections.abc import Callable
from pathlib import Path

import pytest

from models.config import ArchitectureConfig
from models.data.documents import Document
from models.engine.runtime import Runtime
from tests.support.bundles import documents, make_checkpoint

OpenModel = Callable[..., Runtime]


@pytest.fixture(scope="session")
def document() -> Document:
    """Five sentences with translations."""
    return documents(1)[0]


@pytest.fixture
def open_model(tmp_path: Path) -> OpenModel:
    """Open a random checkpoint of an architecture."""

    def open_new(architecture: ArchitectureConfig, **backbone: object) -> Runtime:
        return Runtime.open(make_checkpoint(tmp_path / "checkpoint", architecture, max_length=96, **backbone))

    return open_new
