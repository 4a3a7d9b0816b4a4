"""Split texts, plain or with tags, into sentences to translate, and make texts of the translations again."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from models.text.spacing import gap_of, sentence_gap_of
from models.text.words import has_words
from service.schemas.documents import DocumentRequest
from service.schemas.fields import Strategy
from service.schemas.sentences import TranslatedSentence
from service.schemas.terms import GlossaryTerm
from service.segmentation.splitting import Segmented
from service.texts.tagged import Markup, Tagged, lines_joined
from service.threads import in_thread_if_long
from service.use_cases.documents import Documents


@dataclass(frozen=True, slots=True)
class Asked:
    """A request to translate texts, each as a document of its own, with its options."""

    texts: Sequence[str]
    source_lang: str
    target_lang: str
    glossary: Sequence[GlossaryTerm] = ()
    markup: Markup | None = None
    """How their tags are read; None for plain text."""
    whole: bool = False
    """Whether a text, or each block of one with tags, is a single sentence."""
    join_lines: bool = False
    """Whether a line break within a text counts as a space only."""
    unwrap: bool = False
    """Whether paragraphs of plain text may be wrapped by hand, and are unwrapped."""
    model: str | None = None
    strategy: Strategy = "direct"
    beam_size: int | None = None
    alternatives: int = 0
    """How many other translations are wanted of each text."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A text's best translation, and other ones as far as requested and available, the best first."""

    best: str
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReadText:
    """One of the texts, split into sentences, and the way back from their translations."""

    segmented: Segmented
    tagged: Tagged | None
    """Its tags; None for plain text."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentences to translate."""
        return self.segmented.sentences

    def join(self, translations: Sequence[str], target_lang: str) -> str:
        """Make the translated text of its sentences' translations."""
        if self.tagged is not None:
            translations = [self.tagged.restored(translation) for translation in translations]
        return self.segmented.join(translations, gap=sentence_gap_of(target_lang))

    def ranked(self, sentences: Sequence[TranslatedSentence], target_lang: str) -> Ranked:
        """Make the text of the best translation of each sentence, then of the next best ones where there are any."""
        said = [[each.translation, *(other.translation for other in each.alternatives)] for each in sentences]
        ranks = range(max(map(len, said), default=1))
        texts = [self.join([each[rank if rank < len(each) else 0] for each in said], target_lang) for rank in ranks]
        best, *others = dict.fromkeys(texts)
        return Ranked(best, tuple(others))

    def document(self, asked: Asked, context: Sequence[str] = ()) -> DocumentRequest:
        """Return a request that translates the text as a document of its own, after some context."""
        return DocumentRequest(
            source_lang=asked.source_lang,
            target_lang=asked.target_lang,
            text=None if asked.whole else self.segmented.join(self.sentences),
            sentences=list(self.sentences) if asked.whole else None,
            context=list(context),
            glossary=list(asked.glossary),
            model=asked.model,
            strategy=asked.strategy,
            beam_size=asked.beam_size,
            alternatives=asked.alternatives,
        )


async def read_texts(documents: Documents, asked: Asked) -> list[ReadText]:
    """Split each text into sentences as the client requests.

    Raises:
        InvalidInputError: together, they are more than a document may have; or a text is not well-formed XML.
    """
    tagged = await in_thread_if_long(lambda: _tagged(asked), asked.texts)
    blocks = [
        [_lines_joined(asked, text)] if one is None else list(one.blocks)
        for text, one in zip(asked.texts, tagged, strict=True)
    ]
    if asked.whole:
        split = [_whole(block) for block in chain.from_iterable(blocks)]
    else:
        split = await documents.split(list(chain.from_iterable(blocks)), asked.source_lang, unwrap=asked.unwrap)
    of_all = iter(split)
    parts = [list(islice(of_all, len(each))) for each in blocks]
    return await in_thread_if_long(
        lambda: [
            ReadText(own[0] if one is None else one.segmented(own), one) for one, own in zip(tagged, parts, strict=True)
        ],
        asked.texts,
    )


def _whole(text: str) -> Segmented:
    """Take a text as one sentence, if it has words, without the white space around it."""
    if not has_words(text):
        return Segmented((), (text,))
    sentence = text.strip()
    start = text.index(sentence)
    return Segmented((sentence,), (text[:start], text[start + len(sentence) :]))


def _tagged(asked: Asked) -> list[Tagged | None]:
    markup = asked.markup
    if markup is None:
        return [None] * len(asked.texts)
    said = "".join(term.target for term in asked.glossary)
    return [markup.read(text, asked.source_lang, join_lines=asked.join_lines, taken=said) for text in asked.texts]


def _lines_joined(asked: Asked, text: str) -> str:
    return lines_joined(text, gap_of(asked.source_lang)) if asked.join_lines else text


def counted(texts: Iterable[ReadText]) -> int:
    """Count the sentences of texts for a key's quota: a text without any counts as one, since it was read as well."""
    return sum(max(1, len(text.sentences)) for text in texts)


def in_groups(texts: Iterable[ReadText], most: int) -> list[list[ReadText]]:
    """Group consecutive texts with at most `most` sentences together; a larger text is a group of its own."""
    groups: list[list[ReadText]] = []
    room = 0
    for text in texts:
        size = len(text.sentences)
        if not groups or size > room:
            groups.append([])
            room = most
        groups[-1].append(text)
        room -= size
    return groups
