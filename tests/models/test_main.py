"""The command line gives figures, files, an exit status and, if something is wrong, one clear line."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from models.bundle.manifest import Manifest
from models.commands.comparison import _digest
from models.config import SentenceConfig, load_config
from models.evaluation.contrastive import Outcome
from models.evaluation.significance import write_outcomes
from models.training.checkpoints import load_checkpoint
from tests.support.bundles import UNFIT, documents, make_bundle, make_checkpoint, narrowed
from tests.support.command_line import run, run_alone
from tests.support.servers import ROOT


def figures(file: Path) -> Any:
    """What a command wrote with --json."""
    return json.loads(file.read_text(encoding="utf-8"))


def contrastive_set(folder: Path, **members: str) -> Path:
    """A file with one contrastive item, which `members` may change."""
    item = {"document": "d", "position": 1, "pronoun": "he", "context_source": ["から。"], "context_target": ["a"]}
    item |= {"source": "きく。", "target": "kio", "contrastive": ["oik"]}
    file = folder / "set"
    file.write_text(json.dumps(item | members) + "\n", encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny bundle in float32."""
    return make_bundle(tmp_path_factory.mktemp("bundle") / "tiny", quantization="float32")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Three documents and their translations."""
    folder = tmp_path_factory.mktemp("corpus")
    for side in ("source", "target"):
        text = "\n".join("".join(f"{getattr(s, side)}\n" for s in document.sentences) for document in documents(3))
        (folder / side).write_text(text, encoding="utf-8")
    return folder / "source", folder / "target"


def test_evaluate_writes_its_figures(bundle: Path, corpus: tuple[Path, Path], tmp_path: Path) -> None:
    """`evaluate` gives BLEU, chrF, document BLEU, signature, speed and loss, which depends on the context."""
    loss = {}
    for context in ("real", "empty", "none"):
        file = tmp_path / f"{context}.json"
        options = ("--source", corpus[0], "--reference", corpus[1], "--context", context, "--beam", "1")
        done = run("evaluate", bundle, *options, "--json", file, "--out", tmp_path / "out")
        assert done.returncode == 0, done.stderr
        found = figures(file)
        assert {"bleu", "chrf", "document_bleu", "signature", "tokens_per_second", "loss"} <= found.keys()
        loss[context] = found["loss"]
        assert (found["model"], found["context_sentences"]) == ("tiny", 2 if context == "real" else 0)
        own = Manifest.load(bundle).decoding
        assert (found["beam_size"], found["alpha"], found["patience"]) == (1, own.alpha, own.patience)
    assert len(set(loss.values())) == 3
    again = run("evaluate", bundle, *options[:4], "--beam", "1", "--baseline", tmp_path / "out", "--json", file)
    assert again.returncode == 0, again.stderr
    assert set(figures(file)["compared"]) == {"bleu", "chrf"}
    (tmp_path / "other").write_text("one\n", encoding="utf-8")
    refused = run("evaluate", bundle, *options[:4], "--baseline", tmp_path / "other", "--out", tmp_path / "not")
    assert (refused.returncode, (tmp_path / "not").exists()) == (2, False)
    assert "has 1 lines, but there are 15 references" in refused.stderr
    (tmp_path / "other").write_bytes("é\n".encode("latin-1"))
    refused = run("evaluate", bundle, *options[:4], "--baseline", tmp_path / "other", "--out", tmp_path / "not")
    assert (refused.returncode, refused.stderr.count("\n"), (tmp_path / "not").exists()) == (2, 1, False)
    assert f"{tmp_path / 'other'}:1: is not valid UTF-8" in refused.stderr
    itself = tmp_path / "other"
    itself.write_text("nothing alike\n" * len((tmp_path / "out").read_text("utf-8").splitlines()), encoding="utf-8")
    both = ("--baseline", itself, "--out", itself, "--json", file)
    done = run("evaluate", bundle, *options[:4], "--beam", "1", *both)
    assert done.returncode == 0, done.stderr
    assert figures(file)["compared"]["chrf"]["baseline"] < figures(file)["compared"]["chrf"]["system"]
    texts = []
    for search in (("--alpha", "0"), ("--alpha", "4"), ("--alpha", "4", "--patience", "3")):
        done = run("evaluate", bundle, *options[:4], "--beam", "4", *search, "--out", tmp_path / "out")
        assert done.returncode == 0, done.stderr
        texts.append((tmp_path / "out").read_text(encoding="utf-8"))
    assert len(texts[0]) < len(texts[1]) != len(texts[2])


def test_evaluate_reads_a_pipe(bundle: Path, corpus: tuple[Path, Path], tmp_path: Path) -> None:
    """A pipe is read only once; a sentence that cannot be translated is still named by its line.

    Reading a second time from a named pipe, as `mkfifo` makes it, would wait for ever.
    """
    sources = corpus[0].read_text(encoding="utf-8").splitlines(keepends=True)
    unfit = "".join([f"{UNFIT}\n", *sources[1:]])
    for model, text, status in (bundle, "".join(sources), 0), (narrowed(bundle, tmp_path / "narrow"), unfit, 2):
        reading, writing = os.pipe()
        with os.fdopen(writing, "w", encoding="utf-8") as stream:
            stream.write(text)
        pipe = f"/dev/fd/{reading}"
        done = run("evaluate", model, "--source", pipe, "--reference", corpus[1], "--beam", "1")
        os.close(reading)
        assert done.returncode == status, done.stderr
        assert (f"{pipe}:1: cannot be translated" in done.stderr) is (status != 0)


def test_contrast_writes_accuracies(bundle: Path, tmp_path: Path) -> None:
    """`contrast` gives accuracies between 0 and 1, over all sets together."""
    file, out = contrastive_set(tmp_path), tmp_path / "outcomes"
    sets = ("--set", file, "--set", file)
    done = run("contrast", bundle, *sets, "--json", tmp_path / "json", "--out", out)
    assert done.returncode == 0, done.stderr
    found = figures(tmp_path / "json")
    assert found["items"] == 2
    assert found["accuracy"] in (0.0, 1.0)
    assert found["by_class"] == {"he": found["macro"]}
    done = run("contrast", bundle, *sets, "--context", "none", "--json", tmp_path / "json", "--baseline", out)
    assert done.returncode == 0, done.stderr
    again = figures(tmp_path / "json")
    assert again["compared"]["accuracy"]["baseline"] == found["accuracy"]
    assert again["compared"]["accuracy"]["system"] == again["accuracy"]
    assert (found["model"], found["context"], found["context_sentences"]) == ("tiny", "real", 2)
    done = run("contrast", bundle, *sets, "--own", "--json", tmp_path / "json")
    assert done.returncode == 0, done.stderr
    assert figures(tmp_path / "json") == found | {"own": True}, "of a model that reads no translations"
    done = run("table", tmp_path / "json")
    assert done.returncode == 2
    assert "is from contrast --own" in done.stderr
    done = run("contrast", bundle, *sets, "--own", "--rule", "group")
    assert done.returncode == 2
    assert "--own needs --rule last" in done.stderr
    contrastive_set(tmp_path, document="other", source="きく。" * 1000)  # too long, but that would be found later
    done = run("contrast", bundle, *sets, "--baseline", out)
    assert done.returncode == 2
    assert "not judged on the same items" in done.stderr


def test_cxmi_writes_what_each_sentence_gains(bundle: Path, corpus: tuple[Path, Path], tmp_path: Path) -> None:
    """`cxmi` gives a number for each line; the first of each document, which has no context, gains nothing."""
    out, json_file = tmp_path / "new" / "gains", tmp_path / "deep" / "down" / "json"
    both = ("--source", corpus[0], "--reference", corpus[1])
    done = run_alone("cxmi", bundle, *both, "--out", out, "--json", json_file)
    assert done.returncode == 0, done.stderr
    blocks = [block.splitlines() for block in out.read_text(encoding="utf-8").strip().split("\n\n")]
    assert [len(block) for block in blocks] == [len(document.sentences) for document in documents(3)]
    assert all(float(block[0]) == pytest.approx(0, abs=1e-4) for block in blocks)
    values = [float(line) for block in blocks for line in block]
    found = figures(json_file)
    assert found["sentences"] == len(values)
    assert found["cxmi"] == pytest.approx(sum(values) / len(values), abs=1e-4)
    assert any(abs(value) > 0.01 for value in values)


def test_cxmi_wants_context(bundle: Path, corpus: tuple[Path, Path], tmp_path: Path) -> None:
    """With a model that reads none, or is told to read none, every gain would be 0, yet look like a measurement."""
    sentence = make_checkpoint(tmp_path / "sentence", SentenceConfig())
    for model, options in ((sentence, ()), (bundle, ("--sentences", 0))):
        done = run("cxmi", model, "--source", corpus[0], "--reference", corpus[1], *options)
        assert done.returncode == 2
        assert f"{model}: there is no context whose effect could be measured" in done.stderr


def test_cxmi_leaves_out_what_training_leaves_out(bundle: Path, corpus: tuple[Path, Path], tmp_path: Path) -> None:
    """Lines that cannot be used are an error, but with --skip-bad they are named, and have no number in the file."""
    sides = [tmp_path / "x", tmp_path / "y"]
    for side, given, more in zip(sides, corpus, (b"\xff\n", b"kao\n"), strict=True):
        side.write_bytes(given.read_bytes() + more)
    both = ("--source", sides[0], "--reference", sides[1], "--out", tmp_path / "gains")
    assert run("cxmi", bundle, *both).returncode == 2
    done = run("cxmi", bundle, *both, "--skip-bad")
    assert done.returncode == 0, done.stderr
    bad = len(corpus[0].read_bytes().splitlines()) + 1
    assert f"1 pairs of lines were left out\n  {sides[0]}:{bad}: " in done.stderr
    gains = (tmp_path / "gains").read_text(encoding="utf-8").split()
    assert len(gains) == sum(len(document.sentences) for document in documents(3))


def test_cxmi_of_sentences_whose_translation_matches(bundle: Path, corpus: tuple[Path, Path], tmp_path: Path) -> None:
    """With `--only`, matching sentences gain as much as without, the others 0; figures are of matching ones alone."""
    both, only = ("--source", corpus[0], "--reference", corpus[1]), "[らり]かo"
    gains = {}
    for name, options in (("all", []), ("some", ["--only", only])):
        done = run("cxmi", bundle, *both, *options, "--out", tmp_path / name, "--json", tmp_path / "json")
        assert done.returncode == 0, done.stderr
        gains[name] = [float(line) for line in (tmp_path / name).read_text(encoding="utf-8").split()]
    match = [re.search(only, line) is not None for line in corpus[1].read_text(encoding="utf-8").split("\n") if line]
    assert set(match) == {True, False}
    assert gains["some"] == pytest.approx([gain * it for gain, it in zip(gains["all"], match, strict=True)], abs=2e-4)
    assert figures(tmp_path / "json")["sentences"] == sum(match)
    for side in (0, 1):
        text = corpus[side].read_text(encoding="utf-8")
        (tmp_path / str(side)).write_text(text + ("きく" * 300, "kiko " * 300)[side] + "\n", encoding="utf-8")
    longer = ("--source", tmp_path / "0", "--reference", tmp_path / "1")
    done = run("cxmi", bundle, *longer, "--json", tmp_path / "json")
    assert done.returncode == 0, done.stderr
    found = figures(tmp_path / "json")
    assert (found["sentences"], found["not_scored"]) == (len(match), 1)
    refused = run("cxmi", bundle, *both, "--only", "(")
    assert refused.returncode == 2
    assert "not a regular expression" in refused.stderr


def test_table_puts_results_side_by_side(tmp_path: Path) -> None:
    """`table` prints Markdown: a line for each model and context, a column for each figure that occurs."""
    scores = {"model": "a", "context": "real", "context_sentences": 2, "bleu": 13.219, "loss": 3.04501}
    accuracies = {"model": "a", "context": "real", "context_sentences": 2, "accuracy": 0.663}
    other = {"model": "b", "context": "empty", "context_sentences": 0, "bleu": 12.6}
    for name, result in (("1", scores), ("2", accuracies), ("3", other)):
        (tmp_path / name).write_text(json.dumps(result), encoding="utf-8")
    done = run_alone("table", *(tmp_path / name for name in "123"))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "| model | context | context_sentences | loss | bleu | accuracy |",
        "| --- | --- | --- | --- | --- | --- |",
        "| a | real | 2 | 3.0450 | 13.22 | 0.663 |",
        "| b | empty | 0 |  | 12.60 |  |",
    ]
    (tmp_path / "4").write_text("no JSON", encoding="utf-8")
    done = run("table", tmp_path / "4")
    assert done.returncode == 2
    assert "4: is not a file that evaluate or contrast wrote with --json" in done.stderr


def test_compare_measures_what_is_not_there_yet(bundle: Path, corpus: tuple[Path, Path], tmp_path: Path) -> None:
    """`compare` writes figures and translations for each kind of context; started again, it measures only the rest."""
    kinds = ("real", "empty", "random", "shuffled")
    options = ("--source", corpus[0], "--reference", corpus[1], "--out", tmp_path / "out")
    done = run("compare", bundle, *options)
    assert done.returncode == 0, done.stderr
    files = {file.name: file for file in (tmp_path / "out").iterdir()}
    assert files.keys() == {f"tiny.{kind}.{what}" for kind in kinds for what in ("scores.json", "txt")}
    sentences = [sentence for document in documents(3) for sentence in document.sentences]
    assert all(
        len(files[f"tiny.{kind}.txt"].read_text(encoding="utf-8").splitlines()) == len(sentences) for kind in kinds
    )
    losses = {figures(files[f"tiny.{kind}.scores.json"])["loss"] for kind in kinds}
    assert len(losses) == len(kinds)
    kept = figures(real := files["tiny.real.scores.json"]) | {"bleu": -1}
    real.write_text(json.dumps(kept), encoding="utf-8")
    files["tiny.shuffled.scores.json"].unlink()
    done = run("compare", bundle, *options)
    assert done.returncode == 0, done.stderr
    assert figures(real) == kept
    assert figures(files["tiny.shuffled.scores.json"])["context"] == "shuffled"
    lost = files["tiny.empty.txt"]
    translations = lost.read_text(encoding="utf-8")
    lost.unlink()
    assert run("compare", bundle, *options).returncode == 0
    assert lost.read_text(encoding="utf-8") == translations, "which figures without them do not replace"
    shutil.copytree(bundle, other := tmp_path / "other")
    manifest = json.loads((other / "manifest.json").read_text(encoding="utf-8"))
    (other / "manifest.json").write_text(json.dumps(manifest | {"scores": {"dev": 1.0}}), encoding="utf-8")
    done = run("compare", other, *options)
    assert done.returncode == 0, done.stderr
    assert figures(real)["bleu"] >= 0, "of another model of that name"
    accuracies = tmp_path / "out" / "tiny.real.accuracies.json"
    accuracies.write_text(json.dumps({"identity": figures(real)["identity"]}), encoding="utf-8")
    assert run("compare", other, *options).returncode == 0
    assert accuracies.exists(), "of this model"
    assert run("compare", bundle, *options).returncode == 0
    assert not accuracies.exists(), "of another model, beside new scores of this one"
    done = run("compare", bundle, other, *options)
    assert done.returncode == 2
    assert "another model is also called tiny" in done.stderr


def test_compare_measures_with_the_contexts_that_it_is_told(
    bundle: Path, corpus: tuple[Path, Path], tmp_path: Path
) -> None:
    """`--context` leaves the other kinds out."""
    options = ("--source", corpus[0], "--reference", corpus[1], "--out", tmp_path / "out")
    done = run("compare", bundle, *options, "--context", "random", "--context", "empty")
    assert done.returncode == 0, done.stderr
    written = {"tiny.empty.scores.json", "tiny.empty.txt", "tiny.random.scores.json", "tiny.random.txt"}
    assert {file.name for file in (tmp_path / "out").iterdir()} == written
    alone = tmp_path / "alone"
    alone.write_text("きく。\n", encoding="utf-8")
    only = ("--source", alone, "--reference", alone, "--out", tmp_path / "out", "--context", "shuffled")
    done = run("compare", bundle, *only)
    assert done.returncode == 2
    assert "the text has only one document" in done.stderr


def test_compare_measures_again_what_is_of_another_test_set(
    bundle: Path, corpus: tuple[Path, Path], tmp_path: Path
) -> None:
    """Figures of one corpus, of one beam, or of one device, are not reported as those of another."""
    other = tmp_path / "other"
    other.write_text(corpus[1].read_text(encoding="utf-8").replace("o", "a"), encoding="utf-8")
    scores = tmp_path / "out" / "tiny.real.scores.json"
    found = []
    for more in (("--reference", corpus[1]), ("--reference", other), ("--reference", other, "--beam", "2")):
        done = run("compare", bundle, "--source", corpus[0], "--out", tmp_path / "out", *more)
        assert done.returncode == 0, done.stderr
        found.append(figures(scores))
    assert found[0]["loss"] != found[1]["loss"]
    assert [each["beam_size"] for each in found] == [1, 1, 2]
    scores.write_text(json.dumps(found[-1] | {"bleu": -1}), encoding="utf-8")
    for device, kept in (("cpu", True), ("cpu:0", False)):
        done = run("compare", bundle, "--source", corpus[0], "--out", tmp_path / "out", *more, "--device", device)
        assert done.returncode == 0, done.stderr
        assert (figures(scores)["bleu"] < 0) == kept


def test_a_set_may_be_a_folder(tmp_path: Path) -> None:
    """ContraPro's is one: figures are out of date if what is in its files has changed."""
    (tmp_path / "lines").write_text("one", encoding="utf-8")
    before = _digest([tmp_path], 1)
    assert _digest([tmp_path], 1) == before != _digest([tmp_path], 2)
    (tmp_path / "lines").write_text("two", encoding="utf-8")
    assert _digest([tmp_path], 1) != before


