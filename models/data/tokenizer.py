"""Conversion of text to token ids and back by SentencePiece models, one for both languages or one for each.

The ids 0 to 3 are the same in every model. Encoding adds no boundary tokens, and no text can produce them:
SentencePiece does not parse control symbols, so `</s>` in a sentence is ordinary characters. If the source model has
the name of a target language as a control symbol, such as `>>jpn<<` at id 4, every source begins with it: this tells a
model of several target languages which one to translate into.
"""

import io
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Final

import sentencepiece

from models.config import TokenizerConfig
from models.data.whole import write_whole
from models.errors import CheckpointError, DataError

PAD: Final = 0
BOS: Final = 1
EOS: Final = 2
UNK: Final = 3
SPECIAL_PIECES: Final = ("<pad>", "<s>", "</s>", "<unk>")
SPACE: Final = "\u2581"
"""What stands for a space in pieces: ▁."""
TARGET_LANGUAGE: Final = re.compile(r">>[^<>]+<<")
"""The piece that tells which of several languages a source is to be translated into."""

JOINT_FILE: Final = "tokenizer.model"
SOURCE_FILE: Final = "tokenizer.source.model"
TARGET_FILE: Final = "tokenizer.target.model"
_FILES: Final = frozenset({JOINT_FILE, SOURCE_FILE, TARGET_FILE})

_SAMPLE = 400_000
"""Sentences that SentencePiece learns from; its suffix array takes some 20 bytes per character."""
_SAMPLE_SEED = 1
_OPTIONS: Final = {
    "vocab_size": "tokenizer.vocabulary",
    "--character_coverage option": "tokenizer.character_coverage",
}
"""Options as named in SentencePiece's messages, and in the config of a run."""
_TRAINER_THREADS = 4  # fixed: sums in unigram training depend on how sentences are divided
_TAKEN_APART: Final = {"\u0e4d\u0e32": "\u0e33", "\u0ecd\u0eb2": "\u0eb3"}
"""Thai and Lao vowels as normalisation decomposes them, and as they are written: no search would find the former."""
_BATCH_FOR_THREADS = 1000
_DAMAGED = "is damaged, or is not a SentencePiece model"


