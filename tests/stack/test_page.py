"""The page at `/` in a real browser, against running services: what users see and do there."""

import os
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Dialog, FilePayload, Locator, Page, Route, expect, sync_playwright

from tests.support.roots import fresh_database, make_key
from tests.support.servers import ROOT, RedisServer, Replica, Replicas, bundle, eventually, free_port

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PATIENT_MS = 60_000
SAMPLES = "**/page/samples/*"

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for all tests, without a sandbox if root runs it."""
    expect.set_options(timeout=PATIENT_MS)
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=CHROMIUM, args=arguments) as one:
        yield one


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for files that last as long as this module's replica."""
    return tmp_path_factory.mktemp("page")


@pytest.fixture(scope="module")
def redis_url(redis_server: RedisServer) -> str:
    """A database without the files of other tests, which the page would show."""
    return fresh_database(redis_server, 6)


@pytest.fixture(scope="module")
def replica(folder: Path, redis_url: str) -> Iterator[Replica]:
    """A service with two language pairs; the model of one reads the translations of preceding sentences."""
    pairs = (
        bundle(folder / "ja-en"),
        bundle(folder / "fr-de", name="other", source="fr", target="de", reads_target_context=True, unsure_below=-4),
    )
    replicas = Replicas(folder, pairs[0])
    yield replicas.new(redis_url=redis_url, bundles=":".join(map(str, pairs))).start()
    replicas.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page in a window of its own; fails if a script fails or violates the page's security policy."""
    context = browser.new_context()
    context.set_default_timeout(PATIENT_MS)
    failures: list[str] = []
    context.on("weberror", lambda error: failures.append(str(error.error)))
    context.on("console", lambda message: failures.append(message.text) if "Policy" in message.text else None)
    context.route(SAMPLES, lambda route: route.fulfill(status=404))  # else one could arrive while a test types
    yield context.new_page()
    context.close()
    assert failures == []


def translate(page: Page, text: str) -> None:
    """Enter a text and have it translated."""
    page.get_by_label("Document").fill(text)
    page.locator("#text").get_by_role("button", name="Translate").click()


class Held:
    """Holds back the page's first request to such an address while the test does something else."""

    def __init__(self, page: Page, address: str) -> None:
        self._first: Route | None = None
        page.route(address, self._take)

    def _take(self, route: Route) -> None:
        if self._first is None:
            self._first = route
        else:
            route.continue_()

    def fulfill(self, page: Page, answer: object) -> None:
        """Answer it with the test's own answer, and wait until the page has processed that."""
        self._taken(page).fulfill(json=answer)
        self._wait(page)

    def end(self, page: Page, *, comes: bool) -> None:
        """Let it be answered, without waiting; or lose its answer although the service has handled it."""
        if comes:
            self._taken(page).continue_()
        else:
            self._taken(page).fetch()
            self._taken(page).abort()

    def let_go(self, page: Page) -> None:
        """Let it be answered, and wait until the page has processed the answer."""
        first = self._taken(page)
        with page.expect_response(first.request.url) as answer:
            first.continue_()
        answer.value.finished()
        self._wait(page)

    def _taken(self, page: Page) -> Route:
        """The held request, once the page has made it."""
        for _ in range(3000):
            if self._first is not None:
                return self._first
            page.wait_for_timeout(20)
        raise AssertionError("the page has not asked for it")

    def _wait(self, page: Page) -> None:
        for _ in range(2):
            page.evaluate("() => new Promise(requestAnimationFrame)")


def drop(page: Page, field: Locator, *paths: Path) -> None:
    """Drop files or folders, as from a file manager, onto the middle of a field."""
    box = field.bounding_box()
    assert box is not None
    at = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    what = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
    devtools = page.context.new_cdp_session(page)
    for kind in ("dragEnter", "dragOver", "drop"):
        devtools.send("Input.dispatchDragEvent", {"type": kind, **at, "data": what})


def say(page: Page, sentence: str) -> None:
    """Enter the next sentence of a session and have it translated."""
    page.get_by_label("Next sentence").fill(sentence)
    page.get_by_label("Next sentence").press("Enter")