def test_compare_replaces_no_context_that_is_not_read(corpus: tuple[Path, Path], tmp_path: Path) -> None:
    """A sentence model is measured with real context only; contrastive items are judged beside the scores."""
    make_checkpoint(tmp_path / "two", name="two")
    items = contrastive_set(tmp_path)
    options = ("--source", corpus[0], "--reference", corpus[1], "--out", tmp_path / "out", "--set", items)
    done = run("compare", tmp_path / "two.step-one", *options)
    assert done.returncode == 0, done.stderr
    written = sorted(file.name.split(".", 1)[1] for file in (tmp_path / "out").iterdir())
    assert written == ["real.accuracies.json", "real.outcomes", "real.scores.json", "real.txt"]


def test_significance_is_a_table(corpus: tuple[Path, Path], tmp_path: Path) -> None:
    """`significance` gives differences and p-values of what `compare` wrote; cells stay empty if nothing was judged."""
    references = [sentence.target or "" for document in documents(3) for sentence in document.sentences]
    for name, lines in (("a.real", ["qq qq qq qq"] * len(references)), ("b.real", references)):
        (tmp_path / f"{name}.txt").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        outcomes = [Outcome(f"d{i}", "he", name == "b.real" or i == 0) for i in range(20)]
        write_outcomes(outcomes, tmp_path / f"{name}.outcomes")
    options = (tmp_path / "a.real", tmp_path / "b.real", tmp_path / "a.real", "--reference", corpus[1])
    done = run_alone("significance", *options)
    assert done.returncode == 0, done.stderr
    head, _, better, same = done.stdout.splitlines()
    assert head.startswith("| over a.real | BLEU | p (half) | chrF | p (half) | accuracy | p | macro | p |")
    assert better.startswith("| b.real | +")
    assert "| +0.950 | 0.001 | +0.950 | 0.001 |" in better
    assert same.startswith("| a.real | +0.00 | 1.000 |")
    half = run("significance", *options[:2], tmp_path / "missing", *options[3:])
    assert (half.returncode, half.stdout) == (2, "")
    (tmp_path / "b.real.outcomes").unlink()
    assert run("significance", *options).stdout.splitlines()[2].endswith("|  |  |  |  |")


