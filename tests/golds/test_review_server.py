"""The review as a page: who gets an answer, and what a reviewer does by keyboard alone in a real browser."""

from __future__ import annotations

import http.client
import json
import math
import re
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from pytest_extract.cases.edit import Candidate, GoldReview, OpenField, read_reviews, write_review
from pytest_extract.cases.load import load_cases
from pytest_extract.cases.schemas import SchemaCache
from pytest_extract.golds.review import Reviewer, open_items
from pytest_extract.golds.review_server import ReviewServer
from tests.report.html.browser import browser, chromium, until, window

__all__ = ["browser", "chromium"]

FIELDS = 20
HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
NAMES = [f"f{number}" for number in range(FIELDS)]


@contextmanager
def serve(reviewer: Reviewer) -> Iterator[ReviewServer]:
    with ReviewServer(reviewer) as server:
        thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.01), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ReviewServer]:
    """Serve a review of twenty fields, some of them hostile."""
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in NAMES}}
    gold = {name: f"old {name}" for name in NAMES}
    (tmp_path / "s.json").write_text(json.dumps(schema), "utf-8")
    (tmp_path / "g.json").write_text(json.dumps(gold, indent=1), "utf-8")
    text = "".join(f"\U0001f600 line {name}: new {name} {HOSTILE}\\n" for name in NAMES)
    case = {"text": text, "schema": "s.json", "gold": "g.json", "id": f"case {HOSTILE}".replace("::", "")}
    (tmp_path / "a.extract.yaml").write_text(json.dumps(case, ensure_ascii=False), "utf-8")
    open_ = {
        name: OpenField(
            why=f"outputs disagree {HOSTILE}",
            candidates=(
                Candidate(value=f"new {name}", sources=("m", HOSTILE), evidence="line 1"),
                Candidate(value=f"old {name} {HOSTILE}", sources=("n",), evidence=""),
            ),
        )
        for name in NAMES
    }
    write_review(tmp_path / "g.json", "$", GoldReview(reviewed=False, sources=("m", "n"), open=open_))
    found = load_cases(tmp_path / "a.extract.yaml", SchemaCache())
    assert found.errors == ()
    with serve(Reviewer("Ada", [*open_items(found.cases)])) as server:
        yield server


Ask = Callable[..., tuple[int, bytes, http.client.HTTPMessage]]


@pytest.fixture
def ask(served: ReviewServer) -> Iterator[Ask]:
    connections = []

    def request(path: str, *, body: object = None, **headers: str) -> tuple[int, bytes, http.client.HTTPMessage]:
        connection = http.client.HTTPConnection("127.0.0.1", served.server_port, timeout=10)
        connections.append(connection)
        sent = {
            "Host": f"127.0.0.1:{served.server_port}",
            **{name.replace("_", "-"): each for name, each in headers.items()},
        }
        data = None if body is None else json.dumps(body)
        connection.request("GET" if body is None else "POST", path, body=data, headers=sent)
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.headers

    yield request
    for connection in connections:
        connection.close()


def test_the_page_and_its_policy(served: ReviewServer, ask: Ask) -> None:
    status, body, headers = ask(f"/{served.token}/")
    assert status == 200
    policy = headers["Content-Security-Policy"]
    nonce = re.search(r"script-src 'nonce-([^']+)'", policy)
    assert nonce is not None
    assert body.count(f'nonce="{nonce[1]}"'.encode()) == 2
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"
    assert b"http://" not in body
    assert b"https://" not in body


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        pytest.param("/", {}, id="no-token"),
        pytest.param("/wrong/", {}, id="wrong-token"),
        pytest.param("/{token}", {}, id="no-slash"),
        pytest.param("/{token}/", {"Host": "evil.example:1"}, id="other-host"),
        pytest.param("/{token}/", {"Origin": "http://evil.example"}, id="other-origin"),
        pytest.param("/{token}/", {"Origin": "null"}, id="opaque-origin"),
        pytest.param("/{token}/", {"Sec_Fetch_Site": "cross-site"}, id="other-site"),
        pytest.param("/{token}/item/0", {"Origin": "http://evil.example"}, id="item-of-other-origin"),
        pytest.param("/{token}/../s.json", {}, id="file"),
        pytest.param("/{token}/item/99", {}, id="no-item"),
        pytest.param("/{token}/item/-1", {}, id="negative"),
        pytest.param("/{token}/page/0/0", {}, id="no-page-image"),
    ],
)
def test_whoever_has_not_the_address_gets_nothing(
    served: ReviewServer, ask: Ask, path: str, headers: dict[str, str]
) -> None:
    status, body, _ = ask(path.format(token=served.token), **headers)
    assert status in (403, 404)
    assert body == b""