def test_newcomer_presses_one_button(page: Page, replica: Replica) -> None:
    """The page offers a sample document, and loads everything from the service itself."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.context.unroute(SAMPLES)
    page.goto(replica.url)
    expect(page.get_by_label("Document")).to_have_value((ROOT / "service" / "samples" / "ja.txt").read_text().rstrip())
    page.locator("#text").get_by_role("button", name="Translate").click()
    expect(page.locator("#text output")).to_contain_text("10 sentences")
    assert {url for url in asked if not url.startswith((replica.url, "data:"))} == set()


def test_sentences_appear_as_they_become_ready(page: Page, replica: Replica, tmp_path: Path) -> None:
    """Spaces and lines between them are shown, and the text is never interpreted as HTML."""
    gate = tmp_path / "gate"
    page.goto(replica.url)
    translate(page, f"- <img src=x>one.\n\n- wait-for:{gate}")
    expect(page.locator(".translation")).to_have_text("- <IMG SRC=X>ONE.")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    gate.touch()
    expect(page.locator("#text output")).to_contain_text("2 sentences")
    expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    whole = page.locator(".translation").text_content()
    assert whole is not None
    assert whole.startswith(f"- <IMG SRC=X>ONE.\n\n- WAIT-FOR:{str(gate).upper()} [")


def test_translation_that_is_stopped(page: Page, replica: Replica, tmp_path: Path) -> None:
    """The service stops, and the translation so far stays and can be copied."""
    gate = tmp_path / "gate"
    page.goto(replica.url)
    translate(page, f"one.\nwait-for:{gate}\n" + "two.\n" * 5)
    expect(page.locator(".translation")).to_contain_text("ONE.")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    expect(page.locator(".translation")).to_contain_text("ONE.")
    expect(page.get_by_role("alert")).to_be_hidden()
    expect(page.get_by_role("button", name="Copy")).to_be_visible()
    with replica.client() as client:
        eventually(lambda: "antecedent_requests_running 1.0" in client.get("/metrics").text, "only this one runs")
    gate.touch()


def test_translation_that_another_one_takes_the_place_of(page: Page, replica: Replica, tmp_path: Path) -> None:
    """A translation that is no longer shown can be neither copied nor compared."""
    gate = tmp_path / "gate"
    page.goto(replica.url)
    translate(page, f"one.\nwait-for:{gate}\n")
    expect(page.locator("#text .translation span")).to_have_count(1)
    held = Held(page, "**/v1/models")
    translate(page, "two.")
    expect(page.locator("#text .translation span")).to_have_count(0)
    for name in ("Copy", "Compare with each sentence alone"):
        expect(page.get_by_role("button", name=name)).to_be_hidden()
    gate.touch()
    held.let_go(page)
    expect(page.locator("#text .translation")).to_have_text("TWO.")
    expect(page.get_by_role("button", name="Compare with each sentence alone")).to_be_visible()


def test_what_context_has_changed(page: Page, replica: Replica) -> None:
    """A sentence shows how many others it was read after; the comparison marks words that differ without them."""
    page.goto(replica.url)
    translate(page, "one.\ntwo.\n---\n")
    page.locator(".translation span").nth(1).click()
    expect(page.locator(".about")).to_contain_text("two. — translated with 1 preceding sentence.")
    expect(page.locator("#text output")).to_have_text(re.compile(r"^2 sentences, \d+\.\d s$"))
    table = page.locator(".differences")
    for _ in range(2):
        page.get_by_role("button", name="Compare").click()
        expect(table.locator("caption")).to_contain_text("1 of 2 sentences")
        expect(table.locator("tbody td")).to_have_text(["two.", "TWO. [one.]", "TWO."])
        expect(table.locator("mark")).to_have_text(["[one.]"])
    assert page.locator(".translation").text_content() == "ONE.\nTWO. [one.]\n---\n"


def test_comparison_of_what_was_stopped(page: Page, replica: Replica, tmp_path: Path) -> None:
    """It covers the sentences that have arrived, and does not wait for others."""
    gate = tmp_path / "gate"
    page.goto(replica.url)
    translate(page, f"one.\nwait-for:{gate}\n" + "two.\n" * 200 + "refuse\n")
    expect(page.locator(".translation span")).to_have_count(1)
    page.get_by_role("button", name="Stop").click()
    gate.touch()
    page.get_by_role("button", name="Compare").click()
    expect(page.locator(".differences caption")).to_contain_text("0 of 1 sentences")
    expect(page.get_by_role("alert")).to_be_hidden()


def test_other_translation_is_chosen(page: Page, replica: Replica) -> None:
    """A sentence offers alternatives; the chosen one replaces it in the text, and can be reverted."""
    page.goto(replica.url)
    translate(page, "one.\ntwo.")
    page.locator(".translation span").nth(1).click()
    others = page.locator(".about").get_by_role("button")
    expect(others).to_have_text(["TWO. [one.] 2", "TWO. [one.] 3", "TWO. [one.] 4"])
    others.first.click()
    expect(page.locator(".translation")).to_have_text("ONE.\nTWO. [one.] 2", use_inner_text=True)
    expect(others).to_have_text(["TWO. [one.]", "TWO. [one.] 3", "TWO. [one.] 4"])
    expect(others.first).to_be_focused()
    page.get_by_role("button", name="Compare").click()
    expect(page.locator(".differences mark")).to_have_text(["[one.]"])  # compares the service's own translation


def test_translations_that_the_model_is_unsure_of(page: Page, replica: Replica) -> None:
    """They are underlined, until somebody chooses or writes another one, and counted for a file.

    The stand-in is unsure of long sentences.
    """
    page.goto(replica.url)
    page.get_by_label("Languages").select_option(label="French → German")
    translate(page, "Une phrase courte.\n\nUne phrase qui est beaucoup plus longue que la première.")
    unsure = page.locator(".translation .unsure")
    expect(unsure).to_have_text(
        ["UNE PHRASE QUI EST BEAUCOUP PLUS LONGUE QUE LA PREMIÈRE. [Une phrase courte.=UNE PHRASE COURTE.]"]
    )
    expect(page.locator("#text output")).to_contain_text("The model is unsure of 1, underlined.")
    unsure.click()
    expect(page.locator("#text .about")).to_contain_text("The model is unsure of it.")
    page.locator("#text .about button").first.click()
    expect(unsure).to_have_count(0)
    page.get_by_role("tab", name="Sentence by sentence").click()
    say(page, "court.")
    say(page, "Une phrase qui est beaucoup plus longue que la première.")
    expect(page.locator("#session .target")).to_have_count(2)
    expect(page.locator("#session .unsure")).to_have_count(1)
    page.locator("#session .unsure").fill("lang.")
    page.locator("#session .target").last.press("Enter")
    expect(page.locator("#session .unsure")).to_have_count(0)
    page.get_by_role("tab", name="Files").click()
    text = "Une phrase courte.\n\nUne phrase qui est beaucoup plus longue que la première."
    page.locator("#files input").set_input_files({"name": "u.txt", "mimeType": "text/plain", "buffer": text.encode()})
    line = page.locator("#files li", has_text="u.txt")
    expect(line.locator("output")).to_have_text("2 of 2 sentences; the model is unsure of 1")
    line.get_by_role("button", name="Delete").click()
    expect(line).to_have_count(0)


def test_model_of_which_nothing_is_known(page: Page, replica: Replica) -> None:
    """Its translations are never underlined."""
    page.goto(replica.url)
    translate(page, "a very long sentence that this stand-in has a very low score for.")
    expect(page.locator(".translation span")).to_have_count(1)
    expect(page.locator(".unsure")).to_have_count(0)
    expect(page.locator("#text output")).to_have_text(re.compile(r"1 sentence, [\d.]+ s"))


def test_sentence_that_is_clicked_twice(page: Page, replica: Replica) -> None:
    """A double click, which chooses a word, shows the other translations once; the first answer has no place left."""
    page.goto(replica.url)
    translate(page, "one.\ntwo.")
    expect(page.get_by_role("button", name="Compare")).to_be_visible()
    held = Held(page, "**/v1/documents")
    page.locator(".translation span").nth(1).dblclick()
    expect(page.locator(".about button")).to_have_count(3)
    held.let_go(page)
    expect(page.locator(".about button")).to_have_count(3)


def test_other_translations_where_translations_are_read(page: Page, replica: Replica) -> None:
    """The sentence's translation in the document is always among them."""
    page.goto(replica.url)
    page.get_by_label("Languages").select_option(label="French → German")
    translate(page, "one.\ntwo.")
    page.locator(".translation span").nth(1).click()
    others = page.locator(".about").get_by_role("button")
    expect(others).to_have_count(4)
    others.first.click()
    expect(others.first).to_have_text("TWO. [one.=ONE.]")