def test_changes_shows_what_changed_most(corpus: tuple[Path, Path], tmp_path: Path) -> None:
    """`changes` shows the sentences that gained and lost most, with what precedes them, and says how many differ."""
    references = [sentence.target or "" for document in documents(3) for sentence in document.sentences]
    baseline, system = list(references), list(references)
    baseline[1], system[2] = "qqqq", "zzzz"
    for name, lines in (("baseline", baseline), ("system", system), ("short", system[1:])):
        end = "\r\n" if name == "system" else "\n"  # another line end is no change
        (tmp_path / name).write_text("".join(line + end for line in lines), encoding="utf-8", newline="")
    options = ("--source", corpus[0], "--reference", corpus[1], "--baseline", tmp_path / "baseline")
    done = run_alone("changes", *options, "--system", tmp_path / "system", "--preceding", "1")
    assert done.returncode == 0, done.stderr
    assert (
        f"2 of {len(references)} translations differ: 1 are nearer to the reference now, 1 further away." in done.stdout
    )
    better, worse = done.stdout.split("## For the worse")
    first = documents(3)[0].sentences
    assert f"- **baseline:** qqqq\n- **system:** {references[1]}" in better
    assert f"- *before:* {first[0].source} / {first[0].target}" in better
    assert "chrF +100.0" in better
    assert f"- **baseline:** {references[2]}\n- **system:** zzzz" in worse
    assert "chrF -100.0" in worse
    done = run("changes", *options, "--system", tmp_path / "short")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f"{len(references) - 1} lines, but the documents have {len(references)}" in done.stderr


