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
import uuid

from IPython.display import display, update_display

from hyperviz import render
from hyperviz.snapshot import Plan
from hyperviz.widgets.markup import tag

MAX_SVG_BYTES = 160_000
MAX_PNG_BYTES = 60_000
PNG_DPIS = (96, 72, 48, 30)
"""Tried in turn until the picture is small enough: a display grows a saved notebook by less than 300 KB."""


class Still:
    """The saved side of one view.

    Attributes:
        key: names the view's outputs on a page, so that the live view finds the ones that are its own.
    """

    def __init__(self) -> None:
        self.key = uuid.uuid4().hex[:12]
        self._shown = False

    def show(self, plan: Plan, caption: str, live: dict[str, object]) -> None:
        """Displays the picture, its caption and the live view, whose MIME bundle ``live`` is."""
        self._shown = True
        display(_picture(plan), raw=True, display_id=f"hv-picture-{self.key}")
        display(self._caption(caption), raw=True, display_id=f"hv-caption-{self.key}")
        display({**live, "text/plain": ""}, raw=True)

    def update(self, plan: Plan, caption: str) -> None:
        """Renews the picture wherever it was displayed."""
        if self._shown:
            update_display(_picture(plan), raw=True, display_id=f"hv-picture-{self.key}")
            update_display(self._caption(caption), raw=True, display_id=f"hv-caption-{self.key}")

    def _caption(self, words: str) -> dict[str, object]:
        own = f".jp-OutputArea-child:has(.hv-of-{self.key})"
        lost = f"{own} + .jp-OutputArea-child:has(> .jp-OutputArea-output.jupyter-widgets) {{ display: none }}"
        sentence = f"{words}. This is the saved picture: run the cell for the live view."
        html = tag("div", tag("style", lost, scoped="scoped"), tag("em", sentence), kind=f"hv-of-{self.key}")
        return {"text/html": str(html).replace("&gt;", ">"), "text/plain": sentence}


def _picture(plan: Plan) -> dict[str, object]:
    """A MIME bundle with all the pictures that are small enough, and a sentence. The live view never fails for want of one."""
    bundle: dict[str, object] = {"text/plain": str(plan)}
    with contextlib.suppress(Exception):
        svg = render.svg(plan)
        if len(svg.encode()) <= MAX_SVG_BYTES:
            bundle["image/svg+xml"] = svg
    with contextlib.suppress(Exception):
        pngs = (render.png(plan, dpi=dpi) for dpi in PNG_DPIS)
        bundle["image/png"] = base64.b64encode(next(png for png in pngs if len(png) <= MAX_PNG_BYTES)).decode()
    return bundle
