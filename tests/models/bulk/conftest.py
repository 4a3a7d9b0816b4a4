"""A tiny bundle, and a corpus for it."""

from pathlib import Path

import pytest

from tests.support.bulk import Corpus, make_corpus
from tests.support.bundles import make_bundle, narrowed


@pytest.fixture(scope="session")
def bulk_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny bundle in float32."""
    return make_bundle(tmp_path_factory.mktemp("bulk") / "tiny", quantization="float32")


@pytest.fixture(scope="session")
def narrow_bundle(bulk_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same bundle with room for only a few tokens."""
    return narrowed(bulk_bundle, tmp_path_factory.mktemp("narrow") / "tiny")


@pytest.fixture(scope="session")
def bulk_corpus(bulk_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Eighty documents."""
    return make_corpus(tmp_path_factory.mktemp("corpus") / "corpus.ja", bulk_bundle, 80)