def test_sentences_limits_the_context(bundle: Path, corpus: tuple[Path, Path], tmp_path: Path) -> None:
    """`--sentences 0` means empty context; more than the model reads is refused."""
    options = ("--source", corpus[0], "--reference", corpus[1], "--beam", "1", "--json", tmp_path / "json")
    done = run("evaluate", bundle, *options, "--sentences", "0")
    assert done.returncode == 0, done.stderr
    limited = figures(tmp_path / "json")
    assert (limited["context"], limited["context_sentences"]) == ("real", 0)
    assert run("evaluate", bundle, *options, "--context", "empty").returncode == 0
    assert figures(tmp_path / "json")["loss"] == limited["loss"]
    done = run("evaluate", bundle, *options, "--sentences", "3")
    assert done.returncode == 2
    assert "3 sentences of context are more than the 2 that the model reads" in done.stderr


def test_translate_keeps_every_line(bundle: Path, corpus: tuple[Path, Path], tmp_path: Path) -> None:
    """`translate` writes a line for each line, empty for an empty one, whether from a file or standard input."""
    text = "\n\n" + corpus[0].read_text(encoding="utf-8") + "\n\u3000\nから。\n\u200b\nきく。\n"
    source = tmp_path / "source"
    source.write_text(text, encoding="utf-8")
    done = run("translate", bundle, "--in", source, "--out", tmp_path / "out", "--beam", "1")
    assert done.returncode == 0, done.stderr
    translated = (tmp_path / "out").read_text(encoding="utf-8")
    assert [bool(line) for line in translated.split("\n")] == [bool(line.strip()) for line in text.split("\n")]
    assert run("translate", bundle, "--beam", "1", given=text).stdout == translated
    assert run("translate", bundle, "--in", "-", "--out", "-", "--beam", "1", given=text).stdout == translated
    piped = run_alone("translate", bundle, "--in", "/dev/stdin", "--beam", "1", given=text)
    assert piped.stdout == translated


