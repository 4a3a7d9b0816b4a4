"""Turns requests from text into token ids: what is read of the context, and where a long sentence is divided."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain

from models.bundle.manifest import Manifest
from models.data.batches import ContextReader, Example, Tokens
from models.data.tokenizer import Tokenizer
from models.engine.requests import TranslationRequest
from models.engine.strategies import TokenizedRequest
from models.errors import SentenceTooLongError
from models.search.hypotheses import Hypothesis, max_target_length
from models.text.clauses import attach, pack, split_within
from models.text.full_width import with_full_width
from models.text.glossary import NO_TERMS, Glossary, Term
from models.text.numbers import Numbers
from models.text.scripts import Script, with_signs_of, with_terms
from models.text.spelt import Spelt
from models.text.verbatim import Spelling
from models.text.words import has_words

_LENGTH_STEP = 16


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request in the form that an engine translates: sentences, and clauses of long ones."""

    parts: list[TokenizedRequest]
    """Empty for a sentence without words of its language."""
    spelt: list[Spelt]
    """How each part is read, and what of it is not read."""
    context_size: int
    """Number of preceding sentences that the first part is read with."""
    verbatim: str = ""
    """What to return in place of a translation if there are no parts."""

    @property
    def marked(self) -> bool:
        """Whether there are marks around words, whose places in the translation have to be found."""
        return any(pair.wide for spelt in self.spelt for pair in spelt.marks.pairs)


