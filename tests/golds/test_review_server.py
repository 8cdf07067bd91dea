"""The review as a page: who gets an answer, and what a reviewer does by keyboard alone in a real browser."""

from __future__ import annotations

import http.client
import json
import math
import re
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from pytest_extract.cases.edit import Candidate, GoldReview, OpenField, read_reviews, write_review
from pytest_extract.cases.load import load_cases
from pytest_extract.cases.schemas import SchemaCache
from pytest_extract.documents import Document
from pytest_extract.golds.review import Reviewer, open_items
from pytest_extract.golds.review_server import ReviewServer
from tests.commands import write
from tests.report.html.browser import browser, chromium, until, window

__all__ = ["browser", "chromium"]

FIELDS = 20
HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
NAMES = [f"f{number}" for number in range(FIELDS)]


@contextmanager
def serve(tmp_path, fields, *, schema, gold, **case):
    """Serve the review of a draft in which some fields are open."""
    write({"a.extract.yaml": {"schema": schema, "gold": "g.json", **case}, "g.json": gold}, tmp_path)
    write_review(tmp_path / "g.json", "$", GoldReview(reviewed=False, sources=("m", "n"), agreed=3, open=fields))
    found = load_cases(tmp_path / "a.extract.yaml", SchemaCache())
    assert found.errors == ()
    with ReviewServer(Reviewer("Ada", [*open_items(found.cases)])) as server:
        thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.01), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def object_of(**properties):
    return {"type": "object", "properties": properties}


@pytest.fixture
def gold(tmp_path):
    return lambda: json.loads((tmp_path / "g.json").read_text("utf-8"))


@pytest.fixture
def served(tmp_path):
    """Serve a review of twenty fields, some of them hostile."""
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
    text = "".join(f"\U0001f600 line {name}: new {name} {HOSTILE}\\n" for name in NAMES)
    schema = object_of(**{name: {"type": "string"} for name in NAMES})
    gold = {name: f"old {name}" for name in NAMES}
    with serve(tmp_path, open_, schema=schema, gold=gold, text=text, id=f"case {HOSTILE}".replace("::", "")) as server:
        yield server


@pytest.fixture
def ask(served):
    """Ask the server, and return the status, the body and the headers of its answer."""

    def ask(path, body=None, **headers):
        sent = {"Host": f"127.0.0.1:{served.server_port}"} | {n.replace("_", "-"): each for n, each in headers.items()}
        method, data = ("GET", None) if body is None else ("POST", json.dumps(body))
        with closing(http.client.HTTPConnection("127.0.0.1", served.server_port, timeout=10)) as connection:
            connection.request(method, path.format(token=served.token), body=data, headers=sent)
            answer = connection.getresponse()
            return answer.status, answer.read(), answer.headers

    return ask


def test_the_page_and_its_policy(ask):
    status, body, headers = ask("/{token}/")
    assert status == 200
    policy = headers["Content-Security-Policy"]
    nonce = re.search(r"script-src 'nonce-([^']+)'", policy)
    assert body.count(f'nonce="{nonce[1]}"'.encode()) == 2
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert (headers["X-Content-Type-Options"], headers["Cache-Control"]) == ("nosniff", "no-store")
    assert not re.search(rb"https?://", body)


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/", {}),
        ("/wrong/", {}),
        ("/{token}", {}),
        ("/{token}/", {"Host": "evil.example:1"}),
        ("/{token}/", {"Origin": "http://evil.example"}),
        ("/{token}/", {"Origin": "null"}),
        ("/{token}/", {"Sec_Fetch_Site": "cross-site"}),
        ("/{token}/item/0", {"Origin": "http://evil.example"}),
        ("/{token}/../s.json", {}),
        ("/{token}/item/99", {}),
        ("/{token}/item/-1", {}),
        ("/{token}/page/0/0", {}),
    ],
)
def test_whoever_has_not_the_address_gets_nothing(ask, path, headers):
    status, body, _ = ask(path, **headers)
    assert status in (403, 404)
    assert body == b""


ACCEPT = {"index": 0, "action": "accept"}


