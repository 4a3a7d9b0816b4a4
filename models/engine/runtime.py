"""A bundle or checkpoint, ready to translate: takes sentences with their context, and returns text.

Pure: the answer for one request does not depend on the other requests in the same call. Knows nothing about growing
documents, clients or time.
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Final

from models.bundle.description import describe
from models.bundle.manifest import BACKBONE, BERT, Manifest
from models.bundle.step_one import sentence_model_of
from models.bundle.weights import model_weights
from models.config import RunConfig
from models.data.batches import ContextReader
from models.data.documents import Sentence
from models.data.tokenizer import Tokenizer
from models.engine.attempts import Attempts, Best, Telling
from models.engine.backbone import BackboneEngine
from models.engine.bert import BundledBert
from models.engine.computation import place, resolve_compute_type
from models.engine.flow import Flow
from models.engine.placement import Placement
from models.engine.preparation import Preparation, Prepared
from models.engine.requests import Alternative, CacheUse, Options, Strategy, Translation, TranslationRequest
from models.engine.rerank import combined
from models.engine.strategies import Engine, TorchEngine
from models.engine.text_flow import TextFlow
from models.engine.wordings import Wordings
from models.errors import BundleError, CheckpointError, DataError, UnsupportedOptionError
from models.network.model import TranslationModel
from models.search.hypotheses import SearchOptions
from models.text.characters import Nearest
from models.text.clauses import join_translations
from models.text.lost_signs import with_opening_quote, with_yen_sign, without_dash
from models.text.numbers import Numbers
from models.text.repetitions import Repetitions
from models.text.scripts import Script
from models.text.verbatim import Spelling
from models.training.checkpoints import is_checkpoint, load_checkpoint, load_model, load_weights

DEFAULT_OPTIONS: Final = Options()
WIDEST_BEAM: Final = 64
MOST_REPEATED: Final = 32
"""Most tokens that repetitions of an n-gram may fill; a row of ten characters of three tokens each is still allowed."""


class Runtime:
    """Translates and scores with one model; not thread-safe."""

    def __init__(
        self, manifest: Manifest, tokenizer: Tokenizer, reader: ContextReader, engines: Mapping[Strategy, Engine]
    ) -> None:
        self.manifest: Final = manifest
        self.tokenizer: Final = tokenizer
        self._engines = combined(engines, manifest.backbone.max_length)
        source, target = manifest.languages.source, manifest.languages.target
        spellings = Spelling(Nearest(tokenizer.source), source, target), Spelling(Nearest(tokenizer.target))
        script, numbers = Script.of(source), Numbers.of(source, target)
        self._preparation = Preparation(manifest, tokenizer, reader, *spellings, script, numbers)
        direct, alone = engines["direct"], not (reader.joins_source or reader.recurrent)
        scores = direct if isinstance(direct, TorchEngine) and alone else None
        language, longest = manifest.languages.target, manifest.limits.source_tokens
        self._placement = Placement(scores, tokenizer, *spellings, language, longest)
        self._joins_source = reader.joins_source
        self.no_sentence_model = ""
        """Why there is no sentence model, if that is known."""
        self._wordings = Wordings()
        self._repetitions = Repetitions(source, target)

    @classmethod
    def load(cls, folder: Path, *, device: str = "cpu", compute_type: str = "auto", threads: int = 1) -> "Runtime":
        """Load a bundle.

        Args:
            folder: folder of the bundle.
            device: a device name of torch, such as `cpu` or `cuda:1`.
            compute_type: `float32`, `int8`, `bfloat16` or `auto` (see `resolve_compute_type`). In int8, what torch
                decodes and its score do not depend on the rest of the batch. In float32, the last digits of a score do,
                and so does the choice between equally good translations; in bfloat16, now and then, any choice.
            threads: number of threads that compute on a CPU, for torch in this whole process.

        Raises:
            BundleError: it is damaged or of an unknown format, or the device or compute type is not supported.
        """
        manifest = Manifest.load(folder)
        manifest.verify(folder)
        computed = resolve_compute_type(compute_type, device)
        try:
            tokenizer = Tokenizer.load(folder)
            model = _model_of(manifest, tokenizer)
            if not model.architecture.joins_source:
                load_weights(model, model_weights(folder, manifest, model))
        except (CheckpointError, DataError, OSError) as error:
            raise BundleError(f"{folder}: cannot be loaded: {error}") from error
        place(model, device, computed, threads, to_serve=True)
        if model.architecture.pretrained is not None:
            model.architecture.pretrained = BundledBert(folder / BERT, device, computed, threads)
        # By default, compute on a CPU in the stored type: CTranslate2 may support int8 where torch does not.
        stored = manifest.quantization if (compute_type, device) == ("auto", "cpu") else computed
        direct: Engine
        if model.architecture.joins_source:
            source = model.architecture.source
            direct = BackboneEngine(folder / manifest.own_backbone, tokenizer, device, stored, threads, source)
        else:
            direct = TorchEngine(model)
        engines: dict[Strategy, Engine] = {"direct": direct}
        if manifest.has_backbone:
            engines["sentence"] = BackboneEngine(
                folder / BACKBONE, tokenizer, device, stored, threads, free=direct.free
            )
        return cls(manifest, tokenizer, model.architecture, engines)

    @classmethod
    def open(cls, folder: Path, *, device: str = "cpu", compute_type: str = "auto", threads: int = 1) -> "Runtime":
        """Load a bundle or a checkpoint, whose engines are all torch's; the arguments are those of `load`.

        A checkpoint whose backbone is no longer that of step one, and whose step one is gone, translates only with
        context.

        Raises:
            BundleError: the bundle cannot be served.
            CheckpointError: the checkpoint is damaged.
        """
        if not is_checkpoint(folder):
            return cls.load(folder, device=device, compute_type=compute_type, threads=threads)
        exact = "float32" if compute_type == "auto" else resolve_compute_type(compute_type, device)
        if exact == "int8":
            raise BundleError("a checkpoint computes only in float32 or bfloat16; export it to use int8")
        checkpoint = load_checkpoint(folder)
        model = load_model(checkpoint)
        place(model, device, exact, threads, to_serve=False)
        sentence: TranslationModel | None = None
        missing = ""
        try:
            sentence = sentence_model_of(checkpoint, model)
        except CheckpointError as error:
            missing = str(error)
        if sentence is not None:
            place(sentence, device, exact, threads, to_serve=False)
        runtime = cls.of(checkpoint.config, checkpoint.tokenizer, model, sentence)
        runtime.no_sentence_model = missing
        return runtime

    @classmethod
    def of(
        cls,
        config: RunConfig,
        tokenizer: Tokenizer,
        model: TranslationModel,
        sentence: TranslationModel | None = None,
    ) -> "Runtime":
        """Make a runtime of a model in memory, and its sentence model if wanted, both in evaluation mode."""
        engines: dict[Strategy, Engine] = {"direct": TorchEngine(model)}
        if sentence is not None:
            engines["sentence"] = TorchEngine(sentence)
        return cls(describe(config, tokenizer, model.architecture), tokenizer, model.architecture, engines)

    def check(self, request: TranslationRequest, options: Options) -> None:
        """Check that a request can be translated.

        Raises:
            UnsupportedOptionError: the strategy or the beam size is not supported.
            SentenceTooLongError: the sentence is too long, and cannot be divided.
        """
        self._search_options(options)
        self.engine(options.strategy)
        self.prepare([request], options)

    def prepare(self, requests: Sequence[TranslationRequest], options: Options) -> list[Prepared]:
        """Return what to ask an engine for each request.

        Raises:
            SentenceTooLongError: a sentence is too long, and cannot be divided.
        """
        drafted = options.strategy == "verify"
        return self._preparation.prepare(requests, in_context=self._in_context(options), drafted=drafted)

    def translate(self, requests: Sequence[TranslationRequest], options: Options) -> list[Translation]:
        """Translate sentences, each in its context, in order; a sentence without words is returned as it is.

        If a request consists of several sentences, each is translated separately, with those before it as further
        context unless the model reads translations or blocks. A sentence longer than those in training is translated in
        parts that end with clauses, all with the same context. A part is tried again if stand-ins are lost, if terms
        are missing, or if its translation repeats itself. The score is over all tokens of all parts, and the nth
        alternative joins those of all parts.

        Raises:
            RequestError: what `check` raises for any of them.
        """
        search_options, engine = self._search_options(options), self.engine(options.strategy)
        prepared = self.prepare(requests, options)
        tried = [self._attempts(one, options) for one in prepared]
        running = list(chain.from_iterable(tried))
        while running:
            results = engine.translate([each.request for each in running], search_options)
            running = [each for each, hypotheses in zip(running, results, strict=True) if each.take(hypotheses)]
        return [self._translation(*each) for each in zip(prepared, tried, strict=True)]

    def flow(self, options: Options) -> Flow[TranslationRequest, Translation]:
        """Return a flow that translates requests as they come, like `translate`.

        Raises:
            UnsupportedOptionError: the strategy or the beam size is not supported.
        """
        parts = self.engine(options.strategy).flow(self._search_options(options))
        return TextFlow(
            parts,
            lambda requests: self.prepare(requests, options),
            lambda prepared: self._attempts(prepared, options),
            self._translation,
        )

    def score(
        self, requests: Sequence[TranslationRequest], targets: Sequence[str], options: Options = DEFAULT_OPTIONS
    ) -> list[float]:
        """Return the log-probability of each target as a whole, including the end of sentence, in its context.

        Raises:
            SentenceTooLongError: a source or a target has more tokens than the model has positions.
            UnsupportedOptionError: there is no such strategy.
        """
        sources = self._preparation.whole(requests, in_context=self._in_context(options))
        encoded = self._preparation.targets(requests, targets)
        return [sum(values) for values in self.engine(options.strategy).log_probabilities(sources, encoded)]

    def sizes(self, sentence: Sentence) -> tuple[int, int]:
        """Return the numbers of tokens of a sentence and its translation as `score` reads them, without their ends."""
        return self._preparation.sizes(sentence.source, sentence.target or "")

    def cache_use(self) -> CacheUse:
        """Return how often states of the context were reused from an earlier request, since the runtime was loaded."""
        return self._engines["direct"].cache_use()

    def engine(self, strategy: Strategy) -> Engine:
        """Return the engine that translates token ids by a strategy.

        Raises:
            UnsupportedOptionError: there is no such strategy.
        """
        engine = self._engines.get(strategy)
        if engine is None:
            if strategy == "sentence" and self.no_sentence_model:
                raise UnsupportedOptionError(f"there is no sentence model: {self.no_sentence_model}")
            offered = ", ".join(self._engines)
            raise UnsupportedOptionError(f"there is no strategy {strategy!r}; this model offers {offered}")
        return engine

    def _in_context(self, options: Options) -> bool:
        return options.strategy != "sentence"

    def _search_options(self, options: Options) -> SearchOptions:
        decoding = self.manifest.decoding
        default = 1 if options.strategy == "verify" else decoding.beam_size
        beam_size = default if options.beam_size is None else options.beam_size
        if options.strategy == "verify" and beam_size > 1:
            raise UnsupportedOptionError(f"beam_size {beam_size} is too large: drafts need greedy search, beam_size 1")
        largest = min(WIDEST_BEAM, (self.manifest.vocabulary.target - 4) // 2)
        if beam_size > max(1, largest):
            raise UnsupportedOptionError(f"beam_size {beam_size} is too large: this model offers at most {largest}")
        # CTranslate2, which does the search for the others, has no guard against repetitions.
        guarded = options.strategy in {"direct", "verify"} and not self._joins_source
        most_repeated = MOST_REPEATED if guarded else None
        return SearchOptions(
            beam_size,
            options.n_best,
            decoding.normalization,
            decoding.alpha if options.alpha is None else options.alpha,
            decoding.patience if options.patience is None else options.patience,
            most_repeated=most_repeated,
        )

    def _attempts(self, prepared: Prepared, options: Options) -> list[Attempts]:
        drops = options.strategy == "direct" and not self._joins_source and self._search_options(options).beam_size > 1
        telling = Telling(self._preparation, self._wordings, options, self._repetitions if drops else None)
        return Attempts.of(prepared, telling)

    def _translation(self, prepared: Prepared, tried: Sequence[Attempts]) -> Translation:
        if not tried:
            return Translation.given(prepared.verbatim)
        parts = [each.best for each in tried]
        ranks = range(min(len(hypotheses) for _, _, hypotheses in parts))
        best, *others = [self._joined(parts, rank) for rank in ranks]
        chosen = [hypotheses[0] for _, _, hypotheses in parts]
        tokens, kept = sum(len(each.tokens) for each in chosen), sum(each.kept for each in chosen)
        # A hypothesis may be a space, or bytes that form no character: neither is a translation to offer.
        alternatives = tuple(other for other in others if other.text)
        return Translation(best.text, best.score, prepared.context_size, tokens, alternatives, kept)

    def _joined(self, parts: Sequence[Best], rank: int) -> Alternative:
        found = [hypotheses[rank] for _, _, hypotheses in parts]
        texts = []
        for (request, spelt, _), said in zip(parts, map(self._preparation.said, found), strict=True):
            placed = self._placement.place(request, spelt, said, scored=rank == 0)
            quoted = with_opening_quote(placed, spelt.plain, self.manifest.languages.target)
            quoted = with_yen_sign(without_dash(quoted, spelt.plain), spelt.plain)
            texts.append(spelt.restored(spelt.in_terms(quoted)))
        score = sum(each.log_probability for each in found) / sum(each.length for each in found)
        return Alternative(join_translations(texts, self.manifest.languages.target), score)


def _model_of(manifest: Manifest, tokenizer: Tokenizer) -> TranslationModel:
    vocabulary = manifest.vocabulary
    sizes = len(tokenizer.source_pieces), len(tokenizer.target_pieces)
    if (vocabulary.source, vocabulary.target, vocabulary.joint) != (*sizes, tokenizer.joint):
        raise DataError("the vocabularies of the tokenizer are not those in the manifest")
    return TranslationModel(manifest.backbone, manifest.architecture, *sizes).eval()