def test_answer_that_comes_late(page: Page, replica: Replica) -> None:
    """Late alternatives for a sentence that has gone are not shown for the current one."""
    page.goto(replica.url)
    translate(page, "one.\ntwo.")
    expect(page.locator(".translation span")).to_have_count(2)
    held = Held(page, "**/v1/documents")
    page.locator(".translation span").nth(1).click()
    expect(page.locator(".about")).to_contain_text("two.")
    translate(page, "three.")
    page.locator(".translation span", has_text="THREE.").click()
    others = page.locator(".about").get_by_role("button")
    expect(others).to_have_text(["THREE. 2", "THREE. 3", "THREE. 4"])
    held.let_go(page)
    expect(others).to_have_text(["THREE. 2", "THREE. 3", "THREE. 4"])
    expect(page.locator(".about")).to_contain_text("three. —")


def test_text_that_was_written_before_the_example_came(page: Page, replica: Replica) -> None:
    """The sample does not overwrite the text."""
    page.context.unroute(SAMPLES)
    held = Held(page, SAMPLES)
    page.goto(replica.url)
    expect(page.get_by_label("Languages").locator("option")).to_have_count(2)
    page.get_by_label("Document").fill("my own")
    held.let_go(page)
    expect(page.get_by_label("Document")).to_have_value("my own")


def test_text_that_is_dragged(page: Page, replica: Replica) -> None:
    """Dragged text moves to where it is dropped, from one field to another."""
    page.goto(replica.url)
    page.get_by_text("Terms", exact=True).click()
    source, terms = page.get_by_label("Document"), page.get_by_label("One term per line")
    source.fill("one two")
    source.dblclick(position={"x": 20, "y": 20})
    source.drag_to(terms, source_position={"x": 20, "y": 20}, target_position={"x": 40, "y": 20})
    expect(terms).to_have_value("one")
    expect(source).to_have_value(" two")


def test_keyboard_is_enough(page: Page, replica: Replica) -> None:
    """Arrow keys reach tabs and sentences, and a shortcut in the text field translates."""
    page.goto(replica.url)
    page.get_by_label("Document").fill("one.\ntwo.")
    page.get_by_label("Document").press("Control+Enter")
    expect(page.locator(".translation span")).to_have_count(2)
    page.locator(".translation span").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator(".about")).to_contain_text("two. —")
    page.get_by_role("tab", name="Text").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("tab", name="Sentence by sentence")).to_be_focused()
    expect(page.get_by_label("Next sentence")).to_be_visible()


def test_shortcuts_of_the_browser(page: Page, replica: Replica) -> None:
    """Arrow keys with Alt, which lead back to the page before, are left to the browser."""
    reaches_browser = """place => place.dispatchEvent(
        new KeyboardEvent("keydown", { key: "ArrowLeft", altKey: true, bubbles: true, cancelable: true }))"""
    page.goto(replica.url)
    translate(page, "one.\ntwo.")
    sentence = page.locator(".translation span").nth(1)
    sentence.focus()
    assert sentence.evaluate(reaches_browser)
    expect(sentence).to_be_focused()
    tab = page.get_by_role("tab", name="Text")
    assert tab.evaluate(reaches_browser)
    expect(tab).to_have_attribute("aria-selected", "true")


