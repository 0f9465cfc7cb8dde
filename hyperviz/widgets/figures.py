"""A matplotlib figure in the explorer: an image for each theme, of which the page shows one."""

from __future__ import annotations

import io
from collections.abc import Callable

import ipywidgets as widgets
from matplotlib.figure import Figure

from hyperviz.widgets.markup import tag


def figure(draw: Callable[[str], Figure], name: str) -> widgets.Widget:
    """A figure as an SVG image for each theme; where it cannot be drawn, the sentence that says why."""
    try:
        images = [_image(draw(theme)).add_class(f"hv-in-{theme}") for theme in ("light", "dark")]
    except Exception as error:  # a picture that fails must not take its table along, which says the same
        return widgets.HTML(tag("p", f"The {name} cannot be drawn: {error}", kind="hv-error", role="alert"))
    return widgets.VBox(images).add_class("hv-tab")


def _image(drawn: Figure) -> widgets.Image:
    buffer = io.BytesIO()
    drawn.savefig(buffer, format="svg", bbox_inches="tight")
    return widgets.Image(value=buffer.getvalue(), format="svg+xml").add_class("hv-figure")
