"""Documents in reStructuredText: what is translated, what stays, and that the result is such a document again."""

import html
import re

import pytest

from service.files.kinds import kind_of
from service.files.restructured.files import html_of, with_translation

PAGE = """\
.. _start:

=======
Temples
=======

The temples of Kyoto are
old, and made of wood.

Halls
-----

.. note:: A hall may be
   closed.

   Ask *first*.

.. figure:: hall.png
   :width: 80

   The hall at night.

.. code-block:: python

   print("hall")

   print("gate")

- A gate
  of stone::

    $ open gate

  and a bell

  #. First
  #. Second

.. versionadded:: 3.1
   The bell.

.. versionchanged:: 3.2 It rings.
.. [1] A note.
.. This is a comment
   of two lines.
.. |date| date::

:Author: Somebody
:orphan:

| Old pond
| frogs jump in

+-----+-----+
| one | two |
+-----+-----+

====  ====
 one  two
====  ====
one   a

two   b  c
====  ====

>>> ring()
'bong'

::

    as it is

.. unheard:of:: what
   it holds

The end.
"""
TRANSLATED = """\
.. _start:

=======
TEMPLES
=======

THE TEMPLES OF KYOTO ARE OLD, AND MADE OF WOOD.

HALLS
-----

.. note:: A HALL MAY BE CLOSED.

   ASK *FIRST*.

.. figure:: hall.png
   :width: 80

   THE HALL AT NIGHT.

.. code-block:: python

   print("hall")

   print("gate")

- A GATE OF STONE:

  ::

    $ open gate

  AND A BELL

  #. FIRST
  #. SECOND

.. versionadded:: 3.1
   THE BELL.

.. versionchanged:: 3.2 IT RINGS.
.. [1] A NOTE.
.. This is a comment
   of two lines.
.. |date| date::

:Author: SOMEBODY
:orphan:

| OLD POND
| FROGS JUMP IN

+-----+-----+
| ONE | TWO |
+-----+-----+

====  ====
ONE   TWO
====  ====
ONE   A
TWO   B  C
====  ====

>>> ring()
'bong'

::

    as it is

.. unheard:of:: what
   it holds

THE END.
"""


ONE_TO_EIGHT = "`one`_ and `two`_ or _`three`, `four.five`__; ``six_`` seven_eight NINE_* *ten*"


def capital(page: str) -> str:
    """The texts of a page, "translated": in capitals."""
    return re.sub(r"(<[^>]*+>|&[a-z]++;)|[^<&]++", lambda found: found[1] or found[0].upper(), page)


def capitals(page: str) -> str:
    """A document, "translated"."""
    return with_translation(page.encode(), capital(html_of(page.encode()))).decode()


def said(page: str, words: str, other: str) -> str:
    """A page, translated, in which some words have become other ones."""
    text = html_of(page.encode())
    assert f"<p>{html.escape(words)}</p>" in text
    return with_translation(page.encode(), text.replace(html.escape(words), html.escape(other))).decode()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_is_translated(end: str) -> None:
    """Text, titles and tables, each paragraph on a line; nothing that is for programs."""
    assert capitals(PAGE.replace("\n", end)) == TRANSLATED.replace("\n", end)


def test_what_is_not_translated_stays_as_it_is() -> None:
    """With its lines."""
    content = PAGE.encode()
    assert with_translation(content, html_of(content)) == content


@pytest.mark.parametrize(
    ("page", "words", "other", "expected"),
    [
        ("Bell\n----\n", "Bell", "The bell", "The bell\n--------\n"),
        ("Bell\n====\n", "Bell", "鐘の音色", "鐘の音色\n========\n"),
        ("====\nBell\n====\n\na", "Bell", "The bell", "========\nThe bell\n========\n\na"),
        ("======\n Bell\n======\n", "Bell", "The bell", "=========\n The bell\n=========\n"),
        ("Temples\n-------\n", "Temples", "寺", "寺\n-------\n"),
    ],
)
def test_lines_of_titles_are_not_too_short(page: str, words: str, other: str, expected: str) -> None:
    """They would be no titles; letters of Japanese count as two."""
    assert said(page, words, other) == expected


