"""The report in a real browser: no violation of accessibility rules, two printed pages, nothing wider than a phone."""

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import discreet as dp

pytestmark = pytest.mark.nightly

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
RUN = """axe.run(document, {resultTypes: ["violations"]}).then(found => {
  const element = document.createElement("pre");
  element.id = "found";
  element.textContent = JSON.stringify({
    violations: found.violations.map(each => [each.id, each.help, each.nodes.map(node => node.html)]),
    passes: found.passes.length
  });
  document.body.append(element);
});"""
WIDE = """addEventListener("load", () => {
  const inner = document.querySelector("iframe").contentDocument.documentElement;
  const element = document.createElement("pre");
  element.id = "found";
  element.textContent = JSON.stringify([inner.scrollWidth, inner.clientWidth]);
  document.body.append(element);
});"""
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')


def axe() -> Path:
    """axe-core, from AXE_CORE or from npm's global packages."""
    named = os.environ.get("AXE_CORE")
    npm = shutil.which("npm")
    if named is None and npm is not None:
        root = subprocess.run([npm, "root", "--global"], capture_output=True, text=True, check=False).stdout.strip()
        named = str(Path(root) / "axe-core" / "axe.min.js")
    if named is None or not Path(named).is_file():
        pytest.skip("axe-core is not installed: npm install --global axe-core, or AXE_CORE=.../axe.min.js")
    return Path(named)


def chromium(*words: str | Path, tmp_path: Path) -> str:
    """What a browser without a window prints."""
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed: apt-get install chromium")
    command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    return subprocess.run([*command, *words], capture_output=True, text=True, check=True, timeout=120).stdout


def found_in(text: str):
    return json.loads(html.unescape(re.search(r'<pre id="found">(.*?)</pre>', text, re.DOTALL)[1]))


ALL = ["wards", "median", "sql", "selection", "gauss", "keys", "estimate", "row", "exact"]


@pytest.fixture(params=[["wards"], ALL], ids=["one", "all"])
def page(request, made, tmp_path):
    paths = [made[0] / f"{name}.json" for name in request.param]
    return dp.report(paths, about={"curator": "Example hospital"}).save(tmp_path / "report.html")[0]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_no_violation(page, tmp_path, dark):
    library = axe().read_text(encoding="utf-8").replace("</script", "<\\/script")
    text = POLICY.sub("", page.read_text(encoding="utf-8"))
    checked = tmp_path / "checked.html"
    checked.write_text(text.replace("</body>", f"<script>{library}</script><script>{RUN}</script></body>"), "utf-8")
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    found = found_in(chromium(scheme, "--virtual-time-budget=20000", "--dump-dom", checked.as_uri(), tmp_path=tmp_path))
    assert found["violations"] == []
    assert found["passes"] > 20


def test_the_page_is_not_wider_than_a_phone(page, tmp_path):
    frame = tmp_path / "phone.html"
    style = "border:0;width:390px;height:4000px"
    frame.write_text(f'<iframe src="{page.as_uri()}" style="{style}"></iframe><script>{WIDE}</script>', "utf-8")
    words = ("--allow-file-access-from-files", "--virtual-time-budget=5000", "--dump-dom")
    whole, seen = found_in(chromium(*words, frame.as_uri(), tmp_path=tmp_path))
    assert whole <= seen <= 390


@pytest.mark.parametrize("name", ["wards", "gauss", "sql", "median", "selection", "estimate", "row"])
def test_an_ordinary_release_is_two_pages_of_a4(made, tmp_path, name):
    if shutil.which("pdfinfo") is None:
        pytest.skip("pdfinfo is not installed: apt-get install poppler-utils")
    about = dict.fromkeys(("curator", "purpose", "contact"), "A sentence of ordinary length about this deployment")
    page = dp.report([made[0] / f"{name}.json"], about=about).save(tmp_path / "report.html")[0]
    printed = tmp_path / "report.pdf"
    chromium("--no-pdf-header-footer", f"--print-to-pdf={printed}", page.as_uri(), tmp_path=tmp_path)
    facts = subprocess.run(["pdfinfo", printed], capture_output=True, text=True, check=True).stdout
    assert re.search(r"^Pages: +2$", facts, re.MULTILINE)
    assert "(A4)" in facts
