"""A static picture: an image where a notebook can show one, text where it cannot."""

from __future__ import annotations

import io
from dataclasses import dataclass

from matplotlib import rc_context
from matplotlib.figure import Figure

from hyperviz import render
from hyperviz.snapshot import Equality, Plan, RankReports, Timelines, Timings

Drawable = Plan | Timings | Equality | RankReports | Timelines


_UNDATED = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


@dataclass(frozen=True, slots=True, repr=False)
class Picture:
    """What ``hv.show`` returns: needs no widget and no kernel once it stands in a notebook.

    Attributes:
        drawable: what it is a picture of.
    """

    drawable: Drawable

    def data(self, suffix: str) -> bytes:
        """The picture as a file's contents.

        Args:
            suffix: one of svg, png, pdf, html, for a plan dot, for timelines trace.json.

        Raises:
            ValueError: the thing has no such form.
        """
        if suffix == "trace.json":
            if not isinstance(self.drawable, Timelines):
                raise ValueError(f"only a timeline has a .trace.json form, got {type(self.drawable).__name__}")
            return render.trace_json(self.drawable.timelines).encode()
        if isinstance(self.drawable, Plan):
            return _of_plan(self.drawable, suffix)
        if suffix == "dot":
            raise ValueError(f"only a graph has a .dot form, got {type(self.drawable).__name__}")
        if suffix == "html":
            return _page(self.drawable).encode()
        file = io.BytesIO()
        with rc_context({"svg.hashsalt": "hyperviz"}):  # the same figure, the same bytes
            self.figure().savefig(file, format=suffix, metadata=_UNDATED.get(suffix))
        return file.getvalue()

    def figure(self) -> Figure:
        """The matplotlib figure of timings, of an equality, of timelines, or of what ranks found.

        Raises:
            ValueError: a plan has none.
        """
        if isinstance(self.drawable, Timings):
            return render.plot_timings(self.drawable)
        if isinstance(self.drawable, Equality):
            return render.plot_equality(self.drawable)
        if isinstance(self.drawable, RankReports):
            return render.plot_ranks(self.drawable)
        if isinstance(self.drawable, Timelines):
            return render.plot_timeline(self.drawable.timelines)
        raise ValueError("a plan is drawn as a graph, not as a matplotlib figure")

    def __repr__(self) -> str:
        return render.text(self.drawable) if isinstance(self.drawable, Plan) else str(self.drawable)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        if isinstance(self.drawable, Plan):
            picture = render.svg(self.drawable, still=True)
        else:  # a figure has a width of its own, which a page may not have
            picture = self.data("svg").decode().replace("<svg ", '<svg style="max-width: 100%; height: auto" ', 1)
        return {"image/svg+xml": picture, "text/plain": repr(self)}


def _of_plan(plan: Plan, suffix: str) -> bytes:
    match suffix:
        case "svg":
            return render.svg(plan).encode()
        case "png":
            return render.png(plan)
        case "pdf":
            return render.pdf(plan)
        case "dot":
            return render.dot(plan).encode()
        case "html":
            return render.html({plan.mode: plan}, versions=plan.graph.versions).encode()
    raise ValueError(f"a picture has no .{suffix} form")


def _page(drawable: Timings | Equality | RankReports | Timelines) -> str:
    if isinstance(drawable, Timelines):
        return render.html({}, timelines=drawable)
    if isinstance(drawable, RankReports):
        plan = drawable.plan
        return render.html({plan.mode: plan}, ranks=drawable, versions=plan.graph.versions)
    if isinstance(drawable, Timings):
        return render.html({}, timings=drawable)
    return render.html({}, equalities={drawable.labels[1]: drawable})