@pytest.mark.parametrize("other", ["M. Matsumoto", "1. April", "IV. Legion", "(a) word", "- a dash", "* a", "#. a"])
def test_a_paragraph_becomes_no_list(other: str) -> None:
    """Where its translation begins with what would be an item's mark, that is escaped."""
    assert said("By them\nboth\n", "By them both", other) == f"\\{other}\n"


def test_an_item_stays_one() -> None:
    """Of a single line, which a letter and a full stop make an item."""
    assert said("A. One\n\n   two\n", "A. One", "A. Eins") == "A. Eins\n\n   two\n"
    assert said("A. Person\nand one\n", "A. Person and one", "A. Person und") == "\\A. Person und\n"


def test_words_that_only_begin_like_a_mark_are_not_escaped() -> None:
    """There has to be white space behind a mark."""
    assert said("One\n", "One", "1.5 and U.S.A. and -5") == "1.5 and U.S.A. and -5\n"
    assert said("One\n", "One", "*One*") == "*One*\n"


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ("これは*寺*と**鐘**、*門*。", r"これは\ *寺*\ と\ **鐘**、*門*。"),
        ("``y*``の``s*``", r"``y*``\ の\ ``s*``"),
        ("「``a``」（:ref:`b`）、`c`_。", "「``a``」（:ref:`b`）、`c`_。"),
        ("*寺*（京都）と``a``(b)", r"*寺*\ （京都）と\ ``a``\ (b)"),
        ("版|version|_の[1]_は`a <b>`__に", r"版\ |version|_\ の\ [1]_\ は\ `a <b>`__\ に"),
        ("これは:ref:`a`の:py:func:`b`と_`c`", r"これは\ :ref:`a`\ の\ :py:func:`b`\ と\ _`c`"),
        ("A|b|c and d.*e* and f[1]_", "A|b|c and d.*e* and f[1]_"),
        ("2 * 3 * 4, x*(y)と*z and a_b", "2 * 3 * 4, x*(y)と*z and a_b"),
        ("A *b*, ``c`` and :d:`e`.", "A *b*, ``c`` and :d:`e`."),
    ],
)
def test_what_is_marked_stands_apart_from_letters(other: str, expected: str) -> None:
    """Else it would not be marked: in languages without spaces, white space that is not shown is put between them."""
    assert said("A *temple*\n", "A *temple*", other) == f"{expected}\n"


def test_links_to_a_title_still_find_it() -> None:
    """By its own words, which become the name of a target, unless there is one."""
    page = "See `the\nbell`_ and bell_.\n\n{}The Bell\n========\n\nBell\n----\n\nGate\n----\n"
    expected = "See `the\nbell`_ and bell_.\n\n.. _`The Bell`:\n\nDie Glocke\n==========\n\nBell\n----\n\nGate\n----\n"
    assert said(page.format(""), "The Bell", "Die Glocke") == expected
    assert said(page.format(""), "Gate", "Tor") == page.format("").replace("Gate", "Tor")
    target = ".. _the bell:\n\n"
    assert ".. _`" not in said(page.format(target), "The Bell", "Die Glocke")


def test_links_to_another_link_still_find_it() -> None:
    """By the words of that, which also name its target: in other words, the target is said once more."""
    page = "See `the\nbell\n<a/\nb.html>`_ and\n`gate <b_>`_.\n\nAsk `The Bell`_."
    translated = "`Die Glocke <a.html>`_ und `das Tor <b_>`_."
    assert said(page, "See `the bell <a/ b.html>`_ and `gate <b_>`_.", translated) == (
        f"{translated}\n\nAsk `The Bell`_.\n\n.. _`the bell`: a/ b.html\n"
    )
    titled = f"{page}\n\nThe Bell\n--------\n"
    assert said(titled, "The Bell", "Glocke").endswith("\n\nGlocke\n--------\n\n.. _`the bell`: a/ b.html\n")
    named = f"{page}\r\n\r\n.. _the bell: c.html\r\n"
    assert said(named, "Ask `The Bell`_.", "Frage.").endswith("Frage.\r\n\r\n.. _the bell: c.html\r\n")


