"""Acting as a person in JupyterLab, and asking the kernel behind the page what it knows."""

from __future__ import annotations

import ast
import json
import re
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import nbformat
from jupyter_client import BlockingKernelClient
from playwright.sync_api import Locator, Page, expect


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab server."""

    url: str
    token: str
    root: Path
    runtime: Path

    def write(self, name: str, cells: Sequence[str]) -> Path:
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
        nbformat.write(notebook, self.root / name)
        return self.root / name

    def read(self, name: str) -> nbformat.NotebookNode:
        return nbformat.read(self.root / name, as_version=4)

    def request(self, path: str, method: str = "GET") -> bytes:
        headers = {"Authorization": f"token {self.token}"}
        with urllib.request.urlopen(urllib.request.Request(self.url + path, method=method, headers=headers), timeout=30) as answer:
            return answer.read()

    def shut_down_kernels(self) -> None:
        for session in json.loads(self.request("/api/sessions")):
            self.request(f"/api/sessions/{session['id']}", method="DELETE")

    def kernel_id(self, name: str) -> str:
        return next(session["kernel"]["id"] for session in json.loads(self.request("/api/sessions")) if session["path"] == name)


@dataclass
class NotebookPage:
    """One notebook, open in a page."""

    lab: Lab
    page: Page
    name: str

    @classmethod
    def open(cls, lab: Lab, page: Page, name: str) -> NotebookPage:
        page.goto(f"{lab.url}/lab/tree/{name}?token={lab.token}&reset")
        opened = cls(lab, page, name)
        expect(opened.root).to_be_visible(timeout=60_000)
        return opened

    @property
    def root(self) -> Locator:
        return self.page.locator(".jp-Notebook")

    def wait_until_idle(self) -> None:
        expect(self.page.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible(timeout=60_000)

    def run_all(self, timeout_s: float = 120) -> None:
        """Runs every cell, and waits for the last one."""
        self.wait_until_idle()
        prompt = self.page.locator(".jp-Cell .jp-InputPrompt").last
        before = prompt.inner_text()
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        expect(prompt).not_to_have_text(before)
        expect(prompt).to_have_text(re.compile(r"\[\d+\]:"), timeout=timeout_s * 1000)

    def save(self) -> nbformat.NotebookNode:
        self.page.locator(".jp-NotebookPanel-toolbar [data-command='docmanager:save']").click()
        expect(self.page.locator(".lm-TabBar-tab.jp-mod-dirty")).to_have_count(0, timeout=30_000)
        return self.lab.read(self.name)

    def save_until(self, holds: Callable[[nbformat.NotebookNode], bool]) -> nbformat.NotebookNode:
        """Saves until the file holds what the kernel sent last: it is still on its way to the page for a moment."""
        for _ in range(100):
            if holds(content := self.save()):
                return content
            self.page.wait_for_timeout(200)
        raise AssertionError("what was waited for never reached the file")

    def expect_in_kernel(self, expression: str, value: object) -> None:
        """Waits until an expression has a value in the kernel: what a person did on the page takes a moment to get there."""
        for _ in range(100):
            if (now := self.ask(expression)) == value:
                return
            self.page.wait_for_timeout(200)
        raise AssertionError(f"{expression} is {now!r} in the kernel, not {value!r}")

    def ask(self, expression: str) -> object:
        """What a Python expression is in the kernel, over a connection of its own; it must have a literal repr."""
        client = BlockingKernelClient(connection_file=str(self.lab.runtime / f"kernel-{self.lab.kernel_id(self.name)}.json"))
        client.load_connection_file()
        client.start_channels()
        try:
            reply = client.execute_interactive("", user_expressions={"value": expression}, timeout=60, store_history=False)
        finally:
            client.stop_channels()
        value = reply["content"]["user_expressions"]["value"]
        assert value["status"] == "ok", value
        return ast.literal_eval(value["data"]["text/plain"])