def test_copy_of_a_translation(page: Page, replica: Replica) -> None:
    """It is in the clipboard, and the page says so."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(replica.url)
    translate(page, "one.\ntwo.")
    page.get_by_role("button", name="Copy").click()
    expect(page.locator("#text output")).to_have_text("Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == "ONE.\nTWO. [one.]"


def test_focus_is_never_lost(page: Page, replica: Replica, tmp_path: Path) -> None:
    """Whatever is disabled, hidden or deleted while it has the focus leaves it to what people need next."""
    gate = tmp_path / "gate"
    page.goto(replica.url)
    translate(page, f"one.\nwait-for:{gate}")
    page.get_by_role("button", name="Stop").press("Enter")
    gate.touch()
    expect(page.locator("#text").get_by_role("button", name="Translate")).to_be_focused()
    page.get_by_role("tab", name="Sentence by sentence").click()
    page.get_by_label("Next sentence").fill("one.")
    page.locator("#session").get_by_role("button", name="Translate").press("Enter")
    expect(page.locator("#session .target")).to_have_text("ONE.")
    expect(page.get_by_label("Next sentence")).to_be_focused()
    page.get_by_role("tab", name="Files").click()
    page.locator("#files input").set_input_files([FilePayload(name=f"{n}.txt", mimeType="", buffer=b"1") for n in "ab"])
    lines = page.locator("#files li")
    expect(lines).to_have_count(2)  # in either order
    lines.first.get_by_role("button", name="Delete").press("Enter")
    expect(lines).to_have_count(1)
    expect(lines.get_by_role("button", name="Delete")).to_be_focused()
    lines.get_by_role("button", name="Delete").press("Enter")
    expect(page.locator("#files input")).to_be_focused()


def test_narrow_window(page: Page, replica: Replica) -> None:
    """Nothing is wider than a phone's screen, not even a long address without spaces."""
    sentence = f"See https://example.org/{'x' * 100}"
    page.set_viewport_size({"width": 320, "height": 640})
    page.goto(replica.url)
    translate(page, sentence)
    expect(page.locator("#text output")).to_have_text(re.compile(r"^1 sentence, \d+\.\d s$"))
    page.get_by_role("button", name="Compare").click()
    expect(page.locator(".differences caption")).to_be_in_viewport()
    page.locator(".translation span").first.click()
    expect(page.locator(".about")).to_contain_text(sentence)
    expect(page.locator(".about")).to_be_in_viewport()
    width = "() => document.documentElement.scrollWidth"
    assert page.evaluate(width) == 320
    page.get_by_role("tab", name="Files").click()
    assert page.evaluate(width) == 320
    page.get_by_role("tab", name="Sentence by sentence").click()
    say(page, sentence)
    expect(page.locator("#session .target")).to_have_count(1)
    assert page.evaluate(width) == 320
    field = page.get_by_label("Next sentence").bounding_box()
    button = page.locator("#session").get_by_role("button", name="Translate").bounding_box()
    assert field is not None
    assert button is not None
    assert field["x"] + field["width"] <= button["x"], "the field does not lie over the button"


def test_narrow_window_breaks_no_words(page: Page, replica: Replica) -> None:
    """A narrow window shows the comparison in one column, which has room for long words; a wide one in three."""
    page.set_viewport_size({"width": 320, "height": 640})
    page.goto(replica.url)
    translate(page, "internationalization.\ntwo.")
    page.get_by_role("button", name="Compare").click()
    mark = page.locator(".differences mark")
    expect(mark).to_have_text("[internationalization.]")
    assert mark.evaluate("word => word.getClientRects().length") == 1
    cells = page.locator(".differences td")
    lefts = "cells => new Set(cells.map((cell) => cell.getBoundingClientRect().left)).size"
    assert cells.evaluate_all(lefts) == 1
    labels = "cells => cells.map((cell) => getComputedStyle(cell, '::before').content)"
    assert cells.evaluate_all(labels) == ["none", '"with context"', '"alone"']
    page.set_viewport_size({"width": 800, "height": 640})
    assert cells.evaluate_all(lefts) == 3
    assert set(cells.evaluate_all(labels)) == {"none"}


def test_text_that_is_read_from_right_to_left(page: Page, replica: Replica) -> None:
    """It begins at the right everywhere, whatever surrounds it, and the browser knows in which language it is."""
    looks = "parts => parts.map((part) => [getComputedStyle(part).direction, part.closest('[lang]').lang])"
    hebrew, source, target = "שלום.", ["rtl", "ja"], ["rtl", "en"]
    page.goto(replica.url)
    translate(page, f"one.\n{hebrew}")
    page.get_by_role("button", name="Compare").click()
    page.locator(".translation span").nth(1).click()
    expect(page.locator(".about button")).to_have_count(3)
    assert page.locator(".about bdi, .about button").evaluate_all(looks) == [source, target, target, target]
    assert page.locator(".differences td").evaluate_all(looks) == [source, target, target]
    translate(page, f"{hebrew}\none.")
    first, second = (page.locator(".translation span").nth(number) for number in (0, 1))
    first.focus()
    page.keyboard.press("ArrowLeft")  # onwards, in a text from right to left
    expect(second).to_be_focused()
    page.get_by_role("tab", name="Sentence by sentence").click()
    say(page, hebrew)
    cells = page.locator("#session").locator(".source, .target")
    expect(cells).to_have_count(2)
    assert cells.evaluate_all(looks) == [source, target]
    rightmost = """cells => cells.map((cell) => {
        const words = document.createRange();
        words.selectNodeContents(cell);
        return cell.getBoundingClientRect().right - words.getBoundingClientRect().right < 20;
    })"""
    assert cells.evaluate_all(rightmost) == [True, True]


def test_window_without_colours_of_its_own(page: Page, replica: Replica) -> None:
    """With forced colours (high contrast), the selected tab and sentence still stand out."""
    page.emulate_media(forced_colors="active")
    page.goto(replica.url)
    translate(page, "one.\ntwo.")
    page.locator(".translation span").nth(1).click()
    expect(page.locator(".about")).to_contain_text("two.")
    colours = "parts => new Set(parts.map((part) => getComputedStyle(part).backgroundColor)).size"
    assert page.locator("[role=tab]").evaluate_all(colours) == 2
    page.get_by_label("Document").hover()
    assert page.locator(".translation span").evaluate_all(colours) == 2


def test_refused_sentence(page: Page, replica: Replica) -> None:
    """The service's message is shown, and the text is kept."""
    page.goto(replica.url)
    translate(page, "one.\nrefuse")
    expect(page.get_by_role("alert")).to_contain_text("the model refuses this sentence")
    expect(page.get_by_label("Document")).to_have_value("one.\nrefuse")
    translate(page, "one.")
    expect(page.locator(".translation")).to_have_text("ONE.")
    expect(page.get_by_role("alert")).to_be_hidden()


