"""Parts are translated again if something is lost."""

import pytest

from models.engine.requests import Options, TranslationRequest
from models.engine.runtime import Runtime
from models.search.hypotheses import Hypothesis


def test_of_tries_that_lose_as_much_the_first_is_the_translation(runtime: Runtime) -> None:
    """Each attempt has another stand-in for the same placeholder; here none of them is in the translation."""
    (prepared,) = runtime._preparation.prepare([TranslationRequest("{name}から。")], in_context=True)
    (attempts,) = runtime._attempts(prepared, Options())
    said, tries = Hypothesis(list(runtime.tokenizer.encode_target("kara.")), 0.0, 0.0), 1
    while attempts.take([said]):
        tries += 1
    assert tries == 3
    assert attempts.best == (prepared.parts[0], prepared.spelt[0], [said])


def test_a_hypothesis_that_says_nothing_is_no_alternative(runtime: Runtime) -> None:
    """It may consist of a lone space, which is a piece of its own."""
    (prepared,) = runtime._preparation.prepare([TranslationRequest("から。")], in_context=True)
    (attempts,) = runtime._attempts(prepared, Options())
    space = runtime.tokenizer.target.piece_to_id("▁")
    said = [Hypothesis(list(runtime.tokenizer.encode_target(text)), 0.0, 0.0) for text in ("らかo.", "りかo.")]
    attempts.take([said[0], Hypothesis([space], 0.0, 0.0), said[1]])
    translation = runtime._translation(prepared, [attempts])
    assert (translation.text, [other.text for other in translation.alternatives]) == ("らかo.", ["りかo."])


REPEATED, GOOD = "らか りか らか りか らか りかo.", "らか りかo."


@pytest.mark.parametrize(
    ("source", "options", "others", "chosen"),
    [
        ("から。", Options(), [GOOD], GOOD),
        ("から。", Options(), [REPEATED + "."], REPEATED),
        ("からから。", Options(), [], REPEATED),
        ("から。", Options(beam_size=1), [], REPEATED),
        ("から。", Options("sentence"), [], REPEATED),
    ],
)
def test_what_repeats_itself_is_searched_for_once_more(
    runtime: Runtime, source: str, options: Options, others: list[str], chosen: str
) -> None:
    """Not if the source does the same, or the search can drop no hypothesis; only what no longer repeats is taken."""
    (prepared,) = runtime._preparation.prepare([TranslationRequest(source)], in_context=True)
    (attempts,) = runtime._attempts(prepared, options)
    said = [Hypothesis(list(runtime.tokenizer.encode_target(text)), 0.0, 0.0) for text in (REPEATED, *others)]
    asked = []
    for each in said:
        asked.append(attempts.request.unwanted)
        going = attempts.take([each])
    assert not going
    assert asked[0] is None
    for unwanted in asked[1:]:
        assert unwanted is not None
        assert unwanted(said[0].tokens)
        assert not unwanted(list(runtime.tokenizer.encode_target(GOOD)))
    assert runtime._preparation.said(attempts.best[2][0]) == chosen