NO_DECISIONS = {
    "token": ("/wrong/decide", ACCEPT, {}),
    "origin": ("/{token}/decide", ACCEPT, {"Origin": "http://evil.example"}),
    "form": ("/{token}/decide", ACCEPT, {"Content_Type": "text/plain"}),
    "action": ("/{token}/decide", ACCEPT | {"action": "format"}, {}),
    "index": ("/{token}/decide", ACCEPT | {"index": True}, {}),
    "no-object": ("/{token}/decide", [], {}),
    "infinite": ("/{token}/decide", ACCEPT | {"choice": math.inf}, {}),
    "list": ("/{token}/decide", ACCEPT | {"choice": []}, {}),
    "deep": ("/{token}/decide", {"index": 0, "action": "edit", "text": "[" * 100_000}, {}),
    "digits": ("/{token}/decide", {"index": 0, "action": "edit", "text": "9" * 5_000}, {}),
}


@pytest.mark.parametrize(("path", "body", "headers"), NO_DECISIONS.values(), ids=NO_DECISIONS)
def test_what_is_no_decision_writes_nothing(ask, tmp_path, path, body, headers):
    before = (tmp_path / "g.json").read_bytes()
    status, answer, _ = ask(path, body, **{"Content_Type": "application/json", **headers})
    assert status in (400, 403, 404)
    assert answer == b""
    assert (tmp_path / "g.json").read_bytes() == before


JSON_HEADERS = "Host: {host}\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n"


BAD = {
    "two-hosts": "GET /{token}/ HTTP/1.1\r\nHost: {host}\r\nHost: evil.example\r\n\r\n",
    "two-hosts-reversed": "GET /{token}/ HTTP/1.1\r\nHost: evil.example\r\nHost: {host}\r\n\r\n",
    "brackets": f"POST /{{token}}/decide HTTP/1.1\r\n{JSON_HEADERS}" + "[" * 100_000,
}


@pytest.mark.parametrize("sent", BAD.values(), ids=BAD)
def test_a_request_that_can_be_read_in_two_ways_or_is_too_deep_is_a_bad_one(served, sent, capfd):
    host = f"127.0.0.1:{served.server_port}"
    with socket.create_connection(("127.0.0.1", served.server_port), 10) as connection:
        connection.sendall(sent.replace("{token}", served.token).replace("{host}", host).encode())
        assert connection.recv(1_000).split()[1] == b"400"
    assert capfd.readouterr().err == ""


def test_sixty_requests_at_once_are_answered(ask):
    def item(index):
        return ask("/{token}/item", {"index": index % FIELDS}, Content_Type="application/json")[0]

    with ThreadPoolExecutor(60) as pool:
        assert [*pool.map(item, range(60))] == [200] * 60


def test_twenty_fields_by_keyboard_alone(browser, served, gold, tmp_path):
    from selenium.webdriver import Keys
    from selenium.webdriver.common.action_chains import ActionChains

    def press(*keys):
        ActionChains(browser).send_keys(*keys).perform()

    def decided(count):
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
    first = {"f0": f"old f0 {HOSTILE}", "f1": "old f1", "f3": "old f3", "f4": "typed by hand"}
    assert gold() == first | {name: f"new {name}" for name in NAMES[5:]}
    review = read_reviews(tmp_path / "g.review.json")["$"]
    assert [*review.open] == ["f3"]
    assert {each.by for each in review.decisions.values()} == {"Ada"}
    assert len(review.decisions) == FIELDS - 1
    assert browser.execute_script("return document.querySelectorAll('script, img').length") == 1
    assert browser.get_log("browser") == []


def test_a_page_of_a_pdf_with_the_evidence_marked(browser, tmp_path):
    pytest.importorskip("pypdfium2")
    pdf = Path(__file__).parents[2] / "example_project/documents/invoices/acme.pdf"
    word = next(word for word in Document(pdf).text.split() if len(word) > 5)
    write({"acme.pdf": pdf.read_bytes()}, tmp_path)
    field = OpenField(why="outputs disagree", candidates=(Candidate(value=word),))
    schema = object_of(a={"type": "string"})
    with serve(tmp_path, {"a": field}, schema=schema, gold={"a": "x"}, document="acme.pdf") as server:
        browser.get(server.address)
        loaded = "const i = document.querySelector('img'); return i && i.naturalWidth > 500"
        until(browser, lambda: browser.execute_script(loaded))
        rectangle = "return document.querySelector(arguments[0]).getBoundingClientRect().toJSON()"
        box, sheet = (browser.execute_script(rectangle, name) for name in (".box", "img"))
    assert 0 < box["width"] < sheet["width"]
    assert sheet["left"] <= box["left"] <= sheet["right"]
    assert sheet["top"] <= box["top"] <= sheet["bottom"]


