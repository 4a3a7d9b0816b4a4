import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import ctranslate2
import pytest

from models.config import ContextWindow, SentenceConfig
from models.data.batches import Example
from models.data.documents import Document, Sentence, Window, windows
from models.engine.requests import Alternative, Options, TranslationRequest
from models.engine.runtime import Runtime
from models.engine.strategies import TokenizedRequest
from models.engine.windows import WindowTranslator
from models.errors import BundleError, RequestError, SentenceTooLongError, UnsupportedOptionError
from models.evaluation.contrastive import Scorer
from models.evaluation.metrics import Translator, evaluate, reference_loss
from models.network.model import TranslationModel
from models.training.checkpoints import load_checkpoint
from tests.support.bundles import documents, make_bundle

STRATEGIES = ["direct", "sentence", "rerank"]
REQUESTS = [
    TranslationRequest(window.current.source, tuple(Sentence(s.source) for s in window.preceding))
    for document in documents(3)
    for window in windows(document, ContextWindow(size=4))
]
TARGETS = [sentence.target or "" for document in documents(3) for sentence in document.sentences]
LONG = "、".join(["からりきくろ"] * 9) + "。"


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("beam_size", [1, 4])
def test_batch_mates_and_order_change_nothing(runtime: Runtime, strategy: Any, beam_size: int) -> None:
    """Each of many requests gets the translation that it gets alone, in its place."""
    options = Options(strategy, beam_size)
    together = runtime.translate([*REQUESTS, TranslationRequest(LONG)], options)
    for request, found in zip([*REQUESTS, TranslationRequest(LONG)], together, strict=True):
        (alone,) = runtime.translate([request], options)
        assert replace(found, score=0) == replace(alone, score=0)
        assert found.score == pytest.approx(alone.score, abs=1e-5)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_empty_sentence_stays_empty(runtime: Runtime, strategy: Any) -> None:
    """Blank sources, and only those, give empty texts, in their places."""
    found = runtime.translate(
        [TranslationRequest(text) for text in ("から。", "", " \n\t", "きく。")], Options(strategy)
    )
    assert [bool(translation.text) for translation in found] == [True, False, False, True]
    assert (found[1].score, found[1].tokens, found[1].context_size) == (0.0, 0, 0)
    assert runtime.translate([TranslationRequest("")], Options(strategy)) == [found[1]]
    assert runtime.translate([], Options(strategy)) == []


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_characters_that_the_vocabulary_lacks_are_read_as_the_nearest(runtime: Runtime, strategy: Any) -> None:
    """In sentences, divided or not, and in context; here, soft hyphens and word joiners are simply dropped."""
    plain = [TranslationRequest(text, (Sentence("かりきる。"),)) for text in ("から。", LONG)]
    unseen = [
        TranslationRequest(text.replace("ら", "\u00adら\u2060"), (Sentence("か\u00adりきる。"),))
        for text in ("から。", LONG)
    ]
    found, expected = (runtime.translate(requests, Options(strategy)) for requests in (unseen, plain))
    assert [replace(each, score=0) for each in found] == [replace(each, score=0) for each in expected]
    assert [each.score for each in found] == pytest.approx([each.score for each in expected], abs=1e-5)


def test_context_matters_to_direct_only(runtime: Runtime) -> None:
    """Other preceding sentences change the texts and scores of `direct`; `sentence` does not read them."""
    source = REQUESTS[4].source
    contexts = [(), (Sentence("かりきる。"),), (Sentence("こらけれ。"), Sentence("くろくろ。"))]
    requests = [TranslationRequest(source, context) for context in contexts]
    direct = runtime.translate(requests, Options("direct"))
    sentence = runtime.translate(requests, Options("sentence"))
    assert [found.context_size for found in direct] == [0, 1, 2]
    assert len({found.score for found in direct}) == 3
    assert len({found.text for found in direct}) > 1
    assert [found.context_size for found in sentence] == [0, 0, 0]
    assert len({found.text for found in sentence}) == 1
    assert len(set(runtime.score(requests, ["ra"] * 3))) == 3
    without = runtime.score(requests, ["ra"] * 3, Options("sentence"))
    assert without == pytest.approx([without[0]] * 3, abs=1e-5)


def test_context_beyond_the_window_is_not_read(runtime: Runtime) -> None:
    """Of many preceding sentences, only the last two are used; earlier ones change nothing."""
    latest = (Sentence("かりきる。"), Sentence("こらけれ。"))
    requests = [TranslationRequest("から。", (*older, *latest)) for older in ((), (Sentence("くろ。"),) * 5)]
    one, two = runtime.translate(requests, Options())
    assert one == two
    assert one.context_size == 2


