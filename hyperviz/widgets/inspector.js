// What is known of a graph, as DOM: the inspector of one node and the table of all. Text is data: it only ever becomes a text node.

/**
 * @typedef {{name: string, op: string, target: string, kind?: string, phase?: string, module?: string, twin?: string,
 *   inputs?: string[], users: string[], tensors?: [string, string, string, number|null][], bytes?: number,
 *   source?: string, function?: string, code?: string}} NodeFacts
 * @typedef {{mode: string, title: string, subtitle: string, caveat: string, notes: string[], nodes: Object<string, [string, number|null, number|null, string]>,
 *   regions: {number: number, name: string, phase: string, num_nodes: number}[], eager: Object<string, string>,
 *   collectives: Collective[]}} Overlay
 * @typedef {{number: number, kind: string, what: string, group: string, bytes: number|null, bucket: string, launch: string,
 *   waits: string[], window: string, inside: [number, number][]}} Collective
 */

const KEYS = [
  ["↑ ↓ ← →", "follow an edge that way"],
  ["n p", "next and previous node, as they run"],
  ["b", "the backward of a forward node, and back"],
  ["w", "the wait of a collective, and back"],
  ["x", "on two nodes: why are they not one region?"],
  ["Enter", "look closer"],
  ["0 + −", "fit, zoom in, zoom out"],
  ["/", "search"],
  ["t", "table"],
  ["Esc", "clear the selection, then leave"],
];

/** An element; strings among the children become text nodes. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** The facts with each node's users, and the nodes under their names. @returns {{nodes: NodeFacts[], byName: Map<string, NodeFacts>}} */
function indexFacts(facts) {
  const byName = new Map(facts.nodes.map((node) => [node.name, { ...node, users: [] }]));
  for (const node of byName.values()) for (const input of node.inputs ?? []) byName.get(input)?.users.push(node.name);
  const forward = [...byName.values()].filter((node) => node.twin);
  for (const node of forward) (byName.get(node.twin).twins ??= []).push(node.name);
  return { title: facts.title, nodes: [...byName.values()], byName };
}

/** Bytes as people read them. */
function humanBytes(bytes) {
  if (bytes === null || bytes === undefined) return "unknown size";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (bytes >= 999.5 && unit < units.length - 1) [bytes, unit] = [bytes / 1000, unit + 1];
  return `${Number(bytes.toPrecision(3))} ${units[unit]}`;
}

/** A node's role, region and reason under one plan. */
function lookOf(overlay, name) {
  const [role, region, paint] = overlay?.nodes?.[name] ?? ["", null, null];
  return { role, region, paint, reason: overlay?.eager?.[name] ?? "" };
}

/** The collective that a node launches or waits for. @param {Overlay} overlay @returns {Collective | undefined} */
function collectiveOf(overlay, name) {
  return overlay?.collectives?.find((one) => one.launch === name || one.waits.includes(name));
}

function regionText(overlay, number) {
  const region = overlay.regions.find((one) => one.number === number);
  return region ? `${region.name}, ${region.num_nodes} nodes${region.phase ? `, ${region.phase}` : ""}` : `region_${number}`;
}

/** The inspector of one node; `go(name)` follows a link. @param {NodeFacts} node @param {Overlay} overlay */
function inspectNode(node, overlay, go) {
  const { role, region, reason } = lookOf(overlay, node.name);
  const link = (name) => make("button", { type: "button", class: "hv-link", onclick: () => go(name) }, name);
  const links = (names) => make("span", { class: "hv-links" }, ...names.slice(0, 40).map(link), names.length > 40 ? `and ${names.length - 40} more` : null);
  const rows = [
    ["operator", make("code", {}, node.target)],
    ["role", make("span", {}, make("b", {}, role || "unknown"), reason ? ` — ${reason}` : "")],
    ["region", region === null ? "none" : regionText(overlay, region)],
    ...collectiveRows(node.name, overlay, links),
    ["stands for", node.kind && `${node.kind} ${node.target}`],
    ["tensors", node.tensors && make("ul", {}, ...node.tensors.map(tensorLine))],
    ["phase", node.phase],
    ["module", node.module && make("code", {}, node.module)],
    ["source", node.source && make("span", {}, make("code", { class: "hv-path" }, node.source), node.function ? ` in ${node.function}` : "")],
    ["", node.code && make("pre", {}, node.code)],
    ["gradient of", node.twin && links([node.twin])],
    ["its backward", node.twins && links(node.twins)],
    ["reads", node.inputs && links(node.inputs)],
    ["read by", node.users.length ? links(node.users) : null],
  ].filter(([, value]) => value);
  const list = make("dl", {}, ...rows.flatMap(([key, value]) => [make("dt", {}, key), make("dd", {}, value)]));
  return [make("h3", {}, node.name), list];
}

