"""Compiles the kernels that tests call, so that the parallel test processes do not each compile them."""

from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from models.config import AveragedDocumentConfig, DocTransformerConfig, GlobalLocalConfig
from models.engine.runtime import Runtime
from models.engine.self_test import self_test
from tests.support.bundles import make_bundle
from tests.support.servers import ROOT

ARCHITECTURES = AveragedDocumentConfig(), DocTransformerConfig(), GlobalLocalConfig()
"""Between them, they call the kernels that the shipped model does not."""


def main() -> None:
    """Run the self-test of the shipped model, and export an int8 bundle of each of `ARCHITECTURES`."""
    torch.set_num_threads(1)
    self_test(Runtime.load(ROOT / "models" / "pretrained" / "ja-en"))
    with TemporaryDirectory() as folder:
        for architecture in ARCHITECTURES:
            make_bundle(Path(folder) / architecture.kind, architecture)


if __name__ == "__main__":
    main()
