"""A real JupyterLab server for the whole session, a real Chromium for each module, and nothing left behind."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from lab_page import Lab, NotebookPage
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect, sync_playwright

CHROMIUM_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
expect.set_options(timeout=20_000)  # a busy machine is slow, not wrong
LOCAL_HOSTS = {"127.0.0.1", "localhost"}
HELPERS = Path(__file__).parents[1] / "widgets"  # the hand-made backend, which notebooks import


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def lab(chromium_path: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab on a free port, with a token, in folders of its own."""
    home = tmp_path_factory.mktemp("lab")
    server = Lab(url=f"http://127.0.0.1:{_free_port()}", token=secrets.token_hex(16), root=home / "notebooks", runtime=home / "runtime")
    server.root.mkdir()
    log = (home / "server.log").open("wb")
    process = subprocess.Popen(_lab_command(server), env=_lab_environment(home), stdout=log, stderr=log, start_new_session=True)
    try:
        _wait_until_up(server, process, Path(log.name))
        yield server
    finally:
        _end(process)
        log.close()


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """Where the system's Chromium is; without one the tests are skipped, or fail where ``HYPERVIZ_REQUIRE_BROWSER`` is 1."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        reason = "no Chromium on PATH: install it (Debian: apt-get install chromium) to run the browser tests"
        pytest.fail(reason) if os.environ.get("HYPERVIZ_REQUIRE_BROWSER") == "1" else pytest.skip(reason)
    return path


@pytest.fixture(scope="module")
def chromium(chromium_path: str) -> Iterator[Browser]:
    """Chromium, driven by Playwright; one per module, as Playwright's event loop would be in the way of other tests."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path, args=CHROMIUM_FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def watched(chromium: Browser) -> Iterator[Watched]:
    """A page that can reach this machine only."""
    context = chromium.new_context(viewport={"width": 1440, "height": 1000})
    yield _watch(context)
    context.close()


@pytest.fixture
def page(watched: Watched) -> Iterator[Page]:
    """The module's page; the test fails if the page tried to reach another machine, or logged an error."""
    watched.outside.clear()
    watched.errors.clear()
    yield watched.page
    assert watched.outside == [], "the page tried to reach another machine"
    assert [error for error in watched.errors if not _is_harmless(error)] == []


@pytest.fixture
def open_notebook(lab: Lab, page: Page) -> Iterator[Callable[..., NotebookPage]]:
    """A function that opens a notebook of these cells in a fresh kernel, which is shut down at the end of the test."""

    def open_(*cells: str, name: str = "notebook.ipynb") -> NotebookPage:
        lab.write(name, cells)
        return NotebookPage.open(lab, page, name)

    yield open_
    lab.shut_down_kernels()


@dataclass
class Watched:
    """A page, and what it should not have done."""

    page: Page
    outside: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def _watch(context: BrowserContext) -> Watched:
    watched = Watched(context.new_page())
    watched.page.set_default_timeout(20_000)
    watched.page.on("console", lambda message: watched.errors.append(message.text) if message.type == "error" else None)
    watched.page.on("pageerror", lambda error: watched.errors.append(str(error)))

    def allow(route: Route) -> None:
        if urlsplit(route.request.url).hostname in LOCAL_HOSTS:
            route.continue_()
        else:
            watched.outside.append(route.request.url)
            route.abort()

    context.route(lambda url: urlsplit(url).scheme in ("http", "https"), allow)
    return watched


def _is_harmless(error: str) -> bool:
    """JupyterLab asks for files that a fresh folder does not have yet, and says when a kernel, and so a widget's model, is gone."""
    return any(words in error for words in ("404 (Not Found)", "widget model not found"))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _lab_command(lab: Lab) -> list[str]:
    address = urlsplit(lab.url)
    return [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
        f"--ServerApp.ip={address.hostname}",
        f"--ServerApp.port={address.port}",
        "--ServerApp.port_retries=0",
        f"--IdentityProvider.token={lab.token}",
        f"--ServerApp.root_dir={lab.root}",
        "--ServerApp.terminals_enabled=False",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdates",
        "--LabApp.news_url=None",
        # should the test run itself be killed, what it started ends by itself
        "--ServerApp.shutdown_no_activity_timeout=900",
        "--MappingKernelManager.cull_idle_timeout=600",
    ]


def _lab_environment(home: Path) -> dict[str, str]:
    """Settings, data and runtime files under ``home``, so that nobody's own JupyterLab is seen or touched."""
    settings = home / "config" / "lab" / "user-settings" / "@jupyterlab"
    quiet = settings / "apputils-extension" / "notification.jupyterlab-settings"
    quiet.parent.mkdir(parents=True)
    quiet.write_text(json.dumps({"fetchNews": "false", "checkForUpdates": False}))
    folders = {
        "JUPYTER_CONFIG_DIR": home / "config",
        "JUPYTER_DATA_DIR": home / "data",
        "JUPYTER_RUNTIME_DIR": home / "runtime",
        "IPYTHONDIR": home / "ipython",
        "PYTHONPATH": HELPERS,
    }
    return {**os.environ, **{name: str(path) for name, path in folders.items()}}


def _wait_until_up(lab: Lab, process: subprocess.Popen, log: Path) -> None:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"{lab.url}/api/status?token={lab.token}", timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text()[-4000:]}")


def _end(process: subprocess.Popen) -> None:
    """SIGTERM lets the server shut its kernels down; what is left of its group after that is killed."""
    process.terminate()
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
