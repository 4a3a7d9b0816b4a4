"""Compiles the kernels that tests call, before there are several processes of which each would do it for itself."""

from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from models.config import AveragedDocumentConfig, DocTransformerConfig, GlobalLocalConfig
from models.engine.runtime import Runtime
from models.engine.self_test import self_test
from tests.support.bundles import make_bundle
from tests.support.servers import ROOT

ARCHITECTURES = AveragedDocumentConfig(), DocTransformerConfig(), GlobalLocalConfig()
"""What the shipped model does not call, these do."""


def main() -> None:
    """Test the shipped model, and export one of each of these, in int8."""
    torch.set_num_threads(1)
    self_test(Runtime.load(ROOT / "models" / "pretrained" / "ja-en"))
    with TemporaryDirectory() as folder:
        for architecture in ARCHITECTURES:
            make_bundle(Path(folder) / architecture.kind, architecture)


if __name__ == "__main__":
    main()