def test_terms(page: Page, replica: Replica) -> None:
    """Terms apply to the next translation, with either equals sign; half a term is an error, and nothing is sent."""
    page.goto(replica.url)
    page.get_by_text("Terms", exact=True).click()
    translate(page, "one.")
    expect(page.locator(".translation")).to_have_text("ONE.")
    page.get_by_label("One term per line").fill("one")
    translate(page, "one two.")
    expect(page.get_by_role("alert")).to_contain_text("“one” is not a term")
    expect(page.locator(".translation")).to_have_text("ONE.")
    page.get_by_label("One term per line").fill("one = seven\n")
    translate(page, "one two.")
    expect(page.locator(".translation")).to_have_text("SEVEN TWO.")
    page.get_by_label("One term per line").fill("one＝eight")
    translate(page, "one two.")
    expect(page.locator(".translation")).to_have_text("EIGHT TWO.")


def test_other_languages(page: Page, replica: Replica) -> None:
    """Another language pair uses another model, which the page's footer credits."""
    page.goto(replica.url)
    languages = page.get_by_label("Languages")
    expect(languages.locator("option")).to_have_text(["Japanese → English", "French → German"])
    languages.select_option(label="French → German")
    expect(page.locator("footer")).to_contain_text("Model other · CC0-1.0 · nobody")
    translate(page, "one.\ntwo.")
    expect(page.locator(".translation")).to_have_text("ONE.\nTWO. [one.=ONE.]", use_inner_text=True)


def test_page_that_is_brought_back(page: Page, replica: Replica) -> None:
    """The browser restores the text, and the page restores the chosen languages."""
    page.goto(replica.url)
    page.get_by_label("Languages").select_option(label="French → German")
    page.get_by_label("Document").fill("one.")
    page.get_by_role("link", name="API").click()
    page.go_back()
    expect(page.get_by_label("Languages")).to_have_value("other")
    expect(page.get_by_label("Document")).to_have_value("one.")


def test_file_outlives_its_page(page: Page, replica: Replica, tmp_path: Path) -> None:
    """A file is translated while its page is closed; the next page lists it, downloads it by name, and deletes it."""
    gate = tmp_path / "gate"
    page.goto(replica.url)
    page.get_by_role("tab", name="Files").click()
    text = f"one.\nwait-for:{gate}\n"
    page.locator("#files input").set_input_files(
        {"name": "letter.txt", "mimeType": "text/plain", "buffer": text.encode()}
    )
    line = page.locator("#files li", has_text="letter.txt")
    expect(line.get_by_role("button", name="Download")).to_be_hidden()
    expect(line).to_be_visible()
    page.reload()
    gate.touch()
    page.get_by_role("tab", name="Files").click()
    expect(line.locator("output")).to_have_text("2 of 2 sentences")
    with page.expect_download() as download:
        line.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == "letter.en.txt"
    assert download.value.path().read_text().startswith("ONE.\nWAIT-FOR:")
    line.get_by_role("button", name="Delete").click()
    expect(line).to_have_count(0)
    with replica.client() as client:
        assert client.get("/v1/files").json()["files"] == []


def test_file_that_is_sent_while_the_others_are_looked_at(page: Page, replica: Replica) -> None:
    """A list that does not include it yet does not remove its line."""
    held = Held(page, "**/v1/files")
    page.goto(replica.url)
    page.get_by_role("tab", name="Files").click()
    page.locator("#files input").set_input_files({"name": "c.txt", "mimeType": "text/plain", "buffer": b"one."})
    line = page.locator("#files li", has_text="c.txt")
    expect(line.get_by_role("button", name="Download")).to_be_visible()  # so it will not be polled again
    held.fulfill(page, {"files": []})
    expect(line).to_be_visible()
    line.get_by_role("button", name="Delete").click()
    expect(line).to_have_count(0)


def test_file_that_is_deleted_while_the_others_are_looked_at(page: Page, replica: Replica) -> None:
    """A list that still includes it does not bring it back."""
    page.goto(replica.url)
    page.get_by_role("tab", name="Files").click()
    page.locator("#files input").set_input_files({"name": "c.txt", "mimeType": "text/plain", "buffer": b"one."})
    line = page.locator("#files li", has_text="c.txt")
    expect(line.get_by_role("button", name="Download")).to_be_visible()
    held = Held(page, "**/v1/files")
    page.get_by_role("tab", name="Files").click()
    found = page.request.get(f"{replica.url}/v1/files").json()
    line.get_by_role("button", name="Delete").click()
    expect(line).to_have_count(0)
    held.fulfill(page, found)
    expect(line).to_have_count(0)


def test_files_that_are_being_sent(page: Page, replica: Replica) -> None:
    """Each is visible from the start, and one that its own answer is late for is there only once."""
    page.goto(replica.url)
    page.get_by_role("tab", name="Files").click()
    held = Held(page, "**/v1/files")
    page.locator("#files input").set_input_files([FilePayload(name=f"{n}.txt", mimeType="", buffer=b"1") for n in "ab"])
    first, second = (page.locator("#files li", has_text=f"{name}.txt") for name in "ab")
    expect(first.locator("output")).to_have_text("Sending…")
    expect(second.locator("output")).to_have_text("Waiting to be sent")
    expect(first.get_by_role("button")).to_have_count(0)
    held.let_go(page)
    for line in (first, second):
        expect(line.locator("output")).to_have_text("0 of 0 sentences")
        line.get_by_role("button", name="Delete").click()
    expect(page.locator("#files li")).to_have_count(0)


def test_file_that_is_found_before_its_answer_comes(page: Page, replica: Replica) -> None:
    """It has one line, though the page has learnt of it from another request."""
    page.goto(replica.url)
    page.get_by_role("tab", name="Files").click()
    answer = page.request.post(
        f"{replica.url}/v1/files",
        multipart={
            "source_lang": "ja",
            "target_lang": "en",
            "file": FilePayload(name="c.txt", mimeType="text/plain", buffer=b"one."),
        },
    )
    assert answer.status == 202
    held = Held(page, "**/v1/files")
    page.locator("#files input").set_input_files({"name": "c.txt", "mimeType": "text/plain", "buffer": b"one."})
    line = page.locator("#files li", has_text="c.txt")
    expect(line.locator("output")).to_have_text("Sending…")
    page.get_by_role("tab", name="Files").click()
    expect(line).to_have_count(2)
    held.fulfill(page, answer.json())
    expect(line).to_have_count(1)
    line.get_by_role("button", name="Delete").click()
    expect(line).to_have_count(0)