@pytest.mark.parametrize("command", ["translate", "evaluate", "compare"])
def test_sentences_that_are_too_long_are_named_before_all_work(
    bundle: Path, corpus: tuple[Path, Path], tmp_path: Path, command: str
) -> None:
    """All that are too long and cannot be divided are named by file and line."""
    for side in (0, 1):
        text = corpus[side].read_text(encoding="utf-8")
        (tmp_path / str(side)).write_text(f"{text}{UNFIT}\n{UNFIT}\n", encoding="utf-8")
    line = len((tmp_path / "0").read_text(encoding="utf-8").splitlines()) - 1
    files = {"translate": ("--in", tmp_path / "0")}.get(
        command, ("--source", tmp_path / "0", "--reference", tmp_path / "1")
    )
    done = run(command, narrowed(bundle, tmp_path / "narrow"), *files, "--out", tmp_path / "out")
    assert done.returncode == 2
    assert f"{tmp_path / '0'}:{line}: cannot be translated: a sentence has" in done.stderr
    assert f"nor can lines {line + 1}" in done.stderr


def test_device_that_there_is_none_of_is_one_sentence(bundle: Path) -> None:
    """The error is one sentence, not a traceback."""
    for device in ("gpu", "meta"):
        done = run("translate", bundle, "--device", device, given="きく。\n")
        assert done.returncode == 2
        assert done.stderr.strip() == f"error: there is no device '{device}'; use cpu, cuda or cuda:N"


def test_output_is_utf8_whatever_the_locale_says() -> None:
    """Standard output is UTF-8, as files are, even if Python is told to use another encoding."""
    english = ROOT / "models/pretrained/en-ja"
    done = run_alone("translate", english, given="Kyoto is a city.\n", PYTHONIOENCODING="latin-1")
    assert done.returncode == 0, done.stderr
    assert "京都" in done.stdout