@pytest.mark.parametrize(
    ("path", "body", "headers"),
    [
        pytest.param("/wrong/decide", {"index": 0, "action": "accept"}, {}, id="token"),
        pytest.param(
            "/{token}/decide", {"index": 0, "action": "accept"}, {"Origin": "http://evil.example"}, id="origin"
        ),
        pytest.param("/{token}/decide", {"index": 0, "action": "accept"}, {"Content_Type": "text/plain"}, id="form"),
        pytest.param("/{token}/decide", {"index": 0, "action": "format"}, {}, id="action"),
        pytest.param("/{token}/decide", {"index": True, "action": "accept"}, {}, id="index"),
        pytest.param("/{token}/decide", [], {}, id="no-object"),
        pytest.param("/{token}/decide", {"index": 0, "action": "accept", "choice": math.inf}, {}, id="infinite"),
        pytest.param("/{token}/decide", {"index": 0, "action": "accept", "choice": []}, {}, id="list"),
        pytest.param("/{token}/decide", {"index": 0, "action": "edit", "text": "[" * 100_000}, {}, id="deep"),
        pytest.param("/{token}/decide", {"index": 0, "action": "edit", "text": "9" * 5_000}, {}, id="digits"),
    ],
)
def test_what_is_no_decision_writes_nothing(
    served: ReviewServer, ask: Ask, tmp_path: Path, path: str, body: object, headers: dict[str, str]
) -> None:
    before = (tmp_path / "g.json").read_bytes()
    sent = {"Content_Type": "application/json", **headers}
    status, answer, _ = ask(path.format(token=served.token), body=body, **sent)
    assert status in (400, 403, 404)
    assert answer == b""
    assert (tmp_path / "g.json").read_bytes() == before


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param("GET /{token}/ HTTP/1.1\r\nHost: {host}\r\nHost: evil.example\r\n\r\n", id="two-hosts"),
        pytest.param("GET /{token}/ HTTP/1.1\r\nHost: evil.example\r\nHost: {host}\r\n\r\n", id="two-hosts-reversed"),
        pytest.param(
            "POST /{token}/decide HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
            "Content-Length: 100000\r\n\r\n" + "[" * 100_000,
            id="brackets",
        ),
    ],
)
def test_a_request_that_can_be_read_in_two_ways_or_is_too_deep_is_a_bad_one(
    served: ReviewServer, sent: str, capfd: pytest.CaptureFixture[str]
) -> None:
    host = f"127.0.0.1:{served.server_port}"
    with socket.create_connection(("127.0.0.1", served.server_port), 10) as connection:
        connection.sendall(sent.replace("{token}", served.token).replace("{host}", host).encode())
        assert connection.recv(1_000).split()[1] == b"400"
    assert capfd.readouterr().err == ""


def test_sixty_requests_at_once_are_answered(served: ReviewServer, ask: Ask) -> None:
    def item(index: int) -> tuple[int, bytes, http.client.HTTPMessage]:
        return ask(f"/{served.token}/item", body={"index": index}, Content_Type="application/json")

    with ThreadPoolExecutor(60) as pool:
        answers = [*pool.map(lambda index: item(index % 20)[0], range(60))]
    assert answers == [200] * 60


def test_twenty_fields_by_keyboard_alone(browser, served: ReviewServer, tmp_path: Path) -> None:
    from selenium.webdriver import Keys
    from selenium.webdriver.common.action_chains import ActionChains

    def press(*keys: str) -> None:
        ActionChains(browser).send_keys(*keys).perform()

    def decided(count: int) -> None:
        until(browser, lambda: browser.execute_script("return document.body.dataset.decided") == str(count))

    browser.get(served.address)
    decided(0)
    until(browser, lambda: browser.execute_script("return document.querySelector('mark')?.textContent") == "new f0")
    keys = {0: "2a", 1: "k", 2: "x", 3: "d"}
    for number in range(FIELDS):
        if number == 4:
            press("e")
            until(browser, lambda: browser.execute_script("return document.activeElement.id") == "text")
            press("typed by hand")
            ActionChains(browser).key_down(Keys.CONTROL).send_keys(Keys.ENTER).key_up(Keys.CONTROL).perform()
        else:
            press(*keys.get(number, "a"))
        decided(number + 1)
        if number == 0:  # the change is on the screen
            status = browser.execute_script("return document.querySelector('#status').textContent")
            assert 'accepted: "old f0" -> "old f0 </script>' in status
        assert browser.title.endswith("Review of golds")
    gold = json.loads((tmp_path / "g.json").read_text("utf-8"))
    assert gold["f0"] == f"old f0 {HOSTILE}"
    assert (gold["f1"], gold["f3"], gold["f4"]) == ("old f1", "old f3", "typed by hand")
    assert "f2" not in gold
    assert all(gold[name] == f"new {name}" for name in NAMES[5:])
    review = read_reviews(tmp_path / "g.review.json")["$"]
    assert [*review.open] == ["f3"]
    assert {each.by for each in review.decisions.values()} == {"Ada"}
    assert len(review.decisions) == FIELDS - 1
    assert browser.execute_script("return document.querySelectorAll('script, img').length") == 1
    assert browser.get_log("browser") == []