def test_file_that_is_dropped_beside_the_field(page: Page, replica: Replica, tmp_path: Path) -> None:
    """Wherever it is dropped, the page shows that it is translated, and keeps a text that is being written."""
    (tmp_path / "e.txt").write_text("one.")
    page.goto(replica.url)
    page.get_by_label("Document").fill("two.")
    drop(page, page.get_by_label("Document"), tmp_path / "e.txt")
    line = page.locator("#files li", has_text="e.txt")
    expect(line.get_by_role("button", name="Download")).to_be_visible()
    line.get_by_role("button", name="Delete").click()
    expect(line).to_have_count(0)
    page.get_by_role("tab", name="Text").click()
    expect(page.get_by_label("Document")).to_have_value("two.")


def test_file_whose_name_has_signs(page: Page, replica: Replica) -> None:
    """Its line and its download keep special characters in the name."""
    page.goto(replica.url)
    page.get_by_role("tab", name="Files").click()
    name = 'the "old" 100% letter.txt'
    page.locator("#files input").set_input_files({"name": name, "mimeType": "text/plain", "buffer": b"one."})
    line = page.locator("#files li", has_text=name)
    with page.expect_download() as download:
        line.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename.endswith("100% letter.en.txt")
    line.get_by_role("button", name="Delete").click()
    expect(line).to_have_count(0)


def test_folder_is_no_file(page: Page, replica: Replica, tmp_path: Path) -> None:
    """The error says so, rather than blaming the service, and files dropped along with it are sent."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "d.txt").write_text("one.")
    page.goto(replica.url)
    page.get_by_role("tab", name="Files").click()
    drop(page, page.locator(".drop"), tmp_path / "folder", tmp_path / "d.txt")
    expect(page.get_by_role("alert")).to_have_text("folder: It cannot be read: is it a folder, or has it changed?")
    line = page.locator("#files li", has_text="d.txt")
    line.get_by_role("button", name="Delete").click()
    expect(line).to_have_count(0)


def test_file_that_cannot_be_translated(page: Page, replica: Replica) -> None:
    """A file of an unknown kind is refused at once, by name; one that fails later shows the reason on its line."""
    page.goto(replica.url)
    page.get_by_role("tab", name="Files").click()
    refused: FilePayload = {"name": "a.exe", "mimeType": "application/octet-stream", "buffer": b"MZ"}
    failing: FilePayload = {"name": "b.txt", "mimeType": "text/plain", "buffer": b"refuse"}
    page.locator("#files input").set_input_files([refused, failing])
    line = page.locator("#files li", has_text="b.txt")
    expect(line.locator("output")).to_contain_text("the model refuses this sentence")
    expect(page.get_by_role("alert")).to_contain_text("a.exe: ")
    expect(page.locator("#files li", has_text="a.exe")).to_have_count(0)
    line.get_by_role("button", name="Delete").click()
    expect(line).to_have_count(0)


def test_sentence_by_sentence(page: Page, replica: Replica) -> None:
    """Each sentence is read in the context of the corrected ones before it; a new document starts without context."""
    page.goto(replica.url)
    page.get_by_label("Languages").select_option(label="French → German")
    page.get_by_role("tab", name="Sentence by sentence").click()
    targets = page.locator("#session .target")
    say(page, "one.")
    expect(targets).to_have_text(["ONE."])
    expect(page.get_by_label("Next sentence")).to_have_value("")
    targets.first.fill("Eins.")
    targets.first.press("Enter")
    say(page, "two.")
    expect(targets).to_have_text(["Eins.", "TWO. [one.=Eins.]"])
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="New document").click()
    say(page, "three.")
    expect(targets).to_have_text(["THREE."])
    page.get_by_label("Languages").select_option(label="Japanese → English")
    expect(targets).to_have_count(0)


def test_copy_of_a_document_that_grows(page: Page, replica: Replica) -> None:
    """The clipboard has its translations as they were corrected; a new document has nothing to copy."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(replica.url)
    page.get_by_role("tab", name="Sentence by sentence").click()
    copy = page.get_by_role("button", name="Copy")
    expect(copy).to_have_count(0)
    say(page, "one.")
    page.locator("#session .target").fill("Eins.")
    say(page, "two.")
    expect(page.locator("#session .target")).to_have_count(2)
    copy.click()
    expect(page.locator("#session form output")).to_have_text("Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == "Eins.\nTWO. [one.]"
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="New document").click()
    expect(copy).to_have_count(0)


def test_correction_of_several_lines(page: Page, replica: Replica) -> None:
    """Lines that are pasted into a sentence become one, with a space between the words."""
    page.goto(replica.url)
    page.get_by_role("tab", name="Sentence by sentence").click()
    say(page, "one.")
    target = page.locator("#session .target")
    expect(target).to_have_text("ONE.")
    target.focus()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text("Eins  und\n\nzwei.\n")
    with page.expect_request("**/sentences/0") as saved:
        target.press("Enter")
    assert saved.value.post_data_json == {"translation": "Eins  und zwei."}
    expect(target).to_have_text("Eins  und zwei.", use_inner_text=True)


