"""Parts are translated again if something is lost."""

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
