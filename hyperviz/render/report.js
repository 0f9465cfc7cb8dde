// The report page: buttons for the plans, search, an inspector, a table of all nodes. Stands behind view.js in one module.

const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("hyperviz-data").textContent);
const overlays = JSON.parse(byId("hyperviz-overlays").textContent);

/** @param {string} name @param {Record<string, string>} [attributes] @param {...(Node | string)} content text stays text */
function element(name, attributes = {}, ...content) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...content);
  return made;
}

function save(name, type, text) {
  const link = element("a", { download: name, href: URL.createObjectURL(new Blob([text], { type })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

const number = new Intl.NumberFormat("en");

/** The graph's section: pictures, and all that speaks about them. */
class Stage {
  constructor(section) {
    this.section = section;
    this.modes = [...section.querySelectorAll(".modes button")];
    this.label = this.modes.find((one) => one.getAttribute("aria-pressed") === "true").dataset.label;
    this.views = new Map();
    this.selected = "";
    this.listen();
    this.show(this.label);
  }

  get plan() {
    return data.plans[this.label].data;
  }

  get overlay() {
    return overlays[this.label];
  }

  get nodes() {
    return data.graphs[this.plan.graph].data.nodes;
  }

  get view() {
    return this.views.get(this.plan.graph);
  }

  listen() {
    const on = (id, event, act) => byId(id).addEventListener(event, act);
    this.modes.forEach((button) => button.addEventListener("click", () => this.show(button.dataset.label)));
    on("search", "input", () => this.search());
    on("search", "keydown", (event) => this.onSearchKey(event));
    on("zoom-in", "click", () => this.view?.zoom(1.4));
    on("zoom-out", "click", () => this.view?.zoom(1 / 1.4));
    on("fit", "click", () => this.view?.fit());
    on("save-svg", "click", () => this.savePicture());
    on("nodes", "toggle", () => this.fillTable());
    for (const place of [byId("inspector"), byId("nodes")]) {
      place.addEventListener("click", (event) => event.target.dataset.node && this.select(event.target.dataset.node));
    }
  }

  show(label) {
    this.label = label;
    this.modes.forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.label === label)));
    this.section.querySelectorAll(".canvas").forEach((canvas) => (canvas.hidden = Number(canvas.dataset.graph) !== this.plan.graph));
    this.mounted()?.recolour(this.overlay);
    if (!this.nodes.some((node) => node.name === this.selected)) this.selected = "";
    this.select(this.selected);
    this.search();
    this.fillTable();
  }

  /** The view on the current graph's picture, made when it is first shown. */
  mounted() {
    const canvas = this.section.querySelector(`.canvas[data-graph="${this.plan.graph}"]`);
    if (!this.view && canvas.querySelector("svg")) {
      const focusTable = () => {
        byId("nodes").open = true;
        byId("nodes").querySelector("summary").focus();
      };
      const options = { onSelect: (name) => this.inspect(name), onSearch: () => byId("search").focus(), onTable: focusTable };
      this.views.set(this.plan.graph, mount(canvas, options));
    }
    return this.view;
  }

  select(name) {
    this.view?.select(name);
    this.inspect(name);
  }

  search() {
    const found = this.view?.search(byId("search").value) ?? [];
    this.found = found;
    byId("found").textContent = byId("search").value.trim() ? `${number.format(found.length)} found` : "";
    if (byId("nodes").open) this.filterTable();
  }

  onSearchKey(event) {
    if (event.key === "Escape") {
      byId("search").value = "";
      this.search();
      this.view?.focus();
    } else if (event.key === "Enter" && this.found?.length) {
      const next = this.found[(this.found.indexOf(this.selected) + 1) % this.found.length];
      this.select(next);
    }
  }

  /** Everything that is known of a node. */
  inspect(name) {
    this.selected = name;
    const place = byId("inspector");
    const node = this.nodes.find((one) => one.name === name);
    place.replaceChildren(node ? this.facts(node) : element("p", { class: "quiet" }, "Select a node to read about it."));
    byId("nodes").querySelectorAll("tr").forEach((row) => row.classList.toggle("selected", row.dataset.row === name && name !== ""));
  }

  facts(node) {
    const list = element("dl");
    const add = (term, ...content) => content.some((one) => one !== "") && list.append(element("dt", {}, term), element("dd", {}, ...content));
    const [role, region] = this.overlay.nodes[node.name];
    const links = (names) => names.map((one) => element("button", { type: "button", class: "link", "data-node": one }, one));
    add("Operator", node.target);
    add("Role", region === null ? role : `${role}, in region ${region}`);
    add("Why it stays eager", this.overlay.eager[node.name] ?? "");
    const pair = this.overlay.collectives.find((one) => one.launch === node.name || one.waits.includes(node.name));
    if (pair) {
      add("Collective", `${pair.number} ${pair.kind}${pair.what ? ` of ${pair.what}` : ""}`);
      add("Group", pair.group);
      add("Payload", pair.bytes === null ? "unknown" : `${number.format(pair.bytes)} bytes`);
      add("Bucket", pair.bucket);
      pair.launch === node.name ? add("Its wait", ...(pair.waits.length ? links(pair.waits) : ["none"])) : add("Its launch", ...links([pair.launch]));
      add("Window", pair.window);
    }
    add("Phase", node.phase);
    add("Module", node.module_path);
    add("Produces", ...node.tensors.map((one) => element("div", {}, tensor(one))));
    if (node.source) add("Source", `${node.source.file}:${node.source.line}${node.source.function ? ` in ${node.source.function}` : ""}`);
    add("Line", node.source?.code ?? "");
    add("Part of the gradient of", ...(node.twin ? links([node.twin]) : [""]));
    add("Reads", ...links(node.inputs));
    add("Read by", ...links(this.nodes.filter((one) => one.inputs.includes(node.name)).map((one) => one.name)));
    const whole = document.createDocumentFragment();
    whole.append(element("h3", {}, node.name), list);
    return whole;
  }

  /** The table of all nodes, filled when it is open. */
  fillTable() {
    if (!byId("nodes").open) return;
    const heads = ["Node", "Phase", "Role", "Region", "Operator", "Produces", "Module", "Why it stays eager"];
    const body = element("tbody", {}, ...this.nodes.map((node) => this.row(node)));
    const table = element("table", {}, element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", {}, head)))), body);
    byId("nodes").querySelector(".scroll").replaceChildren(table);
    this.filterTable();
    this.inspect(this.selected);
  }

  row(node) {
    const [role, region] = this.overlay.nodes[node.name];
    const link = element("button", { type: "button", class: "link", "data-node": node.name }, node.name);
    const words = [node.phase, role, region === null ? "" : `region_${region}`, node.target, node.tensors.map((one) => `${one.dtype}[${one.shape.join(", ")}]`).join(", "), node.module_path, this.overlay.eager[node.name] ?? ""];
    return element("tr", { "data-row": node.name }, element("td", {}, link), ...words.map((word) => element("td", {}, word)));
  }

  filterTable() {
    const found = byId("search").value.trim() ? new Set(this.found) : null;
    byId("nodes").querySelectorAll("tbody tr").forEach((row) => (row.hidden = found !== null && !found.has(row.dataset.row)));
  }

  /** The picture as it is coloured now, without the view's own marks. */
  savePicture() {
    const svg = this.section.querySelector(`.canvas[data-graph="${this.plan.graph}"] svg`)?.cloneNode(true);
    if (!svg) return;
    for (const name of ["style", "tabindex", "aria-roledescription", "data-lm-suppress-shortcuts"]) svg.removeAttribute(name);
    svg.setAttribute("role", "img");
    svg.querySelector(".hv-viewport").removeAttribute("transform");
    svg.classList.remove("hv-active");
    svg.querySelectorAll(".hv-selected,.hv-lit,.hv-dim").forEach((one) => one.classList.remove("hv-selected", "hv-lit", "hv-dim"));
    save(`hyperviz-${this.label}.svg`, "image/svg+xml", new XMLSerializer().serializeToString(svg));
  }
}

function tensor({ dtype, shape, stride, device, num_bytes: bytes }) {
  const size = bytes === null ? "" : `, ${number.format(bytes)} bytes`;
  return `${dtype}[${shape.join(", ")}]${stride.length ? ` stride [${stride.join(", ")}]` : ""} on ${device}${size}`;
}

byId("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});
byId("save-data").addEventListener("click", () => save("hyperviz-report.json", "application/json", JSON.stringify(data, null, 1)));
if (byId("graph")) new Stage(byId("graph"));
