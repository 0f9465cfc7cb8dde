"""The picture that stays in a saved notebook when the live view is gone.

A live widget leaves nothing in a notebook file but the id of a model that dies with its kernel, and JupyterLab prefers that id
to any picture stored beside it. So the picture is an output of its own, before the widget:

1. the picture, as SVG and PNG: what a notebook reopened without a kernel, nbconvert and a code host's preview show;
2. a caption, with a style sheet that hides the "model not found" which JupyterLab puts where the live view was;
3. the widget.

While the live view is mounted its own style sheet hides 1 and 2; when it goes, for whatever reason, they are back.
"""

from __future__ import annotations

import base64
import contextlib
import contextvars
import json
import math
import threading
import uuid

from IPython.display import display, update_display
from ipywidgets import Widget

from hyperviz import render
from hyperviz.snapshot import Plan
from hyperviz.widgets.markup import tag

MAX_SVG_BYTES, MAX_PNG_BYTES = 200_000, 80_000
"""As written into a notebook file, quotes escaped and bytes in base64: a display grows it by less than 300 KB."""
MAX_PIXELS, MAX_SIDE = 1_200_000, 5_000


class Still:
    """The saved side of one view.

    Attributes:
        key: names the view's outputs on a page, so that the live view finds the ones that are its own.
    """

    def __init__(self) -> None:
        self.key = uuid.uuid4().hex[:12]
        self._shown = False
        self._lock = threading.Lock()
        self._next: tuple[Plan, str] | None = None
        self._thread: threading.Thread | None = None

    def show(self, plan: Plan, caption: str, live: Widget) -> None:
        """Displays the picture, its caption and the live view; what takes long to draw follows later."""
        self._shown = True
        display(_pictures(plan), metadata=_description(plan), raw=True, display_id=f"hv-picture-{self.key}")
        display(self._caption(caption), raw=True, display_id=f"hv-caption-{self.key}")
        display(_view_of(live), raw=True)
        self.update(plan, caption)

    def update(self, plan: Plan, caption: str) -> None:
        """Renews the picture wherever it was displayed, in a thread: of many updates in a row only the last one counts."""
        with self._lock:
            if not self._shown:
                return
            self._next = plan, caption
            if self._thread is None:
                # The context says which cell the kernel sends to. No daemon: ended while it draws, it would crash Python.
                run = contextvars.copy_context().run
                self._thread = threading.Thread(target=run, args=(self._renew,), name="hyperviz still")
                self._thread.start()

    def wait(self, timeout_s: float | None = None) -> None:
        """Waits until the saved picture is the last one that was asked for."""
        thread = self._thread
        if thread is not None:
            thread.join(timeout_s)

    def close(self) -> None:
        """Ends updates; the last picture stays."""
        with self._lock:
            self._shown, self._next = False, None

    def _renew(self) -> None:
        """Sends the SVG as soon as it is drawn, then the PNG along with it, until there is nothing newer."""
        while (todo := self._take()) is not None:
            plan, caption = todo
            pictures = _pictures(plan)
            self._send(plan, pictures, caption)
            png = _png(plan) if self._next is None else {}
            if png and self._next is None:
                self._send(plan, {**pictures, **png}, caption)

    def _take(self) -> tuple[Plan, str] | None:
        with self._lock:
            todo, self._next = self._next, None
            if todo is None:
                self._thread = None
            return todo

    def _send(self, plan: Plan, pictures: dict[str, object], caption: str) -> None:
        update_display(pictures, metadata=_description(plan), raw=True, display_id=f"hv-picture-{self.key}")
        update_display(self._caption(caption), raw=True, display_id=f"hv-caption-{self.key}")

    def _caption(self, words: str) -> dict[str, object]:
        own = f".jp-OutputArea-child:has(.hv-of-{self.key})"
        lost = f"{own} + .jp-OutputArea-child:has(> .jp-OutputArea-output.jupyter-widgets) {{ display: none }}"
        sentence = f"{words}. This is the saved picture: run the cell for the live view."
        html = tag("div", tag("style", lost, scoped="scoped"), tag("em", sentence), kind=f"hv-of-{self.key}")
        return {"text/html": str(html).replace("&gt;", ">"), "text/plain": sentence}


def _view_of(widget: Widget) -> dict[str, object]:
    """What ipywidgets and anywidget display, less their text: the picture and its caption say more."""
    view = {"version_major": 2, "version_minor": 0, "model_id": widget.model_id}
    return {"application/vnd.jupyter.widget-view+json": view, "text/plain": ""}


def _description(plan: Plan) -> dict[str, object]:
    """What nbconvert and JupyterLab say of a picture to those who cannot see it."""
    return {kind: {"alt": str(plan)} for kind in ("image/svg+xml", "image/png")}


def _pictures(plan: Plan) -> dict[str, object]:
    """A MIME bundle of what is drawn at once: the SVG if it is small enough, and a sentence."""
    bundle: dict[str, object] = {"text/plain": str(plan)}
    with contextlib.suppress(Exception):  # the live view never fails for want of a picture
        svg = render.svg(plan, still=True)
        if len(json.dumps(svg, ensure_ascii=False).encode()) <= MAX_SVG_BYTES:
            bundle["image/svg+xml"] = svg
    return bundle


def _png(plan: Plan) -> dict[str, object]:
    """The PNG as a MIME bundle, made smaller until it is small enough; for viewers that take no SVG, or not from strangers."""
    with contextlib.suppress(Exception):
        dpi = _dpi(plan)
        pngs = (base64.b64encode(render.png(plan, dpi=dpi * scale)).decode() for scale in (1, 0.6))
        return {"image/png": next(png for png in pngs if len(png) <= MAX_PNG_BYTES)}
    return {}


def _dpi(plan: Plan) -> float:
    """As large as the SVG, which has 96 pixels to the inch, or as large as a notebook bears."""
    width, height = render.layout(plan.graph).size
    return 96 * min(1.0, math.sqrt(MAX_PIXELS / (width * height)), MAX_SIDE / max(width, height))