def test_a_page_of_a_pdf_with_the_evidence_marked(browser, tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    pdf = Path(__file__).parents[2] / "example_project/documents/invoices/acme.pdf"
    from pytest_extract.documents import Document

    word = next(word for word in Document(pdf).text.split() if len(word) > 5)
    (tmp_path / "acme.pdf").write_bytes(pdf.read_bytes())
    case = {
        "document": "acme.pdf",
        "schema": {"type": "object", "properties": {"a": {"type": "string"}}},
        "gold": "g.json",
    }
    (tmp_path / "g.json").write_text('{"a": "x"}', "utf-8")
    (tmp_path / "a.extract.yaml").write_text(json.dumps(case, ensure_ascii=False), "utf-8")
    field = OpenField(why="outputs disagree", candidates=(Candidate(value=word),))
    write_review(tmp_path / "g.json", "$", GoldReview(reviewed=False, open={"a": field}))
    (loaded,) = load_cases(tmp_path / "a.extract.yaml", SchemaCache()).cases
    with serve(Reviewer("Ada", [*open_items([loaded])])) as server:
        browser.get(server.address)
        until(
            browser,
            lambda: browser.execute_script("const i = document.querySelector('img'); return i && i.naturalWidth > 500"),
        )
        box = browser.execute_script("return document.querySelector('.box').getBoundingClientRect().toJSON()")
        sheet = browser.execute_script("return document.querySelector('img').getBoundingClientRect().toJSON()")
    assert 0 < box["width"] < sheet["width"]
    assert sheet["left"] <= box["left"] <= sheet["right"]
    assert sheet["top"] <= box["top"] <= sheet["bottom"]


@pytest.fixture
def drafted(tmp_path: Path) -> Reviewer:
    """Give the review of a draft with rows, of a document of two pages of text."""
    schema = {
        "type": "object",
        "properties": {
            "vendor": {"type": "string", "description": "who sends the invoice"},
            "items": {
                "type": "array",
                "items": {
                    "anyOf": [
                        {"type": "null"},
                        {
                            "type": "object",
                            "properties": {
                                "name": {"type": "string"},
                                "price": {"type": "number", "description": "of one piece"},
                            },
                        },
                    ]
                },
            },
        },
    }
    gold = {"vendor": "ACME", "items": [{"name": "Bolt", "price": 1}, {"name": "Nut", "price": 2}, {"name": "Nail"}]}
    (tmp_path / "g.json").write_text(json.dumps(gold, indent=1), "utf-8")
    text = "ACME\nBolt 1.00\n" + "filler\n" * 200 + "Nut   \n 2.50\n"
    case = {"id": "acme", "text": text, "schema": schema, "gold": "g.json"}
    (tmp_path / "a.extract.yaml").write_text(json.dumps(case), "utf-8")
    open_ = {
        "items[1].price": OpenField(
            why="outputs disagree",
            candidates=(Candidate(value=2, sources=("m",)), Candidate(value=2.5, sources=("n",))),
        ),
        "items[2]": OpenField(why="most lack it", candidates=(Candidate(value={"name": "Nail"}, sources=("n",)),)),
    }
    write_review(tmp_path / "g.json", "$", GoldReview(reviewed=False, sources=("m", "n"), agreed=3, open=open_))
    (loaded,) = load_cases(tmp_path / "a.extract.yaml", SchemaCache()).cases
    return Reviewer("Ada", [*open_items([loaded])])


def test_a_review_by_touch_alone_on_a_narrow_screen(browser, drafted: Reviewer, tmp_path: Path) -> None:
    from selenium.webdriver.common.actions import interaction
    from selenium.webdriver.common.actions.action_builder import ActionBuilder
    from selenium.webdriver.common.actions.pointer_input import PointerInput

    window(browser, 400, 800)
    finger = PointerInput(interaction.POINTER_TOUCH, "finger")

    def element(path: str):
        return browser.find_element("xpath", path)

    def tap(path: str) -> None:
        until(browser, lambda: element(path).is_displayed())
        browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element(path))
        actions = ActionBuilder(browser, mouse=finger)
        actions.pointer_action.move_to(element(path)).pointer_down().pointer_up()
        actions.perform()

    def press(name: str) -> None:
        tap(f"//*[@id='actions']/button[starts-with(., '{name} ')]")

    def shown(text: str) -> None:
        until(browser, lambda: text in browser.find_element("tag name", "body").text)

    gold = lambda: json.loads((tmp_path / "g.json").read_text("utf-8"))  # noqa: E731
    with serve(drafted) as server:
        browser.get(server.address)
        shown('items[1]: name "Nut", price 2')
        shown("of one piece")
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 400
        tap("//*[@id='candidates']/button[2]")
        press("accept")
        shown("acme items[1].price: accepted: 2 -> 2.5")
        assert gold()["items"][1]["price"] == 2.5
        press("undo")
        shown("acme items[1].price: open again")
        assert gold()["items"][1]["price"] == 2
        tap("//*[@id='candidates']/button[2]")
        press("accept")
        shown("acme items[2]")
        press("absent")
        shown("the rest of the draft")
        # every agreed value is shown, and one of them is decided by itself
        assert [row.text.split("\n")[0] for row in browser.find_elements("css selector", "#gold li .plain")] == [
            'vendor: "ACME" agreed',
            'items[0].name: "Bolt" agreed',
            "items[0].price: 1 agreed",
            'items[1].name: "Nut" agreed',
            "items[1].price: 2.5 decided",
        ]
        tap("//*[@id='gold']/li[1]/button[. = 'decide']")
        shown("who sends the invoice")
        press("keep")
        shown("acme vendor: kept")
        tap("//summary[contains(., 'decided')]")
        tap("//nav//button[. = 'the rest of the draft']")
        press("accept")
        shown("4 of 4 decided")
    assert read_reviews(tmp_path / "g.review.json")["$"].reviewed
    assert gold() == {"vendor": "ACME", "items": [{"name": "Bolt", "price": 1}, {"name": "Nut", "price": 2.5}]}