def test_another_translation_of_a_sentence_is_chosen(page: Page, replica: Replica) -> None:
    """It can be chosen by mouse or keyboard while the sentence has the focus, and becomes context for the next ones."""
    page.goto(replica.url)
    page.get_by_label("Languages").select_option(label="French → German")
    page.get_by_role("tab", name="Sentence by sentence").click()
    say(page, "one.")
    target, others = page.locator("#session .target"), page.locator("#session .others").first
    expect(target).to_have_text(["ONE."])
    expect(others).to_be_hidden()
    target.first.click()
    expect(others.get_by_role("button")).to_have_text(["ONE. 2", "ONE. 3", "ONE. 4"])
    others.get_by_role("button", name="ONE. 3").click()
    expect(target).to_have_text(["ONE. 3"])
    expect(others.get_by_role("button")).to_have_text(["ONE.", "ONE. 2", "ONE. 4"])
    say(page, "two.")
    expect(target.last).to_have_text("TWO. [one.=ONE. 3]")
    expect(others).to_be_hidden()
    target.first.fill("Eins.")
    expect(others.get_by_role("button")).to_have_text(["ONE.", "ONE. 2", "ONE. 3", "ONE. 4"])
    target.first.press("Tab")
    page.keyboard.press("Enter")
    say(page, "three.")
    expect(target).to_have_text(["ONE.", "TWO. [one.=ONE. 3]", "THREE. [one.=ONE. | two.=TWO.]"])


def test_document_that_grows_is_not_deleted_by_mistake(page: Page, replica: Replica) -> None:
    """People are asked before a new document, other languages or another page takes its place."""
    asked: list[str] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    page.goto(replica.url)
    page.get_by_label("Languages").select_option(label="French → German")
    page.get_by_role("tab", name="Sentence by sentence").click()
    say(page, "one.")
    expect(page.locator("#session .target")).to_have_text(["ONE."])
    page.get_by_role("button", name="New document").click()
    page.get_by_label("Languages").select_option(label="Japanese → English")
    expect(page.get_by_label("Languages")).to_have_value("other")
    page.evaluate("location.reload()")
    say(page, "two.")
    expect(page.locator("#session .target")).to_have_text(["ONE.", "TWO. [one.=ONE.]"])
    assert asked == ["confirm", "confirm", "beforeunload"]


def test_correction_is_not_lost(page: Page, replica: Replica) -> None:
    """It can be undone after it was saved, and is offered after another translation was chosen in its place."""
    page.goto(replica.url)
    page.get_by_role("tab", name="Sentence by sentence").click()
    say(page, "one.")
    target, others = page.locator("#session .target"), page.locator("#session .others button")
    target.click()
    page.keyboard.press("End")
    page.keyboard.insert_text(" Mine.")
    page.keyboard.press("Enter")
    target.focus()
    page.keyboard.press("Control+z")
    expect(target).to_have_text("ONE.")
    page.keyboard.press("Control+Shift+z")
    expect(target).to_have_text("ONE. Mine.")
    others.first.click()
    expect(others).to_have_text(["ONE. 2", "ONE. 3", "ONE. 4", "ONE. Mine."])
    others.last.click()
    expect(target).to_have_text("ONE. Mine.")


def test_correction_of_a_sentence_that_is_no_longer_kept(page: Page, replica: Replica) -> None:
    """It stays on the page, and is as good as saved: no later sentence is translated with it."""
    page.goto(replica.url)
    page.get_by_role("tab", name="Sentence by sentence").click()
    with page.expect_response("**/v1/sessions") as begun:
        say(page, "one.")
    target = page.locator("#session .target")
    expect(target).to_have_text("ONE.")
    sentences = f"{replica.url}/v1/sessions/{begun.value.json()['session_id']}/sentences"
    for _ in range(32):
        assert page.request.post(sentences, data={"text": "two."}).ok
    target.fill("Eins.")
    with page.expect_response("**/sentences/0") as answer:
        target.press("Enter")
    assert answer.value.status == 410
    expect(target).to_have_class("target")
    expect(target).to_have_text("Eins.")
    expect(page.get_by_role("alert")).to_be_hidden()


def test_enter_that_ends_a_composition(page: Page, replica: Replica) -> None:
    """It belongs to the input method, and does not end a correction, not even as Safari reports it."""
    page.goto(replica.url)
    page.get_by_role("tab", name="Sentence by sentence").click()
    say(page, "one.")
    target = page.locator("#session .target")
    target.focus()
    for how in ({"isComposing": True}, {"keyCode": 229}):
        target.dispatch_event("keydown", {"key": "Enter", **how})
        expect(target).to_be_focused()


def test_sentence_of_nothing_but_spaces(page: Page, replica: Replica) -> None:
    """It is not sent: its row would be empty."""
    page.goto(replica.url)
    page.get_by_role("tab", name="Sentence by sentence").click()
    say(page, " \u3000")
    say(page, "one.")
    expect(page.locator("#session .target")).to_have_text(["ONE."])


def test_session_that_is_full(page: Page, replicas: Replicas, redis_url: str) -> None:
    """The page says so, instead of promising that the next attempt succeeds."""
    page.goto(replicas.new(redis_url=redis_url, max_session_sentences="1").start().url)
    page.get_by_role("tab", name="Sentence by sentence").click()
    say(page, "one.")
    expect(page.locator("#session .target")).to_have_count(1)
    say(page, "two.")
    expect(page.get_by_role("alert")).to_contain_text("this session has 1 sentences, which is the maximum")


def test_button_below_a_sentence_with_other_translations(page: Page, replica: Replica) -> None:
    """Pressing it takes the focus from the sentence, but does not move it away from under the mouse."""
    page.goto(replica.url)
    page.get_by_role("tab", name="Sentence by sentence").click()
    say(page, "one.")
    page.locator("#session .target").click()
    expect(page.locator("#session .others")).to_be_visible()
    page.get_by_label("Next sentence").evaluate("field => { field.value = 'two.'; }")  # filling it would focus it
    page.locator("#session").get_by_role("button", name="Translate").click(delay=100)
    expect(page.locator("#session .target")).to_have_text(["ONE.", "TWO. [one.]"])
    expect(page.locator("#session .others").first).to_be_hidden()