@pytest.fixture
def drafted(tmp_path):
    """Serve the review of a draft with rows, of a document of two pages of text."""
    row = object_of(name={"type": "string"}, price={"type": "number", "description": "of one piece"})
    schema = object_of(
        vendor={"type": "string", "description": "who sends the invoice"},
        items={"type": "array", "items": {"anyOf": [{"type": "null"}, row]}},
    )
    gold = {"vendor": "ACME", "items": [{"name": "Bolt", "price": 1}, {"name": "Nut", "price": 2}, {"name": "Nail"}]}
    prices = (Candidate(value=2, sources=("m",)), Candidate(value=2.5, sources=("n",)))
    nail = Candidate(value={"name": "Nail"}, sources=("n",))
    open_ = {
        "items[1].price": OpenField(why="outputs disagree", candidates=prices),
        "items[2]": OpenField(why="most lack it", candidates=(nail,)),
    }
    text = "ACME\nBolt 1.00\n" + "filler\n" * 200 + "Nut   \n 2.50\n"
    with serve(tmp_path, open_, schema=schema, gold=gold, text=text, id="acme") as server:
        yield server


def test_a_review_by_touch_alone_on_a_narrow_screen(browser, drafted, gold, tmp_path):
    from selenium.webdriver.common.actions import interaction
    from selenium.webdriver.common.actions.action_builder import ActionBuilder
    from selenium.webdriver.common.actions.pointer_input import PointerInput

    window(browser, 400, 800)
    finger = PointerInput(interaction.POINTER_TOUCH, "finger")

    def element(path):
        return browser.find_element("xpath", path)

    def tap(path):
        until(browser, lambda: element(path).is_displayed())
        browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element(path))
        actions = ActionBuilder(browser, mouse=finger)
        actions.pointer_action.move_to(element(path)).pointer_down().pointer_up()
        actions.perform()

    def press(name):
        tap(f"//*[@id='actions']/button[starts-with(., '{name} ')]")

    def shown(text):
        until(browser, lambda: text in browser.find_element("tag name", "body").text)

    browser.get(drafted.address)
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


def test_of_a_large_gold_the_values_around_the_field_are_shown_and_the_rest_on_demand(browser, tmp_path):
    def rows():
        return browser.execute_script("return [...document.querySelectorAll('#gold li')].map((each) => each.innerText)")

    def press(name, count):
        button = browser.find_element("xpath", f"//*[@id='gold']//button[. = '{name}']")
        browser.execute_script("arguments[0].click()", button)
        until(browser, lambda: len(rows()) == count)

    schema = object_of(rows={"type": "array", "items": {"type": "integer"}})
    gold = {"rows": [*range(1000)]}
    with serve(tmp_path, {"rows[500]": OpenField(why="w")}, schema=schema, gold=gold, text="x") as server:
        browser.get(server.address)
        until(browser, lambda: len(rows()) == 202)
        assert (rows()[0], rows()[101], rows()[-1]) == ("400 values before", "rows[500]: 500 open", "400 values after")
        browser.execute_script("document.querySelector('#whole').open = false")
        until(browser, lambda: not rows())
        browser.execute_script("document.querySelector('#whole').open = true")
        until(browser, lambda: len(rows()) == 202)
        press("400 values after", 601)
        press("400 values before", 1000)


def test_a_text_is_searched_in_the_document(browser, drafted):
    browser.get(drafted.address)
    until(browser, lambda: browser.find_element("css selector", "pre").text)
    search = browser.find_element("id", "search")
    search.send_keys("nut 2.50\n")
    until(browser, lambda: browser.find_element("css selector", "mark").text.split() == ["Nut", "2.50"])
    assert browser.find_element("id", "found").text == "1 of 1"
    search.clear()
    search.send_keys("screw\n")
    until(browser, lambda: browser.find_element("id", "found").text == "not found")
    assert browser.get_log("browser") == []