def test_titles_are_long_enough_for_that() -> None:
    """Their lines are as long as what the file has."""
    assert said("A *bell*\n----\n", "A *bell*", "*鐘*の") == "*鐘*\\ の\n--------\n"


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("京都の寺は\n古い。\n", ["京都の寺は古い。"]),
        ("京都の\nPython は\n古い。", ["京都のPython は古い。"]),
        ("서울의 절은\n오래되었다.", ["서울의 절은 오래되었다."]),
        ("One\n  two\n", ["One", "two"]),
        ("* one\n* two\n  three\n\n  four", ["one", "two three", "four"]),
        ("1. one\n   two\n2. three", ["one two", "three"]),
        ("one two\n- three\n1. four", ["one two - three 1. four"]),
        ("one ::\n\n  two\n\nthree", ["one", "three"]),
        ("one two\n::\n\n  three\n\nfour\n--\n", ["one two", "four"]),
        ("one.py::\n\n  two\n\n* ``one``::\n\n    two\n\n  three", ["three"]),
        ("one\n--\n", ["one"]),
        (".. note:: one::\n\n      two\n\n   three", ["one:", "three"]),
        (".. list-table:: one\n   :header-rows: 1\n\n   * - two\n     - three", ["one", "two", "three"]),
        (
            ".. py:function:: one(two)\n\n   three\n\n   :param int two: four\n   :raises: five",
            ["three", "four", "five"],
        ),
        ("-a  one\n-b file, --long file  two\n    three\n--all\n    four\n", ["one", "two", "three", "four"]),
        ("`one`__ and `two`__\n\n__ #three\n__ four/five.html\n", ["`one`__ and `two`__"]),
        ("one::\n    two\n", ["one::", "two"]),
        ("one_ and `two`_ or _`three`, four.five__;\n``six_`` seven_eight NINE_* *ten*", [ONE_TO_EIGHT]),
        ("``<hr>`` is <b>one</b> & &amp; |two|", ["``<hr>`` is <b>one</b> & &amp; |two|"]),
        (".. toctree::\n   :maxdepth: 2\n\n   one\n   two\n", []),
        (".. image:: one.png\n   :alt: two\n\n:ref:`three`\n", []),
        (".. one\n\n   two\n\n__ https://three.org\n.. __: four\n..\n   five\n", []),
        ("+---+\n| a |\n+---+\none\n\n=  =\na  b\n=  =\n\ntwo", ["a", "b", "two"]),
        ("=  =\na  b\n\none\n\n=  =\nc  d\n\ntwo", ["one", "two"]),
    ],
)
def test_which_words_are_paragraphs(page: str, words: list[str]) -> None:
    """Lines of a paragraph are joined as its language does; lists and directives have texts of their own."""
    content = page.encode()
    assert [html.unescape(each) for each in re.findall("<p>(.*?)</p>", html_of(content))] == words
    assert with_translation(content, html_of(content)) == content


@pytest.mark.parametrize(
    "line",
    [
        "a\n",
        "a\n\n",
        "* a\n",
        ".. a::\n",
        ".. a::\n\n",
        "..\n",
        "a::\n\n",
        "= =\n\n",
        "= =\na\n",
        "= =\na\n\n",
        "+-+\n",
        "==\n",
        "\n",
        "  a\n",
    ],
)
def test_many_lines_do_not_take_long(line: str) -> None:
    """The time is linear in their number."""
    page = (line * 50_000).encode()
    assert with_translation(page, html_of(page)) == page


@pytest.mark.parametrize(
    "piece", ["`", "`a", "a_", "`a <b>`_", "`a ", "`a <", "a+", "a.", "-a ", "--a, ", ":a: ", "| ", "a::", "= "]
)
def test_long_lines_do_not_take_long(piece: str) -> None:
    """The time is linear in their length."""
    page = f"a {piece * (300_000 // len(piece))}\n".encode()
    assert with_translation(page, html_of(page)) == page


@pytest.mark.parametrize("piece", ["`", "``", "``a", "`a", ":a", ":a:`", "*a", "**a", "|a", "[1", "_`", "あ`"])
def test_long_translations_do_not_take_long(piece: str) -> None:
    """The time is linear in their length."""
    text = piece * (300_000 // len(piece))
    assert len(said("One\n", "One", text)) > len(text)


def test_its_kind_is_known() -> None:
    """By the end of its name."""
    assert kind_of("index.rst").written(b"One\n", "<p>One</p>", "de") == b"One\n"