def test_output_that_cannot_be_written_is_found_before_all_work(
    bundle: Path, corpus: tuple[Path, Path], tmp_path: Path
) -> None:
    """Refused are a folder (some commands want one), standard output (scores go there), a broken link, a long name."""
    (dangling := tmp_path / "dangling").symlink_to(tmp_path / "nowhere" / "file")
    wrong = (
        (tmp_path, "is a folder"),
        (Path("-"), "- is not a file"),
        (dangling, "cannot be written"),
        ("n" * 250, "name"),
    )
    for out, message in wrong:
        done = run("evaluate", bundle, "--source", corpus[0], "--reference", corpus[1], "--out", out)
        assert (done.returncode, done.stdout) == (2, "")
        assert message in done.stderr
    assert list(tmp_path.iterdir()) == [dangling]


def test_results_and_figures_have_files_of_their_own(bundle: Path, corpus: tuple[Path, Path], tmp_path: Path) -> None:
    """Otherwise one would replace the other, or a file that is read; only a stream may take both."""
    asked = ("evaluate", bundle, "--source", corpus[0], "--reference", corpus[1], "--beam", "1")
    done = run(*asked, "--out", tmp_path / "both", "--json", tmp_path / "." / "both")
    assert done.returncode == 2
    assert "cannot be both --out and --json" in done.stderr
    kept = corpus[1].read_text()
    for option in ("--out", "--json"):
        done = run(*asked, option, corpus[1])
        assert (done.returncode, corpus[1].read_text()) == (2, kept)
        assert f"{option} names {corpus[1]}, which is an input" in " ".join(done.stderr.replace("│", "").split())
    done = run_alone(*asked, "--out", "/dev/stdout", "--json", "/dev/stdout")
    assert done.returncode == 0, done.stderr


def test_a_character_that_the_terminal_lacks_costs_no_report(bundle: Path, tmp_path: Path) -> None:
    """The terminal shows it as an escape sequence; files have it as it is."""
    items, out = contrastive_set(tmp_path, pronoun="彼女"), tmp_path / "accuracies"
    done = run_alone("contrast", bundle, "--set", items, "--json", out, PYTHONIOENCODING="latin-1")
    assert done.returncode == 0, done.stderr
    assert "\\u5f7c" in done.stdout
    assert "彼女" in out.read_text(encoding="utf-8")


def test_compare_takes_no_pipe(bundle: Path, corpus: tuple[Path, Path], tmp_path: Path) -> None:
    """Another text in the same pipe would be taken for the earlier one."""
    os.mkfifo(pipe := tmp_path / "pipe")
    done = run("compare", bundle, "--source", pipe, "--reference", corpus[1], "--out", tmp_path / "out")
    assert done.returncode == 2
    assert "is neither a file nor a folder" in done.stderr


