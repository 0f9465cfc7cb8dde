"""One page that holds a whole study: pictures, tables, plots and the data behind them; it opens from a file, without a network."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from importlib.resources import files

from matplotlib.figure import Figure

from hyperviz.render import report_tables as tables
from hyperviz.render.communication import summary_of_windows
from hyperviz.render.indexed import indexed_png, plot_colors, timeline_colors
from hyperviz.render.markup import Html, embedded, join, tag
from hyperviz.render.overlay import overlay
from hyperviz.render.palette import THEMES, Theme
from hyperviz.render.plot_equality import plot_equality
from hyperviz.render.plot_ranks import plot_ranks
from hyperviz.render.plot_timeline import plot_timeline
from hyperviz.render.plot_timings import plot_timings
from hyperviz.render.report_data import distinct_graphs, report_data
from hyperviz.render.svg import svg
from hyperviz.render.text import text as plan_text
from hyperviz.snapshot import CompileReport, Equality, Plan, RankReports, Timelines, Timings

# Nothing may be loaded from anywhere: the page holds all it needs.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
_KEYS = (
    "Drag to pan, Ctrl and wheel to zoom. With the picture in focus: arrows follow edges, N and P step through the order of execution, "
    "W goes from a collective to its wait and back, Enter looks closer, + − 0 zoom, / searches, T goes to the table, Esc clears and leaves."
)


def html(
    plans: Mapping[str, Plan],
    *,
    timings: Timings | None = None,
    equalities: Mapping[str, Equality] | None = None,
    reports: Mapping[str, CompileReport] | None = None,
    ranks: RankReports | None = None,
    timelines: Timelines | None = None,
    versions: Mapping[str, str] | None = None,
    command: str = "",
) -> str:
    """The report as one HTML document without references to anything outside.

    Args:
        plans: label → plan; plans of one graph share one picture, which the page recolours. May be empty.
        timings: of candidates that are called as the plans are.
        equalities: label → how that candidate's results relate to the baseline's.
        reports: label → what compiling it took.
        ranks: what real ranks found.
        timelines: the step in time, drawn on one scale.
        versions: name → version of everything that took part.
        command: what makes the same report again.

    Returns:
        A document whose ``<script id="hyperviz-data">`` holds all of it as JSON.
    """
    equalities, reports, versions = equalities or {}, reports or {}, versions or {}
    title = next((plan.graph.title for plan in plans.values() if plan.graph.title), "") or "hyperviz report"
    sections = [
        _header(title, _caveats(plans), versions, command),
        tables.summary(plans, timings, equalities, reports),
        _picture(plans) if plans else "",
        _timings(timings) if timings else "",
        _ranks(ranks) if ranks else "",
        _timelines(timelines) if timelines else "",
        _section("Results", "equality", [_equality(label, one) for label, one in equalities.items()]),
        _section("Plans", "plans", [_folded(f"{label}: {plan}", tables.regions(label, plan)) for label, plan in plans.items()]),
        _section("Communication", "communication", _communication(plans)),
        _section("Compilation", "compilation", [_folded(label, tables.compile_report(label, one)) for label, one in reports.items()]),
        _section("As text", "text", [_folded(f"{label}: {plans[label]}", tag("pre", plan_text(plans[label]))) for label in _shown(plans)]),
    ]
    data = report_data(plans, timings, equalities, reports, ranks, timelines, versions, command)
    overlays = {label: overlay(plan) for label, plan in plans.items()}
    code = "\n".join(_read(name) for name in ("view.js", "report.js"))
    scripts = [embedded("hyperviz-data", data), embedded("hyperviz-overlays", overlays), Html(f'<script type="module">{code}</script>')]
    return _document(title, tag("main", *sections), join(scripts))


def _document(title: str, main: Html, scripts: Html) -> str:
    head = join(
        [
            Html('<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'),
            Html(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"><meta name="color-scheme" content="light dark">'),
            tag("title", title),
            Html(f"<style>{_read('report.css')}</style>"),
        ]
    )
    return f"<!doctype html>\n{tag('html', tag('head', head), tag('body', main, scripts), lang='en')}\n"


def _read(name: str) -> str:
    return files("hyperviz.render").joinpath(name).read_text(encoding="utf-8")


def _caveats(plans: Mapping[str, Plan]) -> list[str]:
    """That graphs on this page were not run, each sentence once."""
    return list(dict.fromkeys(plan.graph.caveat for plan in plans.values() if plan.graph.caveat))


def _header(title: str, caveats: list[str], versions: Mapping[str, str], command: str) -> Html:
    made = " · ".join(f"{name} {version}" for name, version in versions.items())
    buttons = [
        tag("button", "Light or dark", type="button", id="theme"),
        tag("button", "Save the data", type="button", id="save-data"),
    ]
    parts = [tag("h1", title), *(tag("p", caveat, class_="caveat") for caveat in caveats)]
    parts += [tag("p", made, class_="quiet") if made else ""]
    parts += [tag("p", "Made by ", tag("code", command), class_="quiet")] if command else []
    return tag("header", tag("div", *parts), tag("div", *buttons, class_="buttons"))


def _section(heading: str, identifier: str, pieces: list[Html]) -> Html:
    return tag("section", tag("h2", heading), *pieces, id=identifier) if pieces else Html("")


def _communication(plans: Mapping[str, Plan]) -> list[Html]:
    talking = {label: plan for label, plan in plans.items() if plan.graph.collectives}
    return [_folded(f"{label}: {summary_of_windows(plan)}", tables.collectives(label, plan)) for label, plan in talking.items()]


def _folded(words: str, content: Html) -> Html:
    return tag("details", tag("summary", words), content)


def _shown(plans: Mapping[str, Plan]) -> list[str]:
    """The label of the plan that is shown first, the first that compiles anything; none without plans."""
    return [label for label, plan in plans.items() if plan.regions][:1] or list(plans)[:1]


def _picture(plans: Mapping[str, Plan]) -> Html:
    """One picture for each distinct graph, the first shown; buttons for the plans."""
    shown = _shown(plans)[0]
    graphs = distinct_graphs(plans)
    order = [shown, *plans]
    pictures = []
    for index, graph in enumerate(graphs):
        plan = next(plans[label] for label in order if plans[label].graph == graph)
        here = plan is plans[shown]
        pictures.append(tag("div", _drawn(plan), class_="canvas", data_graph=index, hidden=not here))
    modes = [
        tag("button", label, type="button", data_label=label, data_graph=graphs.index(plan.graph), aria_pressed=str(label == shown).lower())
        for label, plan in plans.items()
    ]
    tools = [
        tag("div", *modes, class_="modes", role="group", aria_label="Plan"),
        Html('<input type="search" id="search" placeholder="Search nodes  ( / )" aria-label="Search nodes" spellcheck="false">'),
        tag("output", id="found"),
        tag("span", class_="gap"),
        *(tag("button", words, type="button", id=name, title=title) for name, words, title in _TOOLS),
    ]
    inspector = tag(
        "aside", tag("p", "Select a node to read about it.", class_="quiet"), id="inspector", aria_label="Inspector", tabindex="0"
    )
    nodes = tag("details", tag("summary", "All nodes as a table"), tag("div", class_="scroll", tabindex="0"), id="nodes")
    stage = tag("div", tag("div", *pictures, class_="pictures"), inspector, class_="stage")
    return tag(
        "section", tag("h2", "The graph"), tag("div", *tools, class_="bar"), stage, tag("p", _KEYS, class_="quiet"), nodes, id="graph"
    )


_TOOLS = (
    ("zoom-out", "−", "Zoom out"),
    ("zoom-in", "+", "Zoom in"),
    ("fit", "Fit", "Show the whole graph"),
    ("save-svg", "Save picture", "Save the picture as SVG, with the colours of the plan that is shown"),
)


def _drawn(plan: Plan) -> Html:
    """The picture, or the sentence that says why there is none: a page is never blank."""
    try:
        return Html(svg(plan))
    except Exception as error:
        return tag("p", f"This graph could not be drawn ({type(error).__name__}: {error}). The tables below hold all of it.", class_="note")


def _timings(timings: Timings) -> Html:
    figure = _figure(lambda theme: plot_timings(timings, theme=theme), "Time of one step")
    return tag("section", tag("h2", "Time and memory"), figure, tables.timing_tables(timings), id="timings")


def _ranks(ranks: RankReports) -> Html:
    figure = _figure(lambda theme: plot_ranks(ranks, theme=theme), "What every rank found")
    outputs = [_folded(f"rank {one.rank}: {one.equality}", tables.equality_table(f"rank {one.rank}", one.equality)) for one in ranks.ranks]
    return tag("section", tag("h2", "Ranks"), figure, tables.ranks_table(ranks), *outputs, id="ranks")


def _timelines(timelines: Timelines) -> Html:
    figure = _figure(lambda theme: plot_timeline(timelines.timelines, theme=theme), "One step in time", timeline_colors)
    words = [_folded(f"{one.title or 'As text'}: {one.label}", tag("pre", str(one))) for one in timelines.timelines]
    return tag("section", tag("h2", "In time"), figure, *words, id="timelines")


def _equality(label: str, equality: Equality) -> Html:
    figure = _figure(lambda theme: plot_equality(equality, theme=theme), f"{label}: {equality}")
    return join([figure, _folded(f"{label}: {equality}", tables.equality_table(label, equality))])


def _figure(draw: Callable[..., Figure], words: str, colors: Callable[[Theme], list[str]] = plot_colors) -> Html:
    """A plot in both themes, of which the page shows the one that fits."""
    images = []
    for theme in ("light", "dark"):
        try:
            image = indexed_png(draw(theme=theme), colors(THEMES[theme]), dpi=144)
        except Exception as error:
            return tag("p", f"This could not be drawn ({type(error).__name__}: {error}); the table holds the numbers.", class_="note")
        source = f"data:image/png;base64,{base64.b64encode(image).decode()}"
        images.append(f'<img class="{theme}" alt="{join([words])}" src="{source}">')
    return tag("figure", Html("".join(images)))
