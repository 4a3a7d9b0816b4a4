"""Whether one system chooses the right translation significantly more often than another.

Paired bootstrap resampling (Koehn 2004), over documents: the items of a document are about the same people, so they are
not independent of each other. The p-value is two-sided: how often a sample's difference is as far from the mean of all
samples as the observed difference is from zero; sacreBLEU's, for BLEU and chrF, is half of that. Since samples of few
documents hardly differ, it is at least the chance that all documents differ in one direction: 1 for one document.
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
"""The same as sacreBLEU's."""

_OUTCOME: Final = TypeAdapter(Outcome)


def write_outcomes(outcomes: Iterable[Outcome], file: Path) -> None:
    """Write outcomes as JSON lines."""
    write_whole(file, (_OUTCOME.dump_json(outcome) + b"\n" for outcome in outcomes))


def read_outcomes(file: Path) -> list[Outcome]:
    """Read what `write_outcomes` wrote.

    Raises:
        DataError: the file is missing, or a line is not an outcome.
    """
    return [_outcome(file, number, line) for number, line in enumerate(read_lines(file), 1)]


class Judged(Protocol):
    """An item of a set, or its outcome."""

    @property
    def document(self) -> str:
        """The document that it is from."""

    @property
    def label(self) -> str:
        """Its class."""


def require_same_items(baseline: Sequence[Judged], system: Sequence[Judged]) -> None:
    """Check that both sides are for the same items; either may be outcomes, or items that are yet to be judged.

    Raises:
        DataError: they are not for the same items, or there are none.
    """
    items = [[(one.document, one.label) for one in side] for side in (baseline, system)]
    if not items[0] or items[0] != items[1]:
        raise DataError("baseline and system were not judged on the same items")


def compare_outcomes(baseline: Sequence[Outcome], system: Sequence[Outcome]) -> dict[str, Comparison]:
    """Compare the accuracies of two systems on the same items; keys `accuracy` and `macro`.

    Raises:
        DataError: they are not for the same items.
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
    """Return the accuracy over all items of each sample, (samples,); `right` and `total` are (samples, classes)."""
    return np.asarray(right.sum(1) / total.sum(1))


def _macro(right: Values, total: Values) -> Values:
    """Return the mean accuracy of the classes that occur in each sample."""
    shares = np.divide(right, total, out=np.full_like(right, np.nan), where=total > 0)
    return np.asarray(np.nanmean(shares, axis=1))


def _table(documents: NDArray[np.int64], labels: NDArray[np.int64], values: Values, shape: tuple[int, int]) -> Values:
    """Sum the values of each class in each document."""
    found = np.zeros(shape)
    np.add.at(found, (documents, labels), values)
    return found


def _numbers(names: Sequence[str]) -> NDArray[np.int64]:
    """Number the names from 0."""
    return np.unique(names, return_inverse=True)[1].astype(np.int64)


def _outcome(file: Path, number: int, line: bytes) -> Outcome:
    try:
        return _OUTCOME.validate_json(line)
    except ValidationError:
        raise DataError("is not an outcome in the format of contrast", file, number) from None
