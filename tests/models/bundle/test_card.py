"""Every bundle has a model card, which says in words what the manifest says."""

from pathlib import Path

import pytest

from models.bundle.card import CARD, model_card
from models.bundle.manifest import Manifest
from models.config import ContextWindow, Provenance
from tests.support.bundles import make_bundle

PRETRAINED = Path(__file__).parents[3] / "models" / "pretrained"
SHIPPED = PRETRAINED / "ja-en"

each_shipped = pytest.mark.parametrize("bundle", sorted(PRETRAINED.iterdir()), ids=lambda bundle: bundle.name)


@each_shipped
def test_shipped_card_is_what_its_manifest_says(bundle: Path) -> None:
    """The card is generated, so nobody has to keep the two consistent by hand."""
    assert (bundle / CARD).read_text(encoding="utf-8") == model_card(Manifest.load(bundle))


@each_shipped
def test_shipped_card_tells_what_a_user_must_know(bundle: Path) -> None:
    """Intended use, data, licence, scores and limits are all stated, and none as unknown."""
    card = (bundle / CARD).read_text(encoding="utf-8")
    for section in ("Intended use", "Training data", "Licence", "Scores", "Limits"):
        assert f"## {section}\n" in card
    assert "do not say" not in card
    assert "NICT does not endorse" in card
    assert f"| reads | up to {Manifest.load(bundle).window.size} preceding sentences |" in card


def test_export_writes_a_card(tmp_path: Path) -> None:
    """It is not among the files that the manifest lists, and the bundle still passes verification."""
    bundle = make_bundle(tmp_path / "tiny")
    manifest = Manifest.load(bundle)
    assert (bundle / CARD).read_text(encoding="utf-8") == model_card(manifest)
    assert CARD not in manifest.files
    manifest.verify(bundle)


def test_what_the_makers_do_not_say_is_said_to_be_unknown() -> None:
    """A card never looks as if there were no limits or no licence to heed."""
    shipped = Manifest.load(SHIPPED)
    card = model_card(shipped.model_copy(update={"provenance": Provenance(), "scores": {}}))
    assert card.count("Its makers do not say.") == 3
    assert "None were measured." in card
    assert "more than 511 is divided between words" in card


def test_a_card_says_what_is_read() -> None:
    """Cards tell of sentences before and after, their translations, and blocks, or of the sentence alone."""
    window = ContextWindow(kind="block", size=19, following=19)
    changes = {"window": window, "reads_target_context": True, "serves_sessions": False}
    card = model_card(Manifest.load(SHIPPED).model_copy(update=changes))
    said = "up to 19 preceding sentences and their translations, up to 19 following ones, inside blocks of the document"
    assert f"| reads | {said} |\n| serves | documents |" in card
    alone = model_card(Manifest.load(SHIPPED).model_copy(update={"window": ContextWindow()}))
    assert "| reads | the sentence alone |" in alone
