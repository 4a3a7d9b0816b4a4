"""Run files inherit key by key, and mistakes in them are named."""

from pathlib import Path

import pytest
import yaml

from models.config import ContextWindow, load_config
from models.errors import ConfigError

RUN = {
    "name": "run",
    "languages": {"source": "ja", "target": "en"},
    "data": {"train": {"source": "a.ja", "target": "a.en"}},
    "tokenizer": {"path": "tokenizer"},
    "training": {"updates": 10},
    "output": "runs/run",
}


def write(folder: Path, values: object, name: str = "run.yaml") -> Path:
    """Write a run file."""
    file = folder / name
    file.write_text(yaml.safe_dump(values), encoding="utf-8")
    return file


def test_own_values_win_key_by_key(tmp_path: Path) -> None:
    """A run that inherits changes single keys of a section and keeps the others."""
    write(tmp_path, RUN | {"training": {"updates": 10, "seed": 7}}, "base.yaml")
    child = load_config(write(tmp_path, {"inherit": "base.yaml", "training": {"updates": 20}}))
    assert (child.training.updates, child.training.seed) == (20, 7)


def test_another_architecture_inherits_nothing_of_the_first(tmp_path: Path) -> None:
    """Another kind of architecture starts from its own defaults; the same kind inherits what it does not change."""
    first = {"kind": "doc_transformer", "context_sentences": 5}
    write(tmp_path, RUN | {"architecture": first, "training": {"updates": 10, "step": "joint"}}, "base.yaml")
    same = {"inherit": "base.yaml", "architecture": {"context_layers": 2}}
    assert (
        load_config(write(tmp_path, same)).architecture.model_dump().items()
        >= {
            "context_sentences": 5,
            "context_layers": 2,
        }.items()
    )
    for kind, step in (("sentence", "sentence"), ("layer_weighting", "joint")):
        other = {"inherit": "base.yaml", "architecture": {"kind": kind}, "training": {"step": step}}
        found = load_config(write(tmp_path, other)).architecture
        assert (found.kind, found) == (kind, type(found)())