def test_compare_of_one_document_has_no_other_ones_context(
    bundle: Path, corpus: tuple[Path, Path], tmp_path: Path
) -> None:
    """There is no other document to take context from: this is said, and all else is measured."""
    for side in (0, 1):
        lines = corpus[side].read_text(encoding="utf-8").split("\n\n")[0]
        (tmp_path / str(side)).write_text(lines + "\n", encoding="utf-8")
    both = ("--source", tmp_path / "0", "--reference", tmp_path / "1")
    done = run_alone("compare", bundle, *both, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "no shuffled context: the text has only one document" in done.stderr
    assert {file.name.split(".")[1] for file in (tmp_path / "out").iterdir()} == {"real", "empty", "random"}


def test_compare_names_the_set_that_has_one_document(bundle: Path, corpus: tuple[Path, Path], tmp_path: Path) -> None:
    """The message names the set, not the text, which has several documents."""
    items = contrastive_set(tmp_path)
    options = ("--source", corpus[0], "--reference", corpus[1], "--out", tmp_path / "out", "--set", items)
    done = run("compare", bundle, *options)
    assert done.returncode == 0, done.stderr
    assert "no shuffled context: the set has only one document" in done.stderr


def test_translate_with_drafts_gives_what_it_gives_without(
    bundle: Path, corpus: tuple[Path, Path], tmp_path: Path
) -> None:
    """Drafts, one a line, change nothing about greedy translations, even if some are missing or wrong."""
    drafts, expected = tmp_path / "drafts", run("translate", bundle, "--in", corpus[0], "--beam", "1").stdout
    lines = expected.split("\n")
    drafts.write_text("\n".join(["", "rako rako", *lines[2:]]), encoding="utf-8")
    done = run("translate", bundle, "--in", corpus[0], "--drafts", drafts)
    assert (done.returncode, done.stdout) == (0, expected), done.stderr
    drafts.write_text("too few\n", encoding="utf-8")
    done = run("translate", bundle, "--in", corpus[0], "--drafts", drafts)
    assert done.returncode == 2
    assert "has 1 lines" in done.stderr


def test_translate_takes_from_a_memory_what_is_known(bundle: Path, corpus: tuple[Path, Path], tmp_path: Path) -> None:
    """A memory is TMX or tab-separated lines; other texts are translated as without one; other files are refused."""
    lines = corpus[0].read_text(encoding="utf-8").split("\n")
    expected = run("translate", bundle, "--in", corpus[0], "--beam", "1").stdout.split("\n")
    expected = ["Known & said." if line == lines[1] else other for line, other in zip(lines, expected, strict=True)]
    tmx, tsv = tmp_path / "memory.tmx", tmp_path / "memory.tsv"
    said = {"xml:lang='ja'": lines[1], "xml:lang='en'": "Known &amp; said."}
    unit = "".join(f"<tuv {language}><seg>{text}</seg></tuv>" for language, text in said.items())
    tmx.write_text(f"<tmx><body><tu>{unit}</tu></body></tmx>", encoding="utf-8")
    tsv.write_text(f"{lines[1]}\tKnown & said.\n", encoding="utf-8")
    for memory in (tmx, tsv):
        done = run("translate", bundle, "--in", corpus[0], "--beam", "1", "--memory", memory)
        assert (done.returncode, done.stdout.split("\n")) == (0, expected), done.stderr
    done = run("translate", bundle, "--in", corpus[0], "--memory", corpus[0])
    assert (done.returncode, "is not a source and a target separated by a tab" in done.stderr) == (2, True)


def test_a_sentence_whose_translation_is_known_may_be_too_long(bundle: Path, tmp_path: Path) -> None:
    """A memory is the way out for a sentence that the model has no room for."""
    memory = tmp_path / "memory.tsv"
    memory.write_text(f"{UNFIT}\tKnown.\n", encoding="utf-8")
    done = run("translate", narrowed(bundle, tmp_path / "narrow"), "--memory", memory, given=f"{UNFIT}\nきく。\n")
    assert (done.returncode, done.stdout.count("\n"), done.stdout.split("\n")[0]) == (0, 2, "Known."), done.stderr


def test_translate_replaces_a_file_only_by_a_whole_one(bundle: Path, corpus: tuple[Path, Path], tmp_path: Path) -> None:
    """A file renewed with itself as drafts stays until the new one is complete, and for good if it does not fit."""
    out = tmp_path / "out"
    renew = ("translate", bundle, "--in", corpus[0], "--drafts", out, "--out", out)
    out.write_text("\n" * len(corpus[0].read_text(encoding="utf-8").splitlines()), encoding="utf-8")
    for _ in range(2):
        done = run(*renew)
        assert done.returncode == 0, done.stderr
        assert out.read_text(encoding="utf-8") == run("translate", bundle, "--in", corpus[0], "--beam", "1").stdout
    out.write_text("kept\n", encoding="utf-8")
    assert run(*renew).returncode == 2
    assert out.read_text(encoding="utf-8") == "kept\n"
    assert [file.name for file in tmp_path.iterdir()] == ["out"]


def test_translate_writes_where_a_link_leads(bundle: Path, corpus: tuple[Path, Path], tmp_path: Path) -> None:
    """A link stays a link, and its target gets the lines; so does a redirected file behind a link to stdout."""
    text = run("translate", bundle, "--in", corpus[0]).stdout
    file, link, stdout, redirected = (tmp_path / name for name in ("file", "link", "stdout", "redirected"))
    file.write_text("before\n", encoding="utf-8")
    link.symlink_to(file.name)
    stdout.symlink_to("/proc/self/fd/1")
    assert run("translate", bundle, "--in", corpus[0], "--out", link).returncode == 0
    assert link.is_symlink()
    assert file.read_text(encoding="utf-8") == text
    with redirected.open("wb") as stream:
        command = [sys.executable, "-m", "models", "translate", bundle, "--in", corpus[0], "--out", stdout]
        subprocess.run(command, stdout=stream, check=True)
    assert stdout.is_symlink()
    assert redirected.read_text(encoding="utf-8") == text


def test_strategies_of_translate(bundle: Path, corpus: tuple[Path, Path]) -> None:
    """`rerank` chooses among the candidates of `sentence`, and not always the same one as that does."""
    given = ("translate", bundle, "--in", corpus[0], "--beam", "2", "--strategy")
    sentence, rerank = (run(*given, strategy).stdout.splitlines() for strategy in ("sentence", "rerank"))
    assert len(rerank) == len(sentence) > 0
    assert rerank != sentence


def test_export_describe_and_bench(tmp_path: Path, corpus: tuple[Path, Path]) -> None:
    """A checkpoint is described and exported, and its bundle measured: each strategy, with its ratio to CTranslate2."""
    done = run_alone("describe", make_checkpoint(tmp_path / "checkpoint"), "--json", tmp_path / "parts")
    assert done.returncode == 0, done.stderr
    parts = {part["name"]: part for part in figures(tmp_path / "parts")["parts"]}
    assert parts["backbone.encoder"]["trained"] == 0 < parts["architecture.encoder"]["trained"]
    bundle, scores = tmp_path / "bundle", tmp_path / "scores"
    scores.write_text('{"test BLEU": 1.5}', encoding="utf-8")
    options = ("--out", bundle, "--source", corpus[0], "--reference", corpus[1], "--scores", scores)
    done = run_alone("export", tmp_path / "checkpoint", *options)
    assert done.returncode == 0, done.stderr
    assert Manifest.load(bundle).scores == {"test BLEU": 1.5}
    assert run("export", tmp_path / "checkpoint", *options[:4]).returncode == 2
    scores.write_text('{"bleu": 1.5, "model": "a"}', encoding="utf-8")
    done = run("export", tmp_path / "checkpoint", *options)
    assert (done.returncode, "is not a JSON object of names and numbers" in done.stderr) == (2, True)
    measured = ("--batch", "2", "--rounds", "1", "--compute-type", "float32", "--plot", tmp_path / "speeds")
    done = run_alone("bench", bundle, "--in", corpus[0], *measured, "--json", tmp_path / "rows")
    assert done.returncode == 0, done.stderr
    rows = {row["strategy"]: row for row in figures(tmp_path / "rows")["rows"]}
    assert rows["sentence"]["ratio"] == rows["plain"]["plain_ratio"] == 1
    assert rows["direct"]["ratio"] == pytest.approx(
        rows["direct"]["tokens_per_second"] / rows["sentence"]["tokens_per_second"]
    )
    assert all(row["compute_type"] == "float32" and row["batch"] == 2 for row in rows.values())
    assert all((tmp_path / f"speeds.{kind}").stat().st_size for kind in ("png", "svg"))


@pytest.mark.parametrize(("name", "frozen"), [("joint", False), ("document", True)])
def test_what_a_run_trains_is_described(tmp_path: Path, name: str, frozen: bool) -> None:
    """Joint training freezes nothing."""
    done = run("describe", ROOT / f"models/configs/zhang2018/{name}.yaml", "--json", tmp_path / "parts")
    assert done.returncode == 0, done.stderr
    assert any(part["frozen"] for part in figures(tmp_path / "parts")["parts"]) is frozen


def test_the_shipped_models_can_be_trained_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bundle, or its backbone, is unpacked for the run that it came from, to where the next runs look for it."""
    monkeypatch.chdir(tmp_path)
    configs = ROOT / "models/configs/default"
    for bundle, name in (
        ("ja-en", "shipped"),
        ("ja-en", "document"),
        ("en-ja", "en_ja/shipped"),
        ("en-ja", "en_ja/document"),
    ):
        done = (run_alone if name == "shipped" else run)(
            "unpack", ROOT / "models/pretrained" / bundle, configs / f"{name}.yaml"
        )
        assert done.returncode == 0, done.stderr
        config = load_config(configs / f"{name}.yaml")
        assert f"checkpoint: {config.output}/final" in done.stdout
        assert config.tokenizer.path.is_dir()
    for name, begins_with in (("systems/doc_transformer", "shipped"), ("document", "document")):
        config = load_config(configs / f"{name}.yaml")
        checkpoint = load_checkpoint(Path(f"runs/default/{begins_with}/final"))
        assert checkpoint.config.backbone == config.backbone
    assert load_config(configs / "systems/doc_transformer.yaml").training.init == Path("runs/default/shipped/final")
    done = run("describe", configs / "modules.yaml", "--json", tmp_path / "parts")
    assert done.returncode == 0, done.stderr
    trained = {part["name"] for part in figures(tmp_path / "parts")["parts"] if part["trained"]}
    assert trained == {"architecture.context_encoder", "architecture.decoder"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "missing.yaml"), "missing.yaml"),
        (("train", "missing.yaml", "--minutes", "nan"), "nan is not a finite number"),
        (("export", "missing", "--out", "bundle", "--alpha", "nan"), "nan is not a finite number"),
        (("export", "missing", "--out", "bundle", "--alpha", "500"), "500.0 is not in the range 0<=x<=10"),
        (("export", "missing", "--out", "bundle", "--patience", "0.5"), "0.5 is not in the range 1<=x<=10"),
        (("translate", "missing", "--in", "also-missing"), "is not a bundle"),
        (("translate", "missing", "--in", "README.md", "--out", "./README.md"), "--in and --out are the same file"),
        (("translate", "missing", "--drafts", "d", "--strategy", "rerank"), "--drafts needs --strategy verify"),
        (("evaluate", "missing"), "--source"),
        (("bench", "missing", "--in", "x", "--beam", "0"), "--beam"),
        (("bench", "missing"), "a BUNDLE with --in, or --fixed"),
        (("bench", "--fixed", "doc_transformer", "--reference", "x"), "--reference needs --in"),
        (("translate", "missing", "--out", "models"), "models is a folder, but must be a file"),
        (("bench", "--fixed", "doc_transformer", "--plot", "README.md/picture"), "README.md/picture cannot be written"),
        (("compare", "missing", "--source", "a", "--reference", "b", "--out", "/proc"), "/proc"),
        (("translate", "missing", "--in", "README.md"), "missing: is not a bundle: there is no such folder"),
        (("nonsense",), "nonsense"),
    ],
)
def test_bad_usage_is_status_2_and_one_clear_line(arguments: tuple[str, ...], message: str) -> None:
    """Standard error says what cannot be done, without a traceback."""
    done = run(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [("train", "missing.yaml"), ("evaluate", "missing")])
def test_a_process_ends_with_what_the_command_line_says(arguments: tuple[str, ...]) -> None:
    """A process of its own has the exit status and the messages of a command that tests run in theirs."""
    here, alone = run(*arguments), run_alone(*arguments)
    assert (alone.returncode, alone.stdout) == (here.returncode, here.stdout) == (2, "")
    assert alone.stderr.splitlines()[-1] == here.stderr.splitlines()[-1]


def test_help_does_not_wait_for_torch() -> None:
    """`--help` imports neither torch nor CTranslate2."""
    code = (
        "import sys\nfrom models.__main__ import main\nsys.argv = ['models', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    "
    )
    done = subprocess.run(
        [sys.executable, "-c", code + "print('torch' in sys.modules, 'ctranslate2' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.endswith("False False\n")
