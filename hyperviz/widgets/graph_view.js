// The graph view in a notebook: the picture, a search field, an inspector and a table, all showing what the model holds.
// Stands behind render/view.js, inspector.js and surroundings.js in one module: `mount`, `inspectNode`, `keepKeys`, … come from there.

const HELP = "Click or press an arrow key to select · / search · t table · drag to pan · wheel zooms while the picture has focus · Esc leaves";

/** Gzipped text as the kernel sends it → text. @param {DataView} bytes */
async function gunzip(bytes) {
  if (!bytes?.byteLength) return "";
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

/** The picture as an element of this page, or null where there is none. */
async function pictureOf(model) {
  const text = await gunzip(model.get("_picture"));
  if (!text) return null;
  const root = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  if (root.localName !== "svg") throw new Error("the picture is no SVG");
  return document.importNode(root, true);
}

/** The elements of one view. */
function scaffold() {
  const button = (text, label) => make("button", { type: "button", title: label, "aria-label": label }, text);
  const parts = {
    search: make("input", { type: "search", placeholder: "Search  /", "aria-label": "Search nodes by name, operator, module, source or role", spellcheck: "false" }),
    count: make("output", { class: "hv-count" }),
    closer: button("+", "Zoom in (+)"),
    farther: button("−", "Zoom out (−)"),
    fit: make("button", { type: "button", title: "Show the whole graph (0)" }, "Fit"),
    toggle: make("button", { type: "button", title: "The same facts as a table (t)" }, "Table"),
    caveat: make("strong", { class: "hv-not-run" }),
    notice: make("p", { class: "hv-notice", role: "status" }),
    canvas: make("div", { class: "hv-canvas" }),
    table: make("div", { class: "hv-nodes", tabindex: "0", hidden: true }),
    inspector: make("aside", { class: "hv-inspector", "aria-label": "Inspector", tabindex: "0" }),
  };
  const bar = make("div", { class: "hv-bar", role: "toolbar", "aria-label": "Graph" }, parts.search, parts.count, make("span", { class: "hv-gap" }), parts.caveat, parts.farther, parts.closer, parts.fit, parts.toggle);
  const main = make("div", { class: "hv-main" }, parts.canvas, parts.table, parts.inspector);
  parts.root = make("div", { class: "hv-live", role: "group", "aria-label": "Graph view" }, bar, parts.notice, main, make("p", { class: "hv-help" }, HELP));
  return parts;
}

/** One view of one model. */
class GraphPanel {
  constructor(model, signal) {
    Object.assign(this, { model, signal, parts: scaffold(), facts: null, overlay: null, view: null, trail: 0 });
    keepKeys(this.parts.root, signal);
    hideSavedPicture(this.parts.root, model.get("_still"));
    this.listen();
  }

  listen() {
    const { parts, signal, model } = this;
    const on = (element, event, act) => element.addEventListener(event, act, { signal });
    on(parts.search, "input", () => this.write("search", parts.search.value));
    on(parts.search, "keydown", (event) => this.onSearchKey(event));
    on(parts.closer, "click", () => this.view?.zoom(1.4));
    on(parts.farther, "click", () => this.view?.zoom(1 / 1.4));
    on(parts.fit, "click", () => this.view?.fit());
    on(parts.toggle, "click", () => this.write("tabular", !model.get("tabular")));
    parts.canvas.addEventListener("pointerdown", (event) => (this.shift = event.shiftKey), { signal, capture: true });
    on(parts.table, "click", (event) => this.pick(event.target.closest("tr[data-name]")?.dataset.name));
    on(parts.table, "keydown", (event) => this.onTableKey(event));
    on(parts.root, "keydown", (event) => this.onKeyLast(event));
    parts.root.addEventListener("keydown", (event) => this.onKeyBefore(event), { signal, capture: true });
    this.follow("change:_picture change:_facts", () => this.guard(() => this.load()));
    this.follow("change:_overlay", () => this.guard(() => this.replan()));
    this.follow("change:selected", () => this.showSelected());
    this.follow("change:search", () => this.later(() => this.showSearch()));
    this.follow("change:tabular", () => this.showTable());
    this.follow("change:notice", () => this.showNotice());
  }

  /** Listens to the model for as long as the view lives. */
  follow(events, act) {
    for (const event of events.split(" ")) {
      this.model.on(event, act);
      this.signal.addEventListener("abort", () => this.model.off(event, act));
    }
  }

  /** Nothing that goes wrong in here leaves a blank: it is said above the picture. */
  async guard(act) {
    try {
      await act();
    } catch (error) {
      console.warn(error);
      this.showNotice(`This view could not be drawn in full: ${error?.message ?? error}`);
      if (!this.view && this.facts) this.write("tabular", true);
    }
  }

  /** Once typing pauses: lighting a large graph for every letter would hold the letters up. */
  later(act) {
    clearTimeout(this.timer);
    this.timer = setTimeout(act, 120);
  }

  write(name, value) {
    this.model.set(name, value);
    this.model.save_changes();
  }

  /** The picture and its facts, from the beginning; where two loads overlap the later one wins. */
  async load() {
    const turn = ++this.trail;
    const [facts, overlay] = await Promise.all([gunzip(this.model.get("_facts")), gunzip(this.model.get("_overlay"))]);
    if (turn !== this.trail) return;
    [this.facts, this.overlay] = [indexFacts(JSON.parse(facts)), JSON.parse(overlay)];
    this.showAll();
    const picture = await pictureOf(this.model);
    if (turn !== this.trail) return;
    this.view?.destroy();
    this.view = null;
    this.parts.canvas.replaceChildren(...(picture ? [picture] : []));
    if (picture) this.view = mount(this.parts.canvas, this.hooks());
    this.showAll();
  }

  hooks() {
    return {
      overlay: this.overlay,
      onSelect: (name) => (this.shift && name ? this.compare(this.model.get("selected"), name) : this.write("selected", name)),
      onSearch: () => this.parts.search.focus(),
      onTable: () => this.write("tabular", true),
    };
  }

  /** Another plan of the same graph: colours and words change, places do not. */
  async replan() {
    const turn = this.trail;
    const overlay = JSON.parse(await gunzip(this.model.get("_overlay")));
    if (turn !== this.trail) return;
    this.overlay = overlay;
    this.view?.recolour(overlay);
    this.showAll();
  }

  showAll() {
    this.texts = null;
    this.showNotice();
    this.showTable();
    this.showSelected();
  }

  showNotice(words = this.model.get("notice")) {
    this.parts.notice.textContent = words;
    this.parts.notice.hidden = !words;
  }

  showSelected() {
    const name = this.model.get("selected");
    const node = this.facts?.byName.get(name);
    if (this.view && this.view.selected !== name) this.view.select(name);
    const content = node ? inspectNode(node, this.overlay, (other) => this.pick(other)) : inspectNothing(this.overlay);
    this.parts.inspector.replaceChildren(...content);
    this.markRow();
  }

  showSearch() {
    const text = this.model.get("search");
    if (this.parts.search.value !== text) this.parts.search.value = text;
    const found = new Set(this.matches(text));
    if (text.trim()) this.view?.light(found);
    else this.view?.light(null);
    this.parts.count.textContent = text.trim() ? `${found.size} of ${this.facts?.nodes.length ?? 0}` : "";
    if (this.model.get("tabular")) this.fillTable(found);
  }

  /** Names of the nodes whose facts hold every word, in the order in which they run. */
  matches(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    this.texts ??= new Map((this.facts?.nodes ?? []).map((node) => [node.name, searchText(node, this.overlay)]));
    return [...this.texts].filter(([, said]) => words.every((word) => said.includes(word))).map(([name]) => name);
  }

  showTable() {
    const tabular = this.model.get("tabular");
    const { canvas, table, toggle } = this.parts;
    const hadFocus = canvas.contains(document.activeElement) || table.contains(document.activeElement);
    [canvas.hidden, table.hidden] = [tabular, !tabular];
    this.parts.caveat.textContent = tabular ? (this.overlay?.caveat ?? "") : ""; // the picture says it itself
    toggle.setAttribute("aria-pressed", String(tabular));
    if (!tabular) table.replaceChildren();
    this.showSearch();
    if (hadFocus) tabular ? table.focus() : this.view?.focus();
  }

  fillTable(found) {
    const nodes = (this.facts?.nodes ?? []).filter((node) => found.has(node.name));
    this.parts.table.replaceChildren(nodeTable(nodes, this.overlay, this.facts?.title || "Nodes"));
    this.markRow();
  }

  markRow() {
    const { table } = this.parts;
    const name = this.model.get("selected");
    table.querySelectorAll("tr[aria-selected]").forEach((row) => row.removeAttribute("aria-selected"));
    const row = name ? table.querySelector(`tr[data-name="${CSS.escape(name)}"]`) : null;
    row?.setAttribute("aria-selected", "true");
    if (row) scrollWithin(table, row);
  }

  /** Selects a node that was asked for from outside, and brings it before the person's eyes. */
  show(name) {
    this.pick(name);
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.parts.root.scrollIntoView({ block: "nearest", behavior: still ? "auto" : "smooth" });
  }

  pick(name) {
    if (name && name !== this.model.get("selected")) this.write("selected", name);
  }

  /** Asks why two nodes are not in one region; the selection stays on the first. */
  compare(first, second) {
    this.shift = false;
    this.pinned = "";
    this.parts.count.textContent = "";
    if (this.view && this.view.selected !== this.model.get("selected")) this.view.select(this.model.get("selected"));
    if (first && second) this.model.send({ kind: "compare", first, second });
    else if (second) this.write("selected", second);
  }

  /** The key x: on one node it remembers the node, on another it asks about both. */
  pin(name) {
    if (this.pinned && this.pinned !== name) return this.compare(this.pinned, name);
    this.pinned = name;
    this.parts.count.textContent = `${name} and …? Select another node, and press x`;
  }

  /** Before the picture sees a key: the twin, and leaving for good where there is nothing left to clear. */
  onKeyBefore(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.parts.canvas.contains(event.target)) return;
    const node = this.facts?.byName.get(this.model.get("selected"));
    if (event.key === "b" && node) this.pick(node.twin || node.twins?.[0]);
    else if (event.key === "x" && node) this.pin(node.name);
    else if (event.key === "Escape" && !node) this.leave();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Gives the keyboard back to what holds the view: in JupyterLab, its cell. */
  leave() {
    document.activeElement?.blur();
    this.parts.root.parentElement?.closest("[tabindex]")?.focus();
  }

  /** What no part of the view took. */
  onKeyLast(event) {
    if (event.key === "Escape") this.parts.inspector.contains(event.target) || event.target.closest(".hv-bar") ? this.goHome() : this.leave();
    else if (event.key === "t" && event.target !== this.parts.search && !event.ctrlKey && !event.metaKey) this.write("tabular", !this.model.get("tabular"));
  }

  goHome() {
    this.model.get("tabular") ? this.parts.table.focus() : this.view?.focus();
  }

  onSearchKey(event) {
    const found = this.matches(this.model.get("search"));
    if (event.key === "Enter" && found.length) {
      const here = found.indexOf(this.model.get("selected"));
      this.pick(found[(here + (event.shiftKey ? found.length - 1 : 1) + (here < 0 && event.shiftKey ? 1 : 0)) % found.length]);
    } else if (event.key === "Escape") {
      if (this.parts.search.value) this.write("search", "");
      this.goHome();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  onTableKey(event) {
    if (event.key === "/") this.parts.search.focus();
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") this.stepRow(event.key === "ArrowDown" ? 1 : -1);
    else if (event.key === "Escape" || event.key === "Enter") this.write("tabular", false);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  stepRow(step) {
    const rows = [...this.parts.table.querySelectorAll("tbody tr[data-name]")];
    const here = rows.findIndex((row) => row.hasAttribute("aria-selected"));
    this.pick(rows[Math.min(Math.max(here + step, 0), rows.length - 1)]?.dataset.name);
  }
}

export default {
  render({ model, el }) {
    const ending = new AbortController();
    const panel = new GraphPanel(model, ending.signal);
    el.replaceChildren(panel.parts.root);
    whenAttached(panel.parts.root, () => furnish(panel.parts.root, ending.signal, (name) => panel.show(name)), ending.signal);
    panel.guard(() => panel.load());
    return () => {
      panel.view?.destroy();
      ending.abort();
    };
  },
};