def test_key_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    """YAML would keep the last one only, and the first one's other values would silently become defaults."""
    file = write(tmp_path, RUN)
    file.write_text(file.read_text(encoding="utf-8") + "training: {updates: 4}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="training occurs twice"):
        load_config(file)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"trainnig": {}}, "trainnig: Extra inputs"),
        ({"name": "team/run"}, "name: String should match"),
        ({"name": "r" * 129}, "name: String should have at most 128 characters"),
        ({"training": {"updates": -1}}, "training.updates"),
        ({"training": {}}, "one of updates and epochs"),
        ({"training": {"updates": 1, "step": "document"}}, "needs init"),
        ({"backbone": {"width": 100, "heads": 8}}, "multiple of heads"),
        ({"backbone": {"embeddings": "shared"}, "tokenizer": {"path": "t", "joint": False}}, "joint vocabulary"),
        ({"architecture": {"kind": "doc_transformer"}}, "does not train architecture"),
        ({"architecture": {"kind": "unknown"}}, "architecture"),
        ({"training": {"updates": 1, "unfreeze": True}}, "unfreeze is for step document"),
        ({"training": {"updates": 1, "backbone_rate": 0.1}}, "backbone_rate is for step document"),
        ({"training": {"updates": 1, "transfer": "all"}}, "transfer all needs init"),
        ({"training": {"updates": 1, "schedule": {"factor": 0.5}}}, "factor is for kind plateau"),
        (
            {"training": {"updates": 9, "schedule": {"kind": "linear", "warmup": 1, "patience": 2}}},
            "patience is for kind",
        ),
        ({"training": {"updates": 1, "deepen": True}}, "deepen needs init"),
        ({"training": {"updates": 1, "step": "joint", "init": "a"}}, "joint trains everything from scratch"),
        ({"training": {"updates": 1, "patience": 3}, "data": {"train": RUN["data"]["train"]}}, "depend on the loss"),
        ({"training": {"updates": 1, "init": "a", "modules": "b"}}, "modules is for step document"),
        ({"training": {"updates": 1, "adam_epsilon": 0}}, "adam_epsilon"),
        ({"training": {"updates": 1, "seed": 2**63}}, "training.seed: Input should be less than"),
        ({"tokenizer": {"path": "t", "vocabulary": 10**13}}, "tokenizer.vocabulary: Input should be less than"),
        ({"languages": {"source": False, "target": "en"}}, "languages.source: .*as booleans"),
        ({"languages": {"source": "ja", "target": "English"}}, "languages.target: .*must be an ISO 639 code"),
        ({"training": {"updates": 9, "schedule": {"kind": "linear", "warmup": 9}}}, "would end within its warmup"),
        ({"training": {"epochs": float("inf")}}, "epochs: Input should be a finite number"),
        ({"training": {"updates": 1, "adam_epsilon": float("inf")}}, "adam_epsilon: Input should be a finite number"),
        (
            {"training": {"updates": 1, "emphasis": {"gains": "g", "strength": float("inf")}}},
            "strength: Input should be a finite number",
        ),
        ({"training": {"updates": 1, "schedule": {"peak": float("inf")}}}, "peak: Input should be a finite number"),
        ({"decoding": {"length_ratio": float("inf")}}, "length_ratio: Input should be a finite number"),
        ({"decoding": {"alpha": float("inf")}}, "alpha: Input should be a finite number"),
        ({"tokenizer": {"path": "t", "character_coverage": 0.9}}, "character_coverage: Input should be greater than"),
        ({"training": {"updates": 1, "deepen": True, "init": "a", "step": "document"}}, "deepen needs unfreeze"),
        ({"training": {"updates": 1, "deepen": True, "init": "a"}, "backbone": {"norm": "post"}}, "norm pre"),
        (
            {
                "training": {"step": "document", "init": "a", "unfreeze": True, "updates": 1}
                | {"deepen": True, "transfer": "all"},
                "architecture": {"kind": "averaged_document"},
            },
            "counts layers from the top",
        ),
        ({"training": {"updates": 1, "context_dropout": 0.7, "context_shuffling": 0.4}}, "their sum must be at most 1"),
        (
            {"training": {"updates": 1, "context_dropout": 0.1}},
            "a window of context sentences, which sentence does not have",
        ),
    ],
)
def test_a_wrong_value_is_named(tmp_path: Path, change: dict[str, object], message: str) -> None:
    """The error names the key and what is wrong with its value."""
    with pytest.raises(ConfigError, match=message):
        load_config(write(tmp_path, RUN | change))


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """A missing file, broken YAML, a list, and a file that inherits from itself are each refused in one sentence."""
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(tmp_path / "missing.yaml")
    for text, line in (("a: [", 1), ("a: 1\nb: 2\na: 3\n", 3)):
        (tmp_path / "broken.yaml").write_text(text, encoding="utf-8")
        with pytest.raises(ConfigError, match=rf"broken.yaml:{line}: is not YAML: .*\Z"):  # and no line more
            load_config(tmp_path / "broken.yaml")
    for text in ("a: 2026-13-45", "[" * 3000):
        (tmp_path / "broken.yaml").write_text(text, encoding="utf-8")
        with pytest.raises(ConfigError, match=r"broken.yaml: cannot be read: .*\Z"):
            load_config(tmp_path / "broken.yaml")
    with pytest.raises(ConfigError, match="must be a mapping"):
        load_config(write(tmp_path, [1]))
    with pytest.raises(ConfigError, match="inherits from itself"):
        load_config(write(tmp_path, {"inherit": "circle.yaml"}, "circle.yaml"))


def test_window_of_fewer_sentences() -> None:
    """The limit applies to each side, so 0 means no context; no side grows, and a limit beyond both is refused."""
    window = ContextWindow(kind="block", size=3, following=3)
    assert window.at_most(None) == window
    assert window.at_most(1) == ContextWindow(kind="block", size=1, following=1)
    with pytest.raises(ConfigError, match="4 sentences of context are more than the 3 that the model reads"):
        window.at_most(4)
    sliding = ContextWindow(size=1, following=2)
    assert sliding.at_most(0) == ContextWindow()
    assert sliding.at_most(2) == sliding