def test_context_that_is_too_long_loses_its_oldest_sentences(runtime: Runtime) -> None:
    """A sentence of context that does not fit is left out completely, and not counted in the context size."""
    near, far = Sentence("かりきる。"), Sentence("からりきくろ" * 20)
    found = runtime.translate([TranslationRequest("から。", context) for context in ((far, near), (near,))], Options())
    assert found[0] == found[1]
    assert found[0].context_size == 1


@pytest.mark.parametrize("strategy", ["direct", "sentence"])
def test_a_larger_alpha_gives_longer_translations(runtime: Runtime, strategy: Any) -> None:
    """Log-probabilities are divided by n^alpha; by default, alpha is the bundle's own."""
    lengths, own = {}, runtime.manifest.decoding.alpha
    for alpha in (0.0, own, 4.0):
        found = runtime.translate(REQUESTS, Options(strategy, beam_size=4, alpha=alpha))
        lengths[alpha] = sum(one.tokens for one in found)
        if alpha == own:
            assert found == runtime.translate(REQUESTS, Options(strategy, beam_size=4))
    assert lengths[0.0] < lengths[own] < lengths[4.0]


@pytest.mark.parametrize("strategy", ["direct", "sentence"])
def test_a_patient_search_finds_better_translations(runtime: Runtime, strategy: Any) -> None:
    """Patience only makes it see more hypotheses (Kasai et al. 2022); by default, it is the bundle's own."""
    scores, own = {}, runtime.manifest.decoding.patience
    for patience in (own, 4.0):
        found = runtime.translate(REQUESTS, Options(strategy, beam_size=2, alpha=4.0, patience=patience))
        scores[patience] = [one.score * (one.tokens + 1) ** -3.0 for one in found]
    assert found != runtime.translate(REQUESTS, Options(strategy, beam_size=2, alpha=4.0))
    assert all(patient >= short - 1e-6 for patient, short in zip(scores[4.0], scores[own], strict=True))


def test_hypotheses_are_compared_by_the_rule_that_the_run_names(checkpoint: Path, model: TranslationModel) -> None:
    """With the same alpha, `wu` favours longer hypotheses less than `power` does."""
    trained, lengths = load_checkpoint(checkpoint), {}
    for rule in ("wu", "power"):
        decoding = trained.config.decoding.model_copy(update={"normalization": rule, "alpha": 3.0})
        config = trained.config.model_copy(update={"decoding": decoding})
        found = Runtime.of(config, trained.tokenizer, model).translate(REQUESTS, Options(beam_size=4))
        lengths[rule] = sum(one.tokens for one in found)
    assert lengths["wu"] < lengths["power"]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_long_sentence_is_translated_in_parts(runtime: Runtime, strategy: Any) -> None:
    """If it is longer than any in training, clauses are packed into parts, translated in context, and joined."""
    context = (Sentence("かりきる。"),)
    options = Options(strategy)
    clauses = [clause + "、" for clause in LONG.split("、")]
    assert len(runtime.tokenizer.encode_source(LONG)) > runtime.manifest.limits.split_tokens
    request = TranslationRequest(LONG, context)
    runtime.check(request, options)
    (found,) = runtime.translate([request], options)
    assert found.context_size == (0 if strategy == "sentence" else 1)
    for size in range(1, len(clauses)):  # as many clauses as fit
        if len(runtime.tokenizer.encode_source("".join(clauses[: size + 1]))) > runtime.manifest.limits.split_tokens:
            break
    texts = ["".join(clauses[start : start + size]) for start in range(0, len(clauses), size)]
    texts[-1] = texts[-1].removesuffix("、")
    parts = runtime.translate([TranslationRequest(text, context) for text in texts], options)
    assert found.text == " ".join(part.text for part in parts)
    assert found.tokens == sum(part.tokens for part in parts)
    assert min(part.score for part in parts) < found.score < max(part.score for part in parts)


def test_a_request_of_several_sentences_is_no_context_of_its_own(runtime: Runtime) -> None:
    """Later sentences of a request are read with its first ones, but the context size counts only the document's."""
    parts = ("かりきる。", "きろ。")
    asked = [TranslationRequest("".join(parts), (Sentence("から。"),) * size, parts=parts) for size in (0, 1)]
    assert [found.context_size for found in runtime.translate(asked, Options(beam_size=1))] == [0, 1]


