"""Which sentences a translation memory has, and how its files are read."""

import gzip
import re
from io import BytesIO
from pathlib import Path

import pytest

from models.config import Languages
from models.errors import DataError
from models.text.memory import NO_MEMORY, Segment, TranslationMemory
from models.text.memory_files import read_memory, segments_of_tmx

JA_EN = Languages(source="ja", target="en")


def tmx(*units: str) -> bytes:
    """A TMX file with these units."""
    return f'<?xml version="1.0"?><tmx version="1.4"><header/><body>{"".join(units)}</body></tmx>'.encode()


def unit(**said: str) -> str:
    """A unit with its text by language code, in which `_` stands for a hyphen."""
    variants = (f'<tuv xml:lang="{code.replace("_", "-")}"><seg>{text}</seg></tuv>' for code, text in said.items())
    return f"<tu>{''.join(variants)}</tu>"


def read(content: bytes, source: str = "ja", target: str = "en") -> list[Segment]:
    """The segments of a TMX file."""
    return list(segments_of_tmx(BytesIO(content), source, target))


@pytest.mark.parametrize(
    ("sentence", "target"),
    [
        ("座った。", "She sat down."),
        ("  座った。\n", "She sat down."),
        ("カ\u3099ラスた\u3099。", "It is glass."),
        ("座った", None),
        ("A  cat\u3000sat.", "ネコ。"),
        ("a cat sat.", None),
        ("", None),
    ],
)
def test_a_sentence_is_known_whatever_white_space_it_has(sentence: str, target: str | None) -> None:
    """White space may differ, and what characters are composed of; all else has to be the same."""
    known = {"座った。": " She sat down. ", "A cat sat.": "ネコ。", "ガラスだ。": "It is glass."}
    memory = TranslationMemory(Segment(*each) for each in known.items())
    assert memory.find(sentence) == target
    assert NO_MEMORY.find(sentence) is None


def test_the_last_of_two_counts() -> None:
    """A memory grows at its end, so the last of two segments with the same source is the newest."""
    memory = TranslationMemory([Segment("座った。", "He sat."), Segment("座った。 ", "She sat.")])
    assert list(memory.of(["立った。", " 座った。", " 座った。"])) == [Segment("座った。", "She sat.")]


@pytest.mark.parametrize(
    ("units", "segments"),
    [
        ([unit(ja="猫", en="cat"), unit(ja="犬", de="Hund"), unit(en="dog", ja="犬")], [("猫", "cat"), ("犬", "dog")]),
        ([unit(JA_JP="猫", de="Katze", EN_gb="cat")], [("猫", "cat")]),
        ([unit(ja="猫", en_us="cat", en="a cat")], [("猫", "a cat")]),
        ([unit(ja="猫", en_us="cat", en_gb="puss")], [("猫", "cat")]),
        ([unit(ja_JP="猫", en="cat").replace("ja-JP", "ja_JP")], [("猫", "cat")]),
        (["<tu><tuv lang='ja'><seg>猫</seg></tuv><tuv lang='en'><seg>cat</seg></tuv></tu>"], [("猫", "cat")]),
        ([unit(ja="猫&amp;犬", en="cat <!-- c -->&amp; dog")], [("猫&犬", "cat & dog")]),
        ([unit(ja="<hi>猫</hi>だ", en="a <bpt i='1'>&lt;b></bpt>cat<ept i='1'>&lt;/b></ept>")], [("猫だ", "a cat")]),
        ([unit(ja="\n  猫\u3000だ\n  犬\n", en="cat\r\n\tdog")], [("猫\u3000だ 犬", "cat dog")]),
        ([unit(ja="猫", en=" "), unit(ja="犬", en="dog")], [("犬", "dog")]),
        ([unit(ja="猫", en="c\u0085at"), unit(ja="犬", en="dog")], [("犬", "dog")]),
        ([unit(ja="猫", en="cat").replace("</tu>", unit(en="puss").removeprefix("<tu>"))], [("猫", "cat")]),
        ([], []),
    ],
)
def test_units_in_both_languages_are_read(units: list[str], segments: list[tuple[str, str]]) -> None:
    """Only the text of both languages is read, whichever direction they were translated in."""
    assert read(tmx(*units)) == segments


