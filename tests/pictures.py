"""Draws the picture of the README: `python -m tests.pictures` runs the example project and photographs its page.

It needs chromium, chromedriver, selenium and pillow.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image

from tests.report.html.browser import start

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "pytest_extract" / "docs" / "images" / "page.png"
WIDTH, HEIGHT = 1280, 880
COLOURS = 64
CASE = "cobalt"
SHOW = """
const row = [...document.querySelectorAll("#list > li")].find(each => each.innerText.includes(arguments[0]));
row.querySelector("button, a").click();
setTimeout(() => document.querySelector(".split").scrollIntoView(), 500);
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        project = Path(temporary) / "example_project"
        shutil.copytree(ROOT / "example_project", project)
        rules = project / "rules.py"  # the mistake of the example's README
        rules.write_text(rules.read_text().replace("rows[-1].setdefault", "rows[0].setdefault"))
        page = project / "page.html"
        command = [sys.executable, "-m", "pytest", "-q", "cases", "--extract-report=page.html"]
        subprocess.run([*command, "--extract-prompt=prompts/invoice-v1.md"], cwd=project, check=False)
        photograph(page)


def photograph(page: Path) -> None:
    browser = start(page.parent / "profile")
    try:
        browser.set_window_size(WIDTH, HEIGHT)
        browser.get(page.as_uri())
        browser.execute_script(SHOW, CASE)
        time.sleep(1)  # images are drawn
        png = browser.get_screenshot_as_png()
    finally:
        browser.quit()
    PICTURE.parent.mkdir(exist_ok=True)
    Image.open(io.BytesIO(png)).convert("P", palette=Image.Palette.ADAPTIVE, colors=COLOURS).save(
        PICTURE, optimize=True
    )


if __name__ == "__main__":
    main()