@pytest.mark.parametrize(("times", "fits"), [(12, True), (40, False)])
def test_a_sentence_without_boundary_is_divided_when_it_does_not_fit(runtime: Runtime, times: int, fits: bool) -> None:
    """If it is longer than in training but fits the positions, it is translated whole; otherwise in parts that fit."""
    request = TranslationRequest("からりきくろ" * times)
    tokens = len(runtime.tokenizer.encode_source(request.source))
    assert tokens > runtime.manifest.limits.split_tokens
    assert (tokens <= runtime.manifest.limits.source_tokens) is fits
    (prepared,) = runtime.prepare([request], Options())
    assert (len(prepared.parts) == 1) is fits
    assert all(len(part.example.source) <= runtime.manifest.limits.source_tokens for part in prepared.parts)
    assert runtime.translate([request], Options())[0].text


def test_scores_are_means_over_tokens(runtime: Runtime, bundle: Path) -> None:
    """A translation's score is the one that CTranslate2 gives with length penalty 1 if anyone uses the backbone."""
    pieces = [runtime.tokenizer.source.encode(request.source, out_type=str) for request in REQUESTS]
    translator = ctranslate2.Translator(str(bundle / "backbone"), compute_type="float32", intra_threads=1)
    expected = translator.translate_batch(pieces, beam_size=4, max_decoding_length=20, return_scores=True)
    found = runtime.translate(REQUESTS, Options("sentence", beam_size=4))
    assert [translation.score for translation in found] == pytest.approx([e.scores[0] for e in expected], abs=1e-5)
    assert [translation.tokens for translation in found] == [len(e.hypotheses[0]) for e in expected]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_target_is_scored_as_a_whole(runtime: Runtime, strategy: Any) -> None:
    """The score is that of all pieces and of the end, so appended words make a target less likely."""
    requests = [replace(request, preceding=()) for request in REQUESTS[:4]]
    shorter, longer = (runtime.score(requests, [text] * 4, Options(strategy)) for text in ("", "rako raki"))
    tokenized = [TokenizedRequest(Example(runtime.tokenizer.encode_source(request.source)), 9) for request in requests]
    pieces = runtime.tokenizer.encode_target("rako raki")
    by_token = runtime.engine(strategy).log_probabilities(tokenized, [pieces] * 4)
    assert longer == pytest.approx([sum(values) for values in by_token], abs=1e-5)
    assert all(two < one < 0 for one, two in zip(shorter, longer, strict=True))


def test_alternatives_follow_the_best(runtime: Runtime) -> None:
    """The other hypotheses of the n best follow in the order of their scores; greedy search has no alternatives."""
    found = runtime.translate(REQUESTS, Options(beam_size=4, n_best=3))
    for translation in found:
        ranked = [Alternative(translation.text, translation.score), *translation.alternatives]
        assert len(ranked) == 3
        assert ranked == sorted(ranked, key=lambda hypothesis: -hypothesis.score)
    assert runtime.translate(REQUESTS[:1], Options(beam_size=1))[0].alternatives == ()


@pytest.mark.parametrize(
    "options",
    [
        Options("magic"),  # type: ignore[arg-type]
        Options("verify", beam_size=2),
        Options(beam_size=0),
        Options(beam_size=65),
        Options(beam_size=4, n_best=5),
        Options(n_best=0),
    ],
)
def test_an_option_that_is_not_offered_is_refused(runtime: Runtime, options: Options) -> None:
    """Strategies, beams and numbers of hypotheses that make no sense are refused, before anything is translated."""
    with pytest.raises(UnsupportedOptionError):
        runtime.check(REQUESTS[0], options)
    with pytest.raises(UnsupportedOptionError):
        runtime.flow(options)
    with pytest.raises(UnsupportedOptionError):
        runtime.translate(REQUESTS, options)


def test_a_target_that_does_not_fit_is_refused(runtime: Runtime) -> None:
    """A target to be scored that is longer than the position table is refused, as such a source is."""
    with pytest.raises(SentenceTooLongError, match="this model accepts at most 63"):
        runtime.score([REQUESTS[0]], ["ra " * 100])


def test_a_checkpoint_translates_as_its_bundle(runtime: Runtime, checkpoint: Path) -> None:
    """With both strategies, a checkpoint translates as the float32 bundle that was made from it."""
    opened = Runtime.open(checkpoint)
    for strategy in ("direct", "sentence"):
        ours, theirs = (one.translate(REQUESTS, Options(strategy)) for one in (opened, runtime))
        assert [found.text for found in ours] == [found.text for found in theirs]
        assert [found.score for found in ours] == pytest.approx([found.score for found in theirs], abs=1e-4)
    assert opened.manifest.model_dump(exclude={"files"}) == runtime.manifest.model_dump(exclude={"files"})