@dataclass(frozen=True, slots=True)
class Preparation:
    """Prepares requests for one model; `reader` decides what is read of a context, `spelling` how text is read.

    `target_spelling` does the same for translations that are read as context or drafts.
    """

    manifest: Manifest
    tokenizer: Tokenizer
    reader: ContextReader
    spelling: Spelling
    target_spelling: Spelling
    script: Script | None
    """The script of the source language."""
    numbers: Numbers | None
    """How its numbers are said in the target language."""

    def prepare(
        self, requests: Sequence[TranslationRequest], *, in_context: bool, drafted: bool = False
    ) -> list[Prepared]:
        """Return what to translate for each request; `drafted` says whether drafts are read.

        The draft of a divided sentence is ignored: it is unknown which part of it belongs to which clause.

        Raises:
            SentenceTooLongError: a part that cannot be divided has more tokens than the model has positions.
        """
        examples = self._examples(requests, in_context=in_context)
        in_turn = in_context and self._reads_what_was_said
        prepared = [
            self._divided(request, example, in_turn=in_turn)
            for request, example in zip(requests, examples, strict=True)
        ]
        return self._with_drafts(prepared, requests) if drafted else prepared

    def whole(self, requests: Sequence[TranslationRequest], *, in_context: bool) -> list[TokenizedRequest]:
        """Return each request undivided.

        Raises:
            SentenceTooLongError: a sentence has more tokens than the model has positions.
        """
        examples = [self.reader.select(example) for example in self._examples(requests, in_context=in_context)]
        for example in examples:
            self._check_length(example.source, "a sentence or its translation has {} tokens")
        return [self._request(example) for example in examples]

    def targets(self, requests: Sequence[TranslationRequest], targets: Sequence[str]) -> Sequence[Tokens]:
        """Return the tokens of translations that are to be scored.

        Raises:
            SentenceTooLongError: one has more tokens than the model has positions.
        """
        read = [self.spelling.of(request.source) for request in requests]
        encoded = self.tokenizer.encode_targets([one.as_read(text) for one, text in zip(read, targets, strict=True)])
        for tokens in encoded:
            self._check_length(tokens, "a sentence or its translation has {} tokens")
        return encoded

    def sizes(self, source: str, target: str) -> tuple[int, int]:
        """Return the numbers of tokens of a sentence and its translation, as `whole` and `targets` encode them.

        What is verbatim in both is counted as a stand-in: an address is one word, not dozens of pieces.
        """
        read = self.spelling.of(source)
        return len(self.tokenizer.encode_source(read.text)), len(self.tokenizer.encode_target(read.as_read(target)))

    def retold(
        self, request: TokenizedRequest, spelt: Spelt, turn: int, missing: Collection[Term]
    ) -> tuple[TokenizedRequest, Spelt] | None:
        """Return a part read with the `turn`th other stand-ins, or first of all with some for the missing terms.

        None if there are no other stand-ins, or the part is too long with them.
        """
        example = request.example
        standing_in = self.spelling.with_terms(spelt, missing) if missing else spelt
        other = standing_in.retold(turn - 1 if standing_in.told else turn)
        if other is None:
            return None
        source = self.tokenizer.encode_source(other.text)
        if len(source) > self.manifest.limits.source_tokens:
            return None
        own = example.own and replace(example.own, source=(self.reader.pieces([other.plain]) or [[]])[0])
        draft = self.tokenizer.decode_target(request.draft)
        read = self.tokenizer.encode_target(other.as_read(spelt.restored(draft))) if draft else ()
        told = self._request(self.reader.select(replace(example, source=source, own=own)))
        return replace(told, draft=read), other

    def alone(self, term: Term) -> TokenizedRequest | None:
        """Return a term as a sentence of its own; None if it cannot be one."""
        with suppress(SentenceTooLongError):
            (prepared,) = self.prepare([TranslationRequest(term.source)], in_context=True)
            return prepared.parts[0] if len(prepared.parts) == 1 else None
        return None

    def said(self, hypothesis: Hypothesis) -> str:
        """Return the text of a hypothesis, with the punctuation of its language."""
        return with_full_width(self.tokenizer.decode_target(hypothesis.tokens), self.manifest.languages.target)

    def _check_length(self, tokens: Tokens, message: str) -> None:
        """Refuse more tokens than the model has positions; `message` has a placeholder for their number.

        Raises:
            SentenceTooLongError: there are more.
        """
        if len(tokens) > (limit := self.manifest.limits.source_tokens):
            raise SentenceTooLongError(f"{message.format(len(tokens))}; this model accepts at most {limit}")

    def _examples(self, requests: Sequence[TranslationRequest], *, in_context: bool) -> list[Example]:
        """Return the sentences with all of their context; each text is encoded only once."""
        read = requests if in_context else [TranslationRequest(request.source) for request in requests]
        sources = _ids(self._encoded, (text for request in read for text in _sources(request)))
        translations = [self._translations(request) for request in read]
        targets = _ids(self.tokenizer.encode_targets, chain.from_iterable(translations))
        pieces = self._pieces(list(sources)) if in_context else None
        return [
            replace(
                _around(request, sources),
                translations=[targets[text] for text in before],
                growing=request.growing,
                own=None if pieces is None else _around(request, pieces),
            )
            for request, before in zip(read, translations, strict=True)
        ]

    def _pieces(self, texts: Sequence[str]) -> dict[str, Tokens] | None:
        """Return texts in the architecture's own tokenization, by text; None if it has none."""
        pieces = self.reader.pieces([self.spelling.of(text).plain for text in texts])
        return None if pieces is None else dict(zip(texts, pieces, strict=True))

    def _translations(self, request: TranslationRequest) -> list[str]:
        """Return the translations of the preceding sentences as they are read; none if the model does not read them."""
        if not self.reader.reads_target:
            return []
        return [self._translation(sentence.source, sentence.target or "") for sentence in request.preceding]

    def _translation(self, source: str, translation: str) -> str:
        return self.target_spelling.of(self.spelling.of(source).as_read(translation)).text

    @property
    def _reads_what_was_said(self) -> bool:
        """Whether a sentence needs only the sources of those before it, wherever in the document they are."""
        window = self.manifest.window
        return window.kind == "sliding" and window.size > 0 and not self.reader.reads_target

    def _divided(self, request: TranslationRequest, example: Example, *, in_turn: bool) -> Prepared:
        if not (example.source and has_words(request.source)):
            return Prepared([], [], 0, request.source.strip())
        glossary = Glossary(map(self._as_read, request.terms)) if request.terms else NO_TERMS
        if self._is_of_others(request.source, glossary):
            return Prepared([], [], 0, with_signs_of(self.manifest.languages.target, request.source.strip()))
        texts = request.parts or (request.source,)
        sentences = self._sentences(texts, example, in_turn=in_turn)
        clauses = [clause for pair in zip(texts, sentences, strict=True) for clause in self._clauses(*pair)]
        read = [self._request(clause) for _, clause in clauses if clause.source]
        spelt = [self.spelling.of(text) for text, clause in clauses if clause.source]
        spelt = [with_terms(one, glossary, self.script, self.numbers) for one in spelt]
        if not read:
            return Prepared([], [], 0, request.source.strip())
        unread = [text.strip() for text, clause in clauses if not clause.source]
        spelt[-1] = replace(spelt[-1], left_out=(*spelt[-1].left_out, *unread))
        return Prepared(read, spelt, len(clauses[0][1].preceding))

    def _as_read(self, term: Term) -> Term:
        return replace(term, source=self.spelling.normalized(term.source))

    def _is_of_others(self, text: str, glossary: Glossary) -> bool:
        """Return whether all words of a text are in a script other than the source language's, and none is a term."""
        return self.script is not None and not self.script.writes(text) and not any(glossary.found(text))

    def _sentences(self, texts: Sequence[str], example: Example, *, in_turn: bool) -> list[Example]:
        """Return the sentences of a request, each with the request's context and, if `in_turn`, those before it."""
        if len(texts) == 1:
            return [example]
        sentences = self._in_place_of(example, texts)
        if not in_turn:
            return sentences
        return [_after(sentences[:number], sentence) for number, sentence in enumerate(sentences)]

    def _clauses(self, text: str, example: Example) -> list[tuple[str, Example]]:
        """Return a sentence with its context as read, or the clauses of a long one, with too long clauses divided.

        All clauses have the same context: what leaves room for the longest of them.
        """
        texts, parts = [text], [example]
        if len(example.source) > (limit := self.manifest.limits.split_tokens):
            most = self.manifest.limits.source_tokens
            texts = pack(split_within(text, self._tokens, most), self._tokens, limit)
            texts = attach(texts, self._tokens, most)
            parts = self._in_place_of(example, texts)
        for part in parts:
            self._check_length(part.source, "a sentence has {} tokens that cannot be divided")
        chosen = self.reader.select(max(parts, key=_size))
        return [(each, _with_source(chosen, part)) for each, part in zip(texts, parts, strict=True)]

    def _tokens(self, text: str) -> int:
        return len(self._encoded([text])[0])

    def _encoded(self, texts: Sequence[str]) -> list[Tokens]:
        return list(self.tokenizer.encode_sources([self.spelling.of(text).text for text in texts]))

    def _in_place_of(self, example: Example, texts: Sequence[str]) -> list[Example]:
        """Return each text with the context of an example."""
        parts = [replace(example, source=tokens) for tokens in self._encoded(texts)]
        if example.own is None:
            return parts
        pieces = self._pieces(texts) or {}
        own = [replace(example.own, source=pieces[text]) for text in texts]
        return [replace(part, own=one) for part, one in zip(parts, own, strict=True)]

    def _with_drafts(self, prepared: list[Prepared], requests: Sequence[TranslationRequest]) -> list[Prepared]:
        drafts = self.tokenizer.encode_targets(
            [self._translation(request.source, request.draft or "") for request in requests]
        )
        return [
            replace(one, parts=[replace(one.parts[0], draft=draft)]) if len(one.parts) == 1 else one
            for one, draft in zip(prepared, drafts, strict=True)
        ]

    def _request(self, example: Example) -> TokenizedRequest:
        # CTranslate2 takes one maximum length per call: with the source's length rounded up, many requests share one.
        rounded = -(-len(example.source) // _LENGTH_STEP) * _LENGTH_STEP
        limit = max_target_length(rounded, self.manifest.decoding, self.manifest.backbone.max_length)
        return TokenizedRequest(example, limit)


def _size(example: Example) -> int:
    """Return the tokens of a sentence without its context, summed over all tokenizations."""
    return len(example.source) + (0 if example.own is None else _size(example.own))


def _after(before: Sequence[Example], sentence: Example) -> Example:
    """Insert other sentences between a sentence and its preceding context, in all tokenizations."""
    preceding = [*sentence.preceding, *(one.source for one in before)]
    own = sentence.own and _after([one.own for one in before if one.own], sentence.own)
    return replace(sentence, preceding=preceding, own=own)


def _with_source(chosen: Example, part: Example) -> Example:
    """Return an example with the context of one and the sentence of another."""
    own = None if chosen.own is None or part.own is None else _with_source(chosen.own, part.own)
    return replace(chosen, source=part.source, own=own)


def _around(request: TranslationRequest, sources: dict[str, Tokens]) -> Example:
    return Example(
        sources[request.source],
        preceding=[sources[sentence.source] for sentence in request.preceding],
        following=[sources[sentence.source] for sentence in request.following],
    )


def _sources(request: TranslationRequest) -> Iterator[str]:
    yield request.source
    for sentence in (*request.preceding, *request.following):
        yield sentence.source


def _ids(encode: Callable[[Sequence[str]], Sequence[Tokens]], texts: Iterable[str]) -> dict[str, Tokens]:
    distinct = list(dict.fromkeys(texts))
    return dict(zip(distinct, encode(distinct), strict=True))
