"""BERT's tokenization, WordPiece over raw text (Devlin et al. 2019), by the `tokenizers` package.

Does not import torch; the package itself is imported when a tokenizer is read.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from models.data.whole import write_whole
from models.errors import DataError, packages_needed

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TOKENIZER: Final = "tokenizer.json"
VOCABULARY: Final = "vocab.txt"
SETTINGS: Final = "tokenizer_config.json"
CONFIG: Final = "config.json"
"""Config of the encoder, which names the tokenizer's class if `SETTINGS` does not."""
BEGIN: Final = "[CLS]"
SEPARATOR: Final = "[SEP]"
UNKNOWN: Final = "[UNK]"
PADDING: Final = "[PAD]"
MASK: Final = "[MASK]"

_CLASSES: Final = ("BertTokenizer", "BertTokenizerFast")
_BATCH_FOR_THREADS = 1000
_LONGEST_WORD = 1000
"""Maximum characters between spaces or punctuation marks; there are many in languages without spaces."""
_CONTINUED = "##"


class WordPiece:
    """A tokenizer into ids of word pieces; text that looks like a control piece is treated as text."""

    def __init__(self, tokenizer: "Tokenizer") -> None:
        """Take over a tokenizer; truncation, padding and special tokens are left to the caller."""
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True
        self.tokenizer: Final = tokenizer
        self.begin: Final = self._id(BEGIN)
        self.separator: Final = self._id(SEPARATOR)
        self._id(tokenizer.model.unk_token)  # otherwise an unknown character would raise an error

    @classmethod
    def load(cls, folder: Path) -> "WordPiece":
        """Read `tokenizer.json`, or else `vocab.txt` with the settings of `tokenizer_config.json`.

        Raises:
            ConfigError: the package `tokenizers` is not installed.
            DataError: neither exists, or it is damaged or not a WordPiece tokenizer.
        """
        with packages_needed("BERT", "bert"):
            from tokenizers import Tokenizer, models
        settings = _values(folder, SETTINGS)
        named = settings.get("tokenizer_class") or _values(folder, CONFIG).get("tokenizer_class")
        if named not in (None, *_CLASSES):
            raise DataError(f"has a {named}; only BERT's own tokenizer is supported", folder)
        try:
            if (folder / TOKENIZER).is_file():
                tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
            else:
                tokenizer = _from_vocabulary(folder / VOCABULARY, settings)
        except Exception as error:  # noqa: BLE001 - the package raises bare Exceptions
            raise DataError(f"has no {TOKENIZER} or {VOCABULARY} that can be read: {error}", folder) from None
        if not isinstance(tokenizer.model, models.WordPiece):
            raise DataError("has a tokenizer that is not WordPiece", folder)
        return cls(tokenizer)

    @property
    def size(self) -> int:
        """Number of ids: one more than the highest."""
        return 1 + max(self.tokenizer.get_vocab().values())

    @property
    def pieces(self) -> list[str]:
        """The vocabulary in the order of its ids."""
        vocabulary: dict[str, int] = self.tokenizer.get_vocab()
        return sorted(vocabulary, key=vocabulary.__getitem__)

    @property
    def words(self) -> list[int]:
        """The ids of pieces that begin a word, without control pieces."""
        return [
            number
            for number, piece in enumerate(self.pieces)
            if not piece.startswith(_CONTINUED) and not (piece.startswith("[") and piece.endswith("]"))
        ]

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text, without control pieces."""
        if len(texts) < _BATCH_FOR_THREADS:  # starting threads takes longer than a few sentences
            return [self.tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
        found: list[list[int]] = []
        for start in range(0, len(texts), _BATCH_FOR_THREADS):
            piece = list(texts[start : start + _BATCH_FOR_THREADS])
            found.extend(each.ids for each in self.tokenizer.encode_batch_fast(piece, add_special_tokens=False))
        return found

    def save(self, folder: Path) -> None:
        """Write `tokenizer.json`, which contains everything."""
        write_whole(folder / TOKENIZER, [self.tokenizer.to_str(pretty=True).encode()])

    def _id(self, piece: str) -> int:
        number: int | None = self.tokenizer.token_to_id(piece)
        if number is None:
            raise DataError(f"the vocabulary of the BERT has no {piece}")
        return number


def train_wordpiece(texts: Iterable[str], vocabulary: int) -> WordPiece:
    """Train a vocabulary of at most `vocabulary` pieces on raw text, in a language with or without spaces."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.WordPiece(unk_token=UNKNOWN, max_input_chars_per_word=_LONGEST_WORD))
    tokenizer.normalizer = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=False
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    control = [PADDING, UNKNOWN, BEGIN, SEPARATOR, MASK]
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocabulary, limit_alphabet=vocabulary // 2, special_tokens=control, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return WordPiece(tokenizer)


def tokenizer_files(folder: Path) -> list[Path]:
    """Return the files of a folder that `WordPiece.load` reads."""
    named = [TOKENIZER] if (folder / TOKENIZER).is_file() else [VOCABULARY, SETTINGS]
    return [folder / name for name in named if (folder / name).is_file()]


def _values(folder: Path, name: str) -> dict[str, Any]:
    """Read a JSON file of a folder; empty if it does not exist."""
    try:
        values = json.loads((folder / name).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{name} cannot be read: {error}", folder) from None
    return values if isinstance(values, dict) else {}


def _from_vocabulary(file: Path, settings: dict[str, Any]) -> "Tokenizer":
    """Build the tokenizer as transformers' BertTokenizer does."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    # A piece may be a line separator, at which `splitlines` would end a line.
    with file.open(encoding="utf-8") as lines:
        vocabulary = {line.rstrip("\n"): number for number, line in enumerate(lines)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token=UNKNOWN))
    tokenizer.normalizer = normalizers.BertNormalizer(
        clean_text=True,
        handle_chinese_chars=settings.get("tokenize_chinese_chars", True),
        strip_accents=settings.get("strip_accents"),
        lowercase=settings.get("do_lower_case", True),
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer
