"""Pages in Markdown: code that is only indented stays as it is, and nothing else is taken for it."""

import pytest

from service.files.kinds import kind_of

PAGE = """\
# Installation
    pip install one

Then say:

    $ one --help

\t$ one run

- An item

    and more of it

!!! note

    Words in a box

Term

:   What it is

    and more of it

Words that go
    on in the next line

```sh
    in a fence
```

> - A quotation

    $ one quoted

    the end"""
KIND = kind_of("a.md")


def test_indented_code_is_not_read() -> None:
    """It comes back where it was."""
    text = KIND.read(PAGE.encode())
    for code in ("pip install", "--help", "one run", "one quoted", "the end"):
        assert code not in text
    for words in ("and more of it", "Words in a box", "on in the next line", "in a fence"):
        assert words in text
    assert text.count("and more of it") == 2
    assert KIND.write(PAGE.encode(), text.replace("Then say", "Dann")).decode() == PAGE.replace("Then say", "Dann")


@pytest.mark.parametrize("line", ["    a\n", "    a\n\n", "- a\n", "a\n    a\n"])
def test_many_lines_do_not_take_long(line: str) -> None:
    """The time is linear in their number."""
    page = (line * 100_000).encode()
    assert KIND.write(page, KIND.read(page)) == page