def test_a_language_of_a_region_is_found_without_it() -> None:
    """A client may ask for a regional language; a unit in just that language takes precedence."""
    assert read(tmx(unit(ja="猫", en="cat")), "ja", "en-GB") == [("猫", "cat")]
    assert read(tmx(unit(ja="猫", en="cat", en_gb="puss")), "ja", "en-GB") == [("猫", "puss")]


def test_old_and_named_spaces_are_read() -> None:
    """Some tools write UTF-16, a namespace, or a document type, whose declaration is not fetched."""
    old = tmx(unit(ja="猫", en="cat")).decode().removeprefix('<?xml version="1.0"?>')
    utf16 = f'<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE tmx SYSTEM "tmx14.dtd">{old}'.encode("utf-16")
    assert read(utf16) == [("猫", "cat")]
    assert read(old.replace("<tmx", "<tmx xmlns='http://www.lisa.org/tmx14'").encode()) == [("猫", "cat")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not TMX: it is empty"),
        (b"cat\tneko", "is not TMX: document empty, line 1, column 1"),
        (b"<tmx>\n<b>cat</c>", "is not TMX: tag name mismatch, line 2, column 11"),
        (b"<html/>", "is not TMX: its root element is another one"),
        (tmx(unit(ja="猫", en="cat"))[:-20], "is not TMX: "),
        (f"<tmx xmlns:a='{'a' * 257}'/>".encode(), "has a namespace whose name is longer than 256 characters"),
        (
            tmx(unit(de="Katze", fr="chat"), unit(de="Hund", ja="犬")),
            "has no unit in both ja and en; the languages in it are de, fr, ja",
        ),
    ],
)
def test_what_is_no_memory_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    """The error says what is wrong with it, and names the file, if it is one."""
    with pytest.raises(DataError, match=f"^{re.escape(message)}"):
        read(content)
    file = tmp_path / "memory.TMX"
    file.write_bytes(content)
    with pytest.raises(DataError, match=f"^{re.escape(f'{file}: {message}')}"):
        read_memory(file, JA_EN)


def test_no_run_of_spaces_takes_long() -> None:
    """If the time grew with the square of their number, this would never end."""
    spaces = " " * 250_000
    assert read(tmx(unit(ja=f"か{spaces}\nき{spaces}く", en="a"))) == [Segment(f"か き{spaces}く", "a")]


def test_entities_are_nobodys_words() -> None:
    """An entity that a file declares is dropped, and nested ones are refused rather than expanded."""
    content = tmx(unit(ja="猫", en="c&e1;at")).decode().partition("?>")[2]
    assert read(f'<!DOCTYPE tmx [<!ENTITY e1 "lol">]>{content}'.encode()) == [("猫", "cat")]
    bomb = "".join(f'<!ENTITY e{n} "{f"&e{n + 1};" * 10}">' for n in range(1, 10))
    with pytest.raises(DataError, match="is not TMX: "):
        read(f'<!DOCTYPE tmx [<!ENTITY e10 "lol">{bomb}]>{content}'.encode())


def test_files_of_lines_and_packed_ones(tmp_path: Path) -> None:
    """The name decides how a file is read: as TMX, as lines, and whether it is compressed."""
    lines = tmp_path / "memory.tsv"
    lines.write_text("\ufeff猫\tcat\n\n 犬 \t dog \r\n", encoding="utf-8")
    assert read_memory(lines, JA_EN) == (("猫", "cat"), ("犬", "dog"))
    packed = tmp_path / "memory.tmx.gz"
    packed.write_bytes(gzip.compress(tmx(unit(ja="猫", en="cat"))))
    assert read_memory(packed, JA_EN) == (("猫", "cat"),)
    packed.write_bytes(gzip.compress(tmx(unit(ja="猫", en="cat")))[:-10])
    with pytest.raises(DataError, match=r"memory\.tmx\.gz: cannot be read: "):
        read_memory(packed, JA_EN)
    with pytest.raises(DataError, match=r"none\.tmx: no such file"):
        read_memory(tmp_path / "none.tmx", JA_EN)
    lines.write_text("猫\tcat\n犬\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"memory\.tsv:2: is not a source and a target separated by a tab"):
        read_memory(lines, JA_EN)
