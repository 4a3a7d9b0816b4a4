"""The manifest of a bundle: what its model is, what it was trained on, and the checksum of each of its files.

Reading it is cheap and does not import torch, so that a process without a model can tell what a bundle offers.
"""

import hashlib
import json
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field, FiniteFloat, StringConstraints, ValidationError

from models.config import (
    ArchitectureConfig,
    BackboneConfig,
    ContextWindow,
    DecodingConfig,
    Frozen,
    Languages,
    ModelName,
    Provenance,
)
from models.data.checksums import sha256
from models.errors import BundleError

FORMAT_VERSION: Final = 1
MANIFEST: Final = "manifest.json"
WEIGHTS: Final = "model.safetensors"
"""File with the weights that are in neither of the next two folders."""
BACKBONE: Final = "backbone"
"""Folder of the sentence model in CTranslate2's format: the model's own backbone, or another one."""
JOINED: Final = "joined"
"""Folder of a model whose context is part of its source, in CTranslate2's format, if the sentence model differs."""

BERT: Final = "bert"
"""Folder of a BERT that the model reads: its config, its vocabulary, and its weights, stored like the model's."""

Quantization = Literal["float32", "float16", "int8"]


def _inside(name: str) -> str:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or str(path) != name:
        raise ValueError(f"{name!r} is not the path of a file inside the bundle")
    return name


FileName = Annotated[str, AfterValidator(_inside)]
Sha256 = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]


class Vocabulary(Frozen):
    """Number of pieces of each language; `joint` if both share them."""

    source: int = Field(ge=4)
    target: int = Field(ge=4)
    joint: bool


class Limits(Frozen):
    """How long a source sentence may be, in tokens without the end of sentence."""

    split_tokens: int = Field(ge=1)
    """A longer sentence is translated clause by clause, since training saw none longer."""
    source_tokens: int = Field(ge=1)
    """A longer clause is split between words, or else anywhere, since the model has no positions for it."""


class Manifest(Frozen):
    """The contents of `manifest.json`."""

    format_version: Literal[1] = FORMAT_VERSION
    name: ModelName
    languages: Languages
    backbone: BackboneConfig
    architecture: ArchitectureConfig
    vocabulary: Vocabulary
    window: ContextWindow
    no_context: Literal["module", "backbone"]
    """What translates a sentence without context: the context module on its null input, or the backbone alone."""
    reads_target_context: bool
    """Whether the translations of the preceding sentences are read too."""
    serves_sessions: bool = True
    """Whether a document may grow; it may not if the model was trained to read following sentences."""
    decoding: DecodingConfig
    limits: Limits
    quantization: Quantization
    """The type of the stored weights, both the backbone's and the model's."""
    provenance: Provenance
    scores: dict[str, FiniteFloat]
    """Figures on test sets, by descriptive name."""
    unsure_below: FiniteFloat | None = None
    """A tenth of the translations of a development set have scores below this; None if that is unknown."""
    files: dict[FileName, Sha256]

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the manifest, including the checksums of all files; unique to a bundle.

        Fields with their default value are left out, so that a later release with more fields computes the same.
        """
        said = self.model_dump(mode="json", exclude_defaults=True)
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()

    @property
    def has_backbone(self) -> bool:
        """Whether there is a sentence model, which translates without context."""
        return self._has(BACKBONE)

    @property
    def own_backbone(self) -> str:
        """Folder with the model's own backbone in CTranslate2's format, if it is in any."""
        return JOINED if self._has(JOINED) else BACKBONE

    @property
    def licence(self) -> str:
        """The model's licence."""
        return self.provenance.licence

    @property
    def attribution(self) -> str:
        """Whom the licence requires to be named."""
        return self.provenance.attribution

    @classmethod
    def load(cls, folder: Path) -> "Manifest":
        """Read and check the manifest of a bundle; `verify` checks the other files.

        Raises:
            BundleError: there is none, it is malformed, or it has a format that this release does not know.
        """
        values = _read(folder)
        version = values.get("format_version")
        if version != FORMAT_VERSION:
            raise BundleError(
                f"{folder}: has bundle format {version!r}, but this release reads format {FORMAT_VERSION} only;"
                " use the release that it was exported with, or export it again"
            )
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise BundleError(f"{folder}: {MANIFEST} is malformed: {where}: {first['msg']}") from None

    def _has(self, folder: str) -> bool:
        return any(name.startswith(f"{folder}/") for name in self.files)

    def save(self, folder: Path) -> None:
        """Write the manifest into a bundle's folder."""
        values = self.model_dump(mode="json")
        (folder / MANIFEST).write_text(json.dumps(values, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    def verify(self, folder: Path) -> None:
        """Check that the files of a bundle are those that it was exported with.

        Raises:
            BundleError: a file is missing, has other content, or exists although the manifest does not name it.
        """
        if unknown := _read_by_runtime(folder) - self.files.keys():
            raise BundleError(
                f"{folder}: {min(unknown)} is not part of the bundle; remove it, or copy the bundle again"
            )
        for name, checksum in self.files.items():
            try:
                found = sha256(folder / name)
            except OSError as error:
                raise BundleError(f"{folder}: {name} cannot be read: {error.strerror}; copy the bundle again") from None
            if found != checksum:
                raise BundleError(f"{folder}: {name} is damaged: its checksum does not match; copy the bundle again")


def _what_it_is(folder: Path) -> str:
    if not folder.exists():
        return "there is no such folder"
    final = folder / "final"
    return f"it has no {MANIFEST}" + (f"; did you mean {final}?" if final.is_dir() else "")


def _read(folder: Path) -> dict[str, Any]:
    try:
        values = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise BundleError(f"{folder}: is not a bundle: {_what_it_is(folder)}") from None
    except OSError as error:
        raise BundleError(f"{folder}: {MANIFEST} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{folder}: {MANIFEST} is not JSON: {error}") from None
    if not isinstance(values, dict):
        raise BundleError(f"{folder}: {MANIFEST} is not a mapping of keys to values")
    return values


def _read_by_runtime(folder: Path) -> set[str]:
    """Return the files that loading would read; others in the folder, such as a note or a licence, do no harm."""
    patterns = ("*.model", "*.safetensors", f"{BACKBONE}/**/*", f"{JOINED}/**/*", f"{BERT}/**/*")
    found = (path for pattern in patterns for path in folder.glob(pattern))
    return {path.relative_to(folder).as_posix() for path in found if path.is_file()}