/** What is known of the collective that a node launches or waits for. */
function collectiveRows(name, overlay, links) {
  const one = collectiveOf(overlay, name);
  if (!one) return [];
  const names = Object.keys(overlay.nodes);
  const inside = one.inside.flatMap(([first, last]) => names.slice(first, last + 1));
  return [
    ["collective", make("span", {}, make("b", {}, `${one.number} ${one.kind}`), one.what ? " of " : "", one.what ? make(one.what.includes(" ") ? "span" : "code", {}, one.what) : null)],
    ["group", one.group],
    ["payload", humanBytes(one.bytes)],
    ["bucket", one.bucket],
    [one.launch === name ? "its wait" : "its launch", one.launch === name ? (one.waits.length ? links(one.waits) : "none: it is never waited for") : links([one.launch])],
    ["window", `${inside.length} ${inside.length === 1 ? "node" : "nodes"} at work between launch and wait: ${one.window}`],
    ["", inside.length ? links(inside) : null],
  ];
}

function tensorLine([shape, stride, device, bytes]) {
  return make("li", {}, make("code", {}, shape), ` ${humanBytes(bytes)}`, make("small", {}, `${device}${stride ? `, strides ${stride}` : ""}`));
}

/** What the inspector shows while no node is selected. */
function inspectNothing(overlay) {
  const keys = KEYS.map(([key, words]) => make("div", {}, make("kbd", {}, key), make("span", {}, words)));
  return [
    make("h3", {}, overlay?.title || "Graph"),
    make("p", {}, overlay?.subtitle ?? ""),
    make("p", { class: "hv-hint" }, "Click a node, or press an arrow key, to see what it is."),
    make("div", { class: "hv-keys" }, ...keys),
  ];
}

const COLUMNS = ["Node", "Role", "Region", "Operator", "Tensor", "Module", "Source", "Reason"];

const MAX_ROWS = 1000; // more than anyone reads, and what a browser lays out at once

/** Everything that a search looks at in one node, in lower case. @param {NodeFacts} node @param {Overlay} overlay */
function searchText(node, overlay) {
  const { role, region, reason } = lookOf(overlay, node.name);
  const words = [node.name, node.target, node.module, node.source, node.code, node.phase, node.kind, role, region === null ? "" : `region_${region}`, reason, ...collectiveWords(node.name, overlay)];
  return words.join(" ").toLowerCase();
}

function collectiveWords(name, overlay) {
  const one = collectiveOf(overlay, name);
  return one ? [one.kind, one.what, one.group, one.bucket] : [];
}

/** The table of nodes in execution order, one row each. @param {NodeFacts[]} nodes @param {Overlay} overlay */
function nodeTable(nodes, overlay, caption) {
  const rows = nodes.slice(0, MAX_ROWS).map((node) => {
    const { role, region, paint, reason } = lookOf(overlay, node.name);
    const cells = [role, region === null ? "" : String(region), node.target, node.tensors?.[0]?.[0] ?? "", node.module ?? "", node.source ?? "", reason];
    const row = make("tr", { tabindex: "-1", "data-name": node.name, "data-paint": paint ?? undefined });
    row.append(make("th", { scope: "row" }, node.name), ...cells.map((text) => make("td", { title: text.length > 40 ? text : undefined }, text)));
    return row;
  });
  if (nodes.length > MAX_ROWS) {
    const words = `and ${nodes.length - MAX_ROWS} more: search to see them`;
    rows.push(make("tr", {}, make("td", { colspan: String(COLUMNS.length) }, words)));
  }
  const head = make("tr", {}, ...COLUMNS.map((name) => make("th", { scope: "col" }, name)));
  return make("table", { "aria-label": caption }, make("thead", {}, head), make("tbody", {}, ...rows));
}