def test_of_a_large_gold_the_values_around_the_field_are_shown_and_the_rest_on_demand(browser, tmp_path: Path) -> None:
    (tmp_path / "g.json").write_text(json.dumps({"rows": [*range(1000)]}), "utf-8")
    schema = {"type": "object", "properties": {"rows": {"type": "array", "items": {"type": "integer"}}}}
    case = {"id": "acme", "text": "x", "schema": schema, "gold": "g.json"}
    (tmp_path / "a.extract.yaml").write_text(json.dumps(case), "utf-8")
    write_review(tmp_path / "g.json", "$", GoldReview(open={"rows[500]": OpenField(why="w")}))
    (loaded,) = load_cases(tmp_path / "a.extract.yaml", SchemaCache()).cases

    def rows() -> list[str]:
        return browser.execute_script("return [...document.querySelectorAll('#gold li')].map((each) => each.innerText)")

    def press(name: str, count: int) -> None:
        button = browser.find_element("xpath", f"//*[@id='gold']//button[. = '{name}']")
        browser.execute_script("arguments[0].click()", button)
        until(browser, lambda: len(rows()) == count)

    with serve(Reviewer("Ada", [*open_items([loaded])])) as server:
        browser.get(server.address)
        until(browser, lambda: len(rows()) == 202)
        assert (rows()[0], rows()[101], rows()[-1]) == ("400 values before", "rows[500]: 500 open", "400 values after")
        browser.execute_script("document.querySelector('#whole').open = false")
        until(browser, lambda: not rows())
        browser.execute_script("document.querySelector('#whole').open = true")
        until(browser, lambda: len(rows()) == 202)
        press("400 values after", 601)
        press("400 values before", 1000)


def test_a_text_is_searched_in_the_document(browser, drafted: Reviewer) -> None:
    with serve(drafted) as server:
        browser.get(server.address)
        until(browser, lambda: browser.find_element("css selector", "pre").text)
        browser.find_element("id", "search").send_keys("nut 2.50\n")
        until(browser, lambda: browser.find_element("css selector", "mark").text.split() == ["Nut", "2.50"])
        assert browser.find_element("id", "found").text == "1 of 1"
        browser.find_element("id", "search").clear()
        browser.find_element("id", "search").send_keys("screw\n")
        until(browser, lambda: browser.find_element("id", "found").text == "not found")
    assert browser.get_log("browser") == []
