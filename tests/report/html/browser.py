"""A real browser for the tests of the page: Chromium by its driver, without a network; skipped where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

PATIENCE = 60
"""Seconds that a condition may take to come true on a slow machine; none ever waits this long where it does."""
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
    "--disable-default-apps", "--no-default-browser-check", "--hide-scrollbars", "--force-device-scale-factor=1",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--no-proxy-server",
)  # fmt: skip
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


def start(profile: Path) -> Any:
    """Start Chromium with a new profile; skips where it, its driver or selenium is missing, or does not start."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.chrome.service import Service
    from urllib3.exceptions import HTTPError

    chromium = next(filter(None, map(shutil.which, NAMES)), None)
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("no chromium and chromedriver on this machine")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in (*ARGUMENTS, f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    try:
        return webdriver.Chrome(options=options, service=Service(executable_path=driver))
    except (WebDriverException, HTTPError, OSError) as error:  # no rights, memory or time: not the page's fault
        pytest.skip(f"chromium does not start here: {type(error).__name__}: {next(iter(str(error).splitlines()), '')}")


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Give the one browser of this process."""
    with pytest.MonkeyPatch.context() as patch:
        for name in PROXIES:  # the driver is on this machine
            patch.delenv(name, raising=False)
        browser = start(tmp_path_factory.mktemp("profile"))
    try:
        yield browser
    finally:
        browser.quit()


@pytest.fixture
def browser(chromium: Any) -> Any:
    """Give the browser as it was at first: a wide, light window, no page, an empty log, scripts allowed."""
    chromium.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    chromium.get("about:blank")
    window(chromium, 1400)
    scheme(chromium, "light")
    chromium.get_log("browser")
    return chromium


def window(browser: Any, width: int, height: int = 1000) -> None:
    """Set the size of the window."""
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def scheme(browser: Any, name: str, media: str = "") -> None:
    """Choose the light or dark scheme, and the medium (print)."""
    feature = {"name": "prefers-color-scheme", "value": name}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": [feature]})


def until(browser: Any, condition: Callable[[], object]) -> None:
    """Wait until a condition is true; an element that the page draws anew while it is read is asked for again."""
    from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
    from selenium.webdriver.support.wait import WebDriverWait

    redrawn = (NoSuchElementException, StaleElementReferenceException)
    WebDriverWait(browser, PATIENCE, poll_frequency=0.05, ignored_exceptions=redrawn).until(lambda _: condition())
