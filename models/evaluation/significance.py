"""Whether one system chooses the right translation more often than another by more than chance.

Paired bootstrap resampling (Koehn 2004), over documents: the items of a document are about the same people, so they are
not independent of each other. The p-value is two-sided: how often a sample's difference lies as far from the mean of
all samples as the difference that was found lies from nought; sacreBLEU's, of BLEU and chrF, is half of that. Samples
of few documents are much alike: it is at least the chance that all of them differ in one direction, 1 of one document.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from models.data.documents import read_lines
from models.data.whole import write_whole
from models.errors import DataError
from models.evaluation.contrastive import Outcome
from models.evaluation.metrics import Comparison

SAMPLES: Final = 1000
SEED: Final = 12345
"""sacreBLEU's own."""

_OUTCOME: Final = TypeAdapter(Outcome)


def write_outcomes(outcomes: Iterable[Outcome], file: Path) -> None:
    """Write outcomes as JSON, one a line."""
    write_whole(file, (_OUTCOME.dump_json(outcome) + b"\n" for outcome in outcomes))


def read_outcomes(file: Path) -> list[Outcome]:
    """Read what `write_outcomes` wrote.

    Raises:
        DataError: the file is missing, or a line is no outcome.
    """
    return [_outcome(file, number, line) for number, line in enumerate(read_lines(file), 1)]


class Judged(Protocol):
    """An item of a set, or what came of it."""

    @property
    def document(self) -> str:
        """What it is of."""

    @property
    def label(self) -> str:
        """Its class."""


def require_same_items(baseline: Sequence[Judged], system: Sequence[Judged]) -> None:
    """See to it that two systems can be compared, or could be, once one of them has been judged.

    Raises:
        DataError: they are not of the same items.
    """
    items = [[(one.document, one.label) for one in side] for side in (baseline, system)]
    if not items[0] or items[0] != items[1]:
        raise DataError("baseline and system were not judged on the same items")


def compare_outcomes(baseline: Sequence[Outcome], system: Sequence[Outcome]) -> dict[str, Comparison]:
    """Compare the accuracies of two systems on the same items; keys `accuracy` and `macro`.

    Raises:
        DataError: they are not of the same items.
    """
    require_same_items(baseline, system)
    documents = _numbers([one.document for one in baseline])
    labels = _numbers([one.label for one in baseline])
    shape = int(documents.max()) + 1, int(labels.max()) + 1
    total = _table(documents, labels, np.ones(len(documents)), shape)
    rights = [
        _table(documents, labels, np.array([one.right for one in side], float), shape) for side in (baseline, system)
    ]
    drawn = np.random.default_rng(SEED).multinomial(shape[0], np.full(shape[0], 1 / shape[0]), SAMPLES).astype(float)
    whole = np.ones((1, shape[0]))
    return {
        name: _comparison(
            *(measure(sample @ right, sample @ total) for sample in (whole, drawn) for right in rights),
            documents=shape[0],
        )
        for name, measure in (("accuracy", _accuracy), ("macro", _macro))
    }


Values = NDArray[np.float64]


def _comparison(baseline: Values, system: Values, baselines: Values, systems: Values, *, documents: int) -> Comparison:
    found = float(system[0] - baseline[0])
    differences = systems - baselines
    further = np.abs(differences - differences.mean()) >= abs(found)
    bootstrap, signs = (int(further.sum()) + 1) / (len(differences) + 1), 2.0 ** (1 - documents)
    p_value = 1.0 if found == 0 else max(bootstrap, signs)
    return Comparison(float(baseline[0]), float(system[0]), p_value)


def _accuracy(right: Values, total: Values) -> Values:
    """Of all items of each sample, (samples,); `right` and `total` are (samples, classes)."""
    return np.asarray(right.sum(1) / total.sum(1))


def _macro(right: Values, total: Values) -> Values:
    """The mean of the classes that a sample has."""
    shares = np.divide(right, total, out=np.full_like(right, np.nan), where=total > 0)
    return np.asarray(np.nanmean(shares, axis=1))


def _table(documents: NDArray[np.int64], labels: NDArray[np.int64], values: Values, shape: tuple[int, int]) -> Values:
    """The sum of the values of each class in each document."""
    found = np.zeros(shape)
    np.add.at(found, (documents, labels), values)
    return found


def _numbers(names: Sequence[str]) -> NDArray[np.int64]:
    """Names as numbers from 0."""
    return np.unique(names, return_inverse=True)[1].astype(np.int64)


def _outcome(file: Path, number: int, line: bytes) -> Outcome:
    try:
        return _OUTCOME.validate_json(line)
    except ValidationError:
        raise DataError("is not an outcome in the format of contrast", file, number) from None