def test_a_bundle_is_opened_like_a_checkpoint(bundle: Path, runtime: Runtime) -> None:
    """`open` takes a bundle's folder as well."""
    opened = Runtime.open(bundle, compute_type="float32").translate(REQUESTS, Options())
    expected = runtime.translate(REQUESTS, Options())
    assert [one.text for one in opened] == [one.text for one in expected]
    assert [one.score for one in opened] == pytest.approx([one.score for one in expected], abs=1e-5)


def test_bfloat16_is_near_float32(bundle: Path, runtime: Runtime) -> None:
    """In bfloat16, all strategies give scores near those of float32."""
    rounded = Runtime.load(bundle, compute_type="bfloat16")
    for strategy in STRATEGIES:
        options = Options(strategy)  # type: ignore[arg-type]
        ours, theirs = (one.score(REQUESTS, TARGETS, options) for one in (rounded, runtime))
        assert ours == pytest.approx(theirs, rel=0.02)


def test_a_sentence_bundle_has_no_context(tmp_path: Path) -> None:
    """A bundle of a sentence model says that it reads no context, and ignores any that it is given."""
    runtime = Runtime.load(
        make_bundle(tmp_path / "bundle", SentenceConfig(), quantization="float32", embeddings="shared")
    )
    assert (runtime.manifest.window.size, runtime.manifest.no_context) == (0, "backbone")
    found = runtime.translate([replace(REQUESTS[4], preceding=p) for p in ((), REQUESTS[4].preceding)], Options())
    assert found[0].text == found[1].text
    assert [one.context_size for one in found] == [0, 0]


def test_evaluation_takes_a_runtime(runtime: Runtime) -> None:
    """A runtime with its options can translate and score for the evaluation of whole documents."""
    adapter = WindowTranslator(runtime, Options("sentence"))
    translator: Translator = adapter
    scorer: Scorer = adapter
    evaluation = evaluate(translator, documents(3), window=ContextWindow(size=2))
    expected = [found.text for found in runtime.translate(REQUESTS, Options("sentence"))]
    assert list(evaluation.translations) == expected
    given = [Window(Sentence(request.source), request.preceding) for request in REQUESTS]
    assert scorer.score(given, TARGETS) == runtime.score(REQUESTS, TARGETS, Options("sentence"))


def test_the_loss_is_over_the_tokens_that_are_scored(runtime: Runtime) -> None:
    """To the model, an address is one word on either side, however many pieces it has, and it is counted as one."""
    scorer, address = WindowTranslator(runtime), "https://example.org/" + "rikaroko" * 20
    addressed, plain = (Sentence(f"{word}からり。", f"raka {word}.") for word in (address, "ABC"))
    assert len(runtime.tokenizer.encode_target(addressed.target or "")) > runtime.manifest.limits.source_tokens
    losses = [
        reference_loss(scorer, scorer.count_tokens, [Document((each,))], ContextWindow(), fits=scorer.fits)
        for each in (addressed, plain)
    ]
    assert losses[0] == pytest.approx(losses[1])


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"compute_type": "int4"}, "there is no compute type 'int4'; use one of auto, float32, bfloat16"),
        ({"device": "abacus"}, "there is no device 'abacus'; use cpu, cuda or cuda:N"),
    ],
)
def test_what_the_machine_lacks_is_refused(bundle: Path, arguments: dict[str, Any], reason: str) -> None:
    """A missing compute type or device is an error when the bundle is loaded."""
    with pytest.raises(BundleError, match=reason):
        Runtime.load(bundle, **arguments)


def test_a_damaged_bundle_is_not_loaded(bundle: Path, tmp_path: Path) -> None:
    """Loading verifies checksums."""
    copy = Path(shutil.copytree(bundle, tmp_path / "copy"))
    (copy / "model.safetensors").write_bytes((copy / "model.safetensors").read_bytes()[:-1])
    with pytest.raises(BundleError, match=r"model\.safetensors is damaged"):
        Runtime.load(copy)


def test_errors_of_one_request_are_request_errors(runtime: Runtime) -> None:
    """`check` raises errors that a caller can pass on to the client of one request."""
    with pytest.raises(RequestError):
        runtime.check(TranslationRequest("か"), Options(beam_size=0))