def test_sentence_that_is_written_before_the_models_are_known(page: Page, replica: Replica) -> None:
    """It is translated as soon as they are."""
    held = Held(page, "**/v1/models")
    page.goto(replica.url)
    page.get_by_role("tab", name="Sentence by sentence").click()
    say(page, "one.")
    expect(page.locator("#session .target")).to_have_text(["ONE."])
    held.let_go(page)
    expect(page.locator("#session .target")).to_have_text(["ONE."])


@pytest.mark.parametrize("asked", ["models", "sessions"])
def test_languages_that_change_in_the_midst_of_a_sentence(page: Page, replica: Replica, asked: str) -> None:
    """The sentence for the former model is dropped, and the next one goes to the new model."""
    page.goto(replica.url)
    page.get_by_role("tab", name="Sentence by sentence").click()
    expect(page.get_by_label("Languages").locator("option")).to_have_count(2)
    held = Held(page, f"**/v1/{asked}")
    say(page, "one.")
    expect(page.get_by_label("Next sentence")).not_to_be_editable()
    page.get_by_label("Languages").select_option(label="French → German")
    held.let_go(page)
    expect(page.get_by_label("Next sentence")).to_be_editable()
    say(page, "two.")
    say(page, "three.")
    expect(page.locator("#session .target")).to_have_text(["TWO.", "THREE. [two.=TWO.]"])


def test_correction_that_cannot_be_saved(page: Page, replica: Replica) -> None:
    """It stays in place, marked as unsaved, and the next attempt saves it; emptying a sentence is no correction."""
    page.goto(replica.url)
    page.get_by_role("tab", name="Sentence by sentence").click()
    say(page, "one.")
    target = page.locator("#session .target")
    expect(target).to_have_text("ONE.")
    page.context.set_offline(True)
    target.fill("Eins.")
    target.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("The service cannot be reached.")
    expect(target).to_have_class("target unsaved")
    expect(target).to_have_text("Eins.")
    page.context.set_offline(False)
    target.focus()
    target.press("Enter")
    expect(target).to_have_class("target")
    target.fill("")
    target.press("Enter")
    expect(target).to_have_text("Eins.")


@pytest.mark.parametrize("comes", [True, False])
def test_correction_that_is_taken_back(page: Page, replica: Replica, *, comes: bool) -> None:
    """Even if the first correction is still in flight, or its answer was lost, the model reads what the page shows."""
    page.goto(replica.url)
    page.get_by_label("Languages").select_option(label="French → German")
    page.get_by_role("tab", name="Sentence by sentence").click()
    say(page, "one.")
    target = page.locator("#session .target").first
    expect(target).to_have_text("ONE.")
    held = Held(page, "**/v1/sessions/*/sentences/*")
    target.fill("Eins.")
    target.press("Enter")
    target.fill("ONE.")
    target.press("Enter")
    held.end(page, comes=comes)
    say(page, "two.")
    expect(page.locator("#session .target")).to_have_text(["ONE.", "TWO. [one.=ONE.]"])
    expect(target).to_have_class("target")


def test_service_that_is_away_for_a_while(page: Page, replicas: Replicas, redis_url: str) -> None:
    """A sentence that could not be sent stays in its field, and the session continues with it afterwards."""
    service = replicas.new(redis_url=redis_url, port=str(free_port())).start()
    page.goto(service.url)
    page.get_by_role("tab", name="Sentence by sentence").click()
    say(page, "one.")
    expect(page.locator("#session .target")).to_have_text(["ONE."])
    service.end(signal.SIGKILL)
    say(page, "two.")
    expect(page.get_by_role("alert")).to_have_text("The service cannot be reached.")
    expect(page.get_by_label("Next sentence")).to_have_value("two.")
    service.start()
    page.get_by_label("Next sentence").press("Enter")
    expect(page.locator("#session .target")).to_have_text(["ONE.", "TWO. [one.]"])


def test_page_of_a_service_with_keys(page: Page, replicas: Replicas, redis_url: str, tmp_path: Path) -> None:
    """The page asks until it gets a key that may translate, and keeps it only as long as the tab is open."""
    settings = {"keys": "file", "keys_file": str(tmp_path / "keys.json")}
    administrators, key = make_key(settings, "admin"), make_key(settings, "translate")
    service = replicas.new(redis_url=redis_url, **settings).start()
    page.goto(service.url)
    for given in ("wrong", "ключ", administrators, key):
        page.get_by_label("API key").fill(given)
        expect(page.get_by_label("API key")).to_be_focused()
        page.get_by_role("button", name="Use it").click()
        expect(page.get_by_role("alert")).to_be_visible(visible=given != key)
    expect(page.get_by_label("API key")).to_be_hidden()
    expect(page.get_by_label("Languages")).to_have_value("stand-in")
    page.reload()
    translate(page, "one.")
    expect(page.locator(".translation")).to_have_text("ONE.")
    expect(page.get_by_role("button", name="Use another key")).to_be_visible()
    assert key not in str(page.context.storage_state())


def test_models_that_come_and_go(page: Page, replicas: Replicas, redis_server: RedisServer, tmp_path: Path) -> None:
    """An unloaded model is reported, and a new one can be chosen even if browsers have no name for its language."""
    for name, target in (("one", "en"), ("two", "en-abc")):
        bundle(tmp_path / name, name=name, target=target)
    url = fresh_database(redis_server, 5)
    service = replicas.new(redis_url=url, bundles=str(tmp_path / "one"), bundle_root=str(tmp_path)).start()
    page.goto(service.url)
    expect(page.get_by_label("Languages")).to_have_value("one")
    with service.client() as client:
        assert client.post("/v1/models", json={"bundle": "two"}).status_code == 200
        assert client.delete("/v1/models/one").status_code == 204
    translate(page, "one.")
    expect(page.get_by_role("alert")).to_contain_text("The model one is no longer served")
    expect(page.get_by_label("Languages").locator("option")).to_have_text(["Japanese → en-abc"])
    translate(page, "one.")
    expect(page.locator(".translation")).to_have_text("ONE.")