@dataclass(frozen=True)
class Tokenizer:
    """The vocabularies of a language pair; `source` and `target` are one object if joint."""

    source: sentencepiece.SentencePieceProcessor
    target: sentencepiece.SentencePieceProcessor

    @classmethod
    def load(cls, folder: Path) -> "Tokenizer":
        """Read `tokenizer.model`, or `tokenizer.source.model` and `tokenizer.target.model`.

        Raises:
            DataError: there is no model, or one is damaged or has other ids for the special pieces.
        """
        if (folder / JOINT_FILE).exists():
            joint = _load(folder / JOINT_FILE)
            return cls(joint, joint)
        if not (folder / SOURCE_FILE).exists() and not (folder / TARGET_FILE).exists():
            raise DataError("there is no tokenizer model in this folder; train one, or correct the folder", folder)
        return cls(_load(folder / SOURCE_FILE), _load(folder / TARGET_FILE))

    @property
    def joint(self) -> bool:
        """Whether both languages share one vocabulary."""
        return self.source is self.target

    @property
    def source_pieces(self) -> list[str]:
        """The source vocabulary in the order of its ids."""
        return _pieces(self.source)

    @property
    def target_pieces(self) -> list[str]:
        """The target vocabulary in the order of its ids."""
        return _pieces(self.target)

    def encode_source(self, text: str) -> list[int]:
        """Return the ids of a source sentence, without BOS and EOS."""
        return self.encode_sources([text])[0]

    def encode_target(self, text: str) -> list[int]:
        """Return the ids of a target sentence, without BOS and EOS."""
        return self.encode_targets([text])[0]

    def encode_sources(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each source sentence, without BOS and EOS; none for an empty one."""
        return self._led(_encode(self.source, texts))

    def sample_sources(self, texts: Sequence[str], alpha: float, seed: int) -> list[list[int]]:
        """Return the ids of a drawn segmentation of each source sentence, without BOS and EOS; see `sample_targets`."""
        return self._led(_sample_encode(self.source, texts, alpha, seed))

    def _led(self, sources: list[list[int]]) -> list[list[int]]:
        return [self._into + ids if ids else ids for ids in sources] if self._into else sources

    @cached_property
    def _into(self) -> list[int]:
        """Ids that every source begins with: the piece of its target language, if there is one."""
        ids = range(len(SPECIAL_PIECES), min(len(SPECIAL_PIECES) + 1, self.source.get_piece_size()))
        return [i for i in ids if self.source.is_control(i) and TARGET_LANGUAGE.fullmatch(self.source.id_to_piece(i))]

    def encode_targets(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each target sentence, without BOS and EOS."""
        return _encode(self.target, texts)

    def sample_targets(self, texts: Sequence[str], alpha: float, seed: int) -> list[list[int]]:
        """Return the ids of a drawn segmentation of each target sentence, without BOS and EOS.

        Args:
            texts: the sentences.
            alpha: for a unigram model, the power to which the probabilities of all segmentations are raised (Kudo 2018,
                "Subword regularization", section 3.3, of all segmentations rather than the best ones); for BPE, the
                share of merges that are left out (Provilkov et al. 2020, "BPE-dropout").
            seed: a number of 32 bits that determines the draw.
        """
        return _sample_encode(self.target, texts, alpha, seed)

    def decode_target(self, ids: Sequence[int]) -> str:
        """Return the text of target ids, in one line, without PAD, BOS, EOS and incomplete bytes."""
        text: str = self.target.decode(list(ids))
        return " ".join(with_whole_vowels(text).replace("\ufffd", "").splitlines()).strip()

    def files(self) -> dict[str, sentencepiece.SentencePieceProcessor]:
        """Return this tokenizer's models by the names of their files."""
        return {JOINT_FILE: self.source} if self.joint else {SOURCE_FILE: self.source, TARGET_FILE: self.target}

    def save(self, folder: Path) -> None:
        """Write the model files; after a failure, a file is what it was before."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, model in self.files().items():
            write_whole(folder / name, [model.serialized_model_proto()])
        for name in _FILES - self.files().keys():
            (folder / name).unlink(missing_ok=True)  # from an earlier training: `load` must not find it

    def keep(self, folder: Path) -> None:
        """Write the model files, if there are none yet.

        Raises:
            CheckpointError: there is another tokenizer, which a model may have been trained with.
        """
        if not any((folder / name).exists() for name in _FILES):
            self.save(folder)
        files = ((folder / name, model.serialized_model_proto()) for name, model in self.files().items())
        if not all(file.is_file() and file.read_bytes() == content for file, content in files):
            raise CheckpointError(
                f"{folder}: contains another tokenizer; give the run another folder, or remove that tokenizer"
            )


def with_whole_vowels(text: str) -> str:
    """Recompose Thai and Lao vowels that normalisation has decomposed."""
    for apart, vowel in _TAKEN_APART.items():
        text = text.replace(apart, vowel)
    return text


def train_tokenizer(
    config: TokenizerConfig, sources: Iterable[str], targets: Iterable[str], *, sample: int = _SAMPLE
) -> Tokenizer:
    """Learn the vocabularies and write them into `config.path`; the same text gives the same files, byte for byte.

    Text is normalised by `nmt_nfkc`, SentencePiece's default: full-width Latin letters and digits, half-width kana and
    ligatures, which East Asian text mixes freely, get one form each, and white space becomes single spaces. What is
    lost does not matter to a translation, and each form would otherwise need its own pieces.

    Args:
        config: Kind and size of the vocabularies, and where they are written.
        sources: Source sentences; read once.
        targets: Target sentences; read once.
        sample: Maximum number of sentences that each model learns from, drawn evenly from all with a fixed seed.

    Raises:
        CheckpointError: there is another tokenizer already.
        DataError: there is no text, or too little for a vocabulary of this size.
    """
    if config.joint:
        joint = _train(config, chain(sources, targets), sample)
        tokenizer = Tokenizer(joint, joint)
    else:
        tokenizer = Tokenizer(_train(config, sources, sample), _train(config, targets, sample))
    tokenizer.keep(config.path)
    return tokenizer


def _train(config: TokenizerConfig, texts: Iterable[str], sample: int) -> sentencepiece.SentencePieceProcessor:
    sentences = _sample((text for text in texts if text.strip()), sample)
    if not sentences:
        raise DataError("a vocabulary cannot be learnt without any text")
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sentences),
            model_writer=model,
            model_type=config.kind,
            vocab_size=config.vocabulary,
            byte_fallback=config.byte_fallback,
            character_coverage=config.character_coverage,
            normalization_rule_name="nmt_nfkc",
            pad_id=PAD,
            bos_id=BOS,
            eos_id=EOS,
            unk_id=UNK,
            num_threads=_TRAINER_THREADS,
            minloglevel=2,
        )
    except (RuntimeError, OSError) as error:
        reason = str(error).rpartition("] ")[2] or str(error)
        for theirs, ours in _OPTIONS.items():
            reason = reason.replace(theirs, ours)
        raise DataError(
            f"no {config.kind} vocabulary of {config.vocabulary} pieces can be learnt from this text: {reason}"
        ) from None
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def _sample(texts: Iterable[str], size: int) -> list[str]:
    """Draw evenly from a stream of unknown length (Vitter 1985, algorithm R).

    SentencePiece samples too, but differently in every process, whatever its seed.
    """
    chooser = random.Random(_SAMPLE_SEED)  # noqa: S311
    kept: list[str] = []
    for seen, text in enumerate(texts):
        if seen < size:
            kept.append(text)
        elif (place := chooser.randrange(seen + 1)) < size:
            kept[place] = text
    return kept


def _load(path: Path) -> sentencepiece.SentencePieceProcessor:
    try:
        model = sentencepiece.SentencePieceProcessor(model_proto=path.read_bytes())
        _pieces(model)  # SentencePiece itself accepts pieces that are not UTF-8
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", path) from None
    except (RuntimeError, UnicodeDecodeError):
        raise DataError(_DAMAGED, path) from None
    if not model.get_piece_size():  # an empty file parses as a model with nothing in it
        raise DataError(_DAMAGED, path)
    special = (model.pad_id(), model.bos_id(), model.eos_id(), model.unk_id())
    if special != (PAD, BOS, EOS, UNK):
        raise DataError(f"has ids {special} for padding, begin, end and unknown; they must be 0 to 3", path)
    return model


def _pieces(model: sentencepiece.SentencePieceProcessor) -> list[str]:
    return [model.id_to_piece(i) for i in range(model.get_piece_size())]


def _encode(model: sentencepiece.SentencePieceProcessor, texts: Sequence[str]) -> list[list[int]]:
    if len(texts) < _BATCH_FOR_THREADS:  # a list always starts threads, which takes longer than a few texts
        return [model.encode(text, out_type=int) for text in texts]
    ids: list[list[int]] = model.encode(list(texts), out_type=int, num_threads=-1)
    return ids


def _sample_encode(
    model: sentencepiece.SentencePieceProcessor, texts: Sequence[str], alpha: float, seed: int
) -> list[list[int]]:
    # Each thread has a generator, which reads the seed when it is first used: a list is encoded by a thread of its own.
    sentencepiece.set_random_generator_seed(seed)
    ids: list[list[int]] = model.encode(
        list(texts), out_type=int, num_threads=1, enable_sampling=True, nbest_size=-1, alpha=alpha
    )
    return ids
