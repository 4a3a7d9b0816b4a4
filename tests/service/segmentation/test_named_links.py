"""Markdown's links that are named by their own words get their addresses; everything else stays as it is."""

import pytest

from service.segmentation.named_links import with_addresses

DEFINITIONS = """
[Flask]: https://flask.example/a_(b)
[donate  today]: <https://example.org/donate> "Thank you"
[京都]:
  kyoto/index.md
[`pip`]: https://pip.example
[1.0]: https://example.org/1.0
> [Quoted]: quoted.md
[odd]: https://example.org/a (A title in brackets)
[^1]: A note, with an address: https://example.org
"""


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            "See [Flask][] and [flask].",
            "See [Flask](https://flask.example/a_(b)) and [flask](https://flask.example/a_(b)).",
        ),
        ("[Flask]: it is small.", "[Flask](https://flask.example/a_(b)): it is small."),
        ("please [Donate today].", 'please [Donate today](https://example.org/donate "Thank you").'),
        ("## [京都]", "## [京都](kyoto/index.md)"),
        ("> See [quoted].", "> See [quoted](quoted.md)."),
        ("Use [`pip`][].", "Use [`pip`](https://pip.example)."),
        ("[![Flask][]](b.html)", "[![Flask](https://flask.example/a_(b))](b.html)"),
        ("[PEP 8][flask], [a city][京都]", "[PEP 8](https://flask.example/a_(b)), [a city](kyoto/index.md)"),
        ("## [1.0] - 2024-05-03", None),
        ("[the framework][Flask], [Flask](a.html)", None),
        ("`[Flask][]` and \\[Flask]", None),
        ("```\n[Flask]\n```", None),
        ("[odd] [^1] [unknown][] [x]", None),
    ],
)
def test_links_have_their_addresses(said: str, expected: str | None) -> None:
    """A name may be in capitals or not; what is code, or has no letter, or leads elsewhere, is left alone."""
    assert with_addresses(f"{said}\n{DEFINITIONS}") == f"{said if expected is None else expected}\n{DEFINITIONS}"


def test_brackets_without_definitions_stay() -> None:
    """They are no links."""
    assert with_addresses("[Flask][] is [small]: yes.") == "[Flask][] is [small]: yes."


def test_many_definitions_do_not_take_long() -> None:
    """Neither do brackets that are not closed; the time is linear."""
    text = "".join(f"[name{number}]: a{number}.md\n" for number in range(5_000))
    assert with_addresses("[" * 50_000 + "\n" + text).endswith(text)
