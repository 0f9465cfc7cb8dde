/**
 * Pan, zoom, hover, select, search and recolour on a picture made by `hyperviz.render.svg`: the part that reports and widgets share.
 *
 * Promised to whoever mounts it:
 * - `mount(root, options)` takes an element that holds one `svg.hyperviz`, and returns a `View`. Several views may live on one page.
 * - Nothing is fetched, nothing listens on `document` or `window`, and `view.destroy()` takes back every listener.
 * - All state that can be seen is in attributes of the SVG: `data-role`, `data-region`, `data-paint` (the plan; the last two absent without
 *   a region), and the classes `hv-selected`, `hv-lit`, `hv-dim`, `hv-mate` (the wait of a selected collective, or the other way round) and
 *   `hv-inside` (what computes between the two). The style sheet inside the SVG does the rest, so no colour stands here.
 * - Only `mount` is visible, so the file may be put in front of another module's text.
 * - Programs' text is only ever set as text, never as markup.
 * - The wheel scrolls the page unless the picture has focus or Ctrl (or Cmd) is held. Keys act only while it has focus, and those it
 *   knows do not travel further: arrows follow edges, N and P go to the next and previous node as they run, W goes from a collective
 *   to its wait and back, Enter looks closer,
 *   + - 0 zoom, / asks for the search field, T for the table, Escape clears the selection and then leaves.
 */

/**
 * @typedef {[role: string, region: number | null, paint: number | null, badge: string]} Look
 * @typedef {{title: string, subtitle: string, caveat: string, notes: string[], nodes: Record<string, Look>, collectives?: Collective[]}} Overlay what `hyperviz.render.overlay` returns
 * @typedef {{launch: string, waits: string[], inside: [first: number, last: number][]}} Collective places are among the overlay's nodes
 * @typedef {{name: string, element: SVGGElement, x: number, y: number, w: number, h: number, edges: Edge[]}} Node
 * @typedef {{from: string, to: string, element: SVGPathElement}} Edge
 * @typedef {object} Options
 * @property {Overlay} [overlay] colours the picture at once; without it, it stays as drawn
 * @property {(name: string) => void} [onSelect] a person selected a node; "" when the selection was cleared
 * @property {(name: string) => void} [onHover] the pointer is on a node; "" when it left
 * @property {() => void} [onSearch] a person asked for the search field
 * @property {() => void} [onTable] a person asked for the table
 * @typedef {object} View
 * @property {(overlay: Overlay) => void} recolour shows another plan of the same graph; nodes keep their places
 * @property {(name: string, options?: {reveal?: boolean}) => void} select selects without calling `onSelect`; "" or an unknown name clears
 * @property {(names: Iterable<string> | null) => void} light dims all other nodes; null ends it
 * @property {(test: string | ((name: string, text: string) => boolean)) => string[]} search dims what does not match; "" ends it; returns the matches in the order in which they run
 * @property {() => void} fit shows the whole picture
 * @property {(factor: number) => void} zoom zooms about the middle
 * @property {() => void} focus gives the picture the keyboard
 * @property {() => void} destroy
 * @property {string} selected name of the selected node, or ""
 */

export const mount = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const CLICK = 4; // pixels that a pointer may move and still click
  const READABLE = 0.9; // scale at which a node's text can be read
  const LEGIBLE = 0.34; // device pixels for one of the picture's, below which letters are a smudge that only costs time
  const DIRECTIONS = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };

  /** @param {Element} root @param {Options} [options] @returns {View} */
  function mount(root, options = {}) {
    const svg = /** @type {SVGSVGElement} */ (root.querySelector("svg.hyperviz"));
    if (!svg) throw new Error("mount needs an element that holds an svg.hyperviz");
    const graph = read(svg);
    claim(svg);
    prepare(svg);
    const camera = new Camera(svg);
    const ending = new AbortController();
    const announce = announcer(root);
    let selected = "";
    let hovered = "";
    let windows = windowsOf(graph, []);

    /** Lights the edges of what is selected and of what the pointer is on. */
    const relight = () => {
      const lit = new Set([selected, hovered].flatMap((name) => graph.get(name)?.edges ?? []));
      svg.querySelectorAll(".hv-lit").forEach((element) => element.classList.remove("hv-lit"));
      lit.forEach((edge) => edge.element.classList.add("hv-lit"));
      svg.classList.toggle("hv-active", lit.size > 0);
    };

    /** @type {View["select"]} */
    const select = (name, { reveal = true } = {}) => {
      const node = graph.get(name);
      graph.get(selected)?.element.classList.remove("hv-selected");
      selected = node ? name : "";
      node?.element.classList.add("hv-selected");
      if (node && reveal) camera.reveal(node);
      announce(node ? spoken(node, windows.get(selected)) : "");
      mark(graph, windows.get(selected));
      relight();
    };

    const choose = (/** @type {string} */ name) => {
      if (name === selected) return;
      select(name);
      options.onSelect?.(selected);
    };

    const hover = (/** @type {string} */ name) => {
      if (name === hovered) return;
      hovered = name;
      relight();
      options.onHover?.(name);
    };

    const light = (/** @type {Iterable<string> | null} */ names) => {
      const keep = names === null ? null : new Set(names);
      graph.forEach((node) => node.element.classList.toggle("hv-dim", keep !== null && !keep.has(node.name)));
    };

    const keys = {
      Enter: () => selected && camera.look(graph.get(selected)),
      Escape: () => (selected ? choose("") : svg.blur()),
      "/": () => options.onSearch?.(),
      t: () => options.onTable?.(),
      n: () => choose(beside(graph, selected, 1)),
      p: () => choose(beside(graph, selected, -1)),
      w: () => windows.has(selected) && choose(windows.get(selected).mates[0]),
      0: () => camera.fit(),
      "+": () => camera.zoom(1.3),
      "=": () => camera.zoom(1.3),
      "-": () => camera.zoom(1 / 1.3),
    };

    const onKey = (/** @type {KeyboardEvent} */ event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const direction = DIRECTIONS[event.key];
      const act = direction ? () => choose(follow(graph, selected, direction)) : keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      if (!act) return;
      event.preventDefault();
      event.stopPropagation();
      act();
    };

    const listen = { signal: ending.signal };
    svg.addEventListener("focus", () => (svg.style.touchAction = "none"), listen);
    svg.addEventListener("blur", () => (svg.style.touchAction = ""), listen);
    svg.addEventListener("keydown", onKey, listen);
    svg.addEventListener("pointerover", (event) => hover(nameAt(event.target)), listen);
    svg.addEventListener("pointerleave", () => hover(""), listen);
    svg.addEventListener("dblclick", (event) => camera.look(graph.get(nameAt(event.target)), event), listen);
    drag(svg, camera, (target) => choose(nameAt(target)), ending.signal);
    wheel(svg, camera, ending.signal);

    const view = {
      recolour: (/** @type {Overlay} */ overlay) => {
        recolour(svg, graph, overlay);
        windows = windowsOf(graph, overlay.collectives ?? []);
        mark(graph, windows.get(selected));
      },
      select,
      light,
      search: (/** @type {Parameters<View["search"]>[0]} */ test) => {
        const found = matches(graph, test);
        light(test === "" ? null : found);
        return found;
      },
      fit: () => camera.fit(),
      zoom: (/** @type {number} */ factor) => camera.zoom(factor),
      focus: () => svg.focus(),
      destroy: () => {
        ending.abort();
        announce(null);
      },
      get selected() {
        return selected;
      },
    };
    if (options.overlay) view.recolour(options.overlay);
    return view;
  }

  /** The graph as the picture holds it: name → node, in the order in which nodes run. @returns {Map<string, Node>} */
  function read(svg) {
    const graph = new Map();
    for (const element of svg.querySelectorAll(".hv-node")) {
      const [x, y, w, h] = ["x", "y", "width", "height"].map((key) => Number(element.querySelector("rect")?.getAttribute(key) ?? 0));
      graph.set(element.dataset.name, { name: element.dataset.name, element, x: x + w / 2, y: y + h / 2, w, h, edges: [] });
    }
    for (const element of svg.querySelectorAll(".hv-edge,.hv-saved")) {
      const edge = { from: element.dataset.from, to: element.dataset.to, element };
      graph.get(edge.from)?.edges.push(edge);
      graph.get(edge.to)?.edges.push(edge);
    }
    return graph;
  }

  /**
   * Gives the picture's patterns names of their own: a page may hold the same picture twice, and what refers to a hidden one is not painted.
   */
  function claim(svg) {
    const fresh = `hv${Math.random().toString(36).slice(2, 10)}`;
    const old = svg.id;
    if (!old) return;
    svg.querySelectorAll(`[id^="${old}"]`).forEach((one) => (one.id = fresh + one.id.slice(old.length)));
    svg.querySelectorAll("style").forEach((one) => (one.textContent = one.textContent.replaceAll(`#${old}`, `#${fresh}`)));
    svg.id = fresh;
  }

  /** Makes the picture fill its place and take the keyboard. JupyterLab's shortcuts look for the attribute and leave its keys alone. */
  function prepare(svg) {
    svg.setAttribute("tabindex", "0");
    svg.setAttribute("role", "group");
    svg.setAttribute("aria-roledescription", "graph");
    svg.setAttribute("data-lm-suppress-shortcuts", "true");
    Object.assign(svg.style, { width: "100%", height: "100%", display: "block", cursor: "grab" });
  }

  /** Says things to screen readers; null takes the place where they are said away. @returns {(text: string | null) => void} */
  function announcer(root) {
    const place = root.ownerDocument.createElement("div");
    place.setAttribute("aria-live", "polite");
    place.className = "hv-spoken";
    Object.assign(place.style, { position: "absolute", width: "1px", height: "1px", overflow: "hidden", clipPath: "inset(50%)" });
    root.append(place);
    return (text) => (text === null ? place.remove() : (place.textContent = text));
  }

  /**
   * What belongs to a launch or a wait: the other side, and what computes between the two.
   * @param {Collective[]} collectives @returns {Map<string, {mates: string[], inside: string[]}>}
   */
  function windowsOf(graph, collectives) {
    const names = [...graph.keys()];
    const windows = new Map();
    for (const { launch, waits, inside } of collectives) {
      if (!waits.length) continue;
      const between = inside.flatMap(([first, last]) => names.slice(first, last + 1));
      windows.set(launch, { mates: waits, inside: between });
      waits.forEach((wait) => windows.set(wait, { mates: [launch], inside: between }));
    }
    return windows;
  }

  /** Marks what belongs to the selected node, and nothing else. */
  function mark(graph, window) {
    const [mates, inside] = [new Set(window?.mates), new Set(window?.inside)];
    graph.forEach(({ name, element }) => {
      element.classList.toggle("hv-mate", mates.has(name));
      element.classList.toggle("hv-inside", inside.has(name));
    });
  }

  /** @param {Node} node */
  function spoken(node, window) {
    const { role, region, phase } = node.element.dataset;
    const reads = node.edges.filter((edge) => edge.to === node.name).length;
    const where = region === undefined ? role : `${role}, region ${region}`;
    const pair = window ? `; belongs to ${window.mates.join(" and ")}, with ${window.inside.length} at work between` : "";
    return `${node.name}, ${where}${phase ? `, ${phase}` : ""}; reads ${reads}, read by ${node.edges.length - reads}${pair}`;
  }

  /** Sets attributes only where they differ, so that a small change of plan costs little. @param {Overlay} overlay */
  function recolour(svg, graph, overlay) {
    for (const [name, [role, region, paint, badge]] of Object.entries(overlay.nodes)) {
      const element = graph.get(name)?.element;
      if (!element) continue;
      assign(element, "data-role", role);
      assign(element, "data-region", region);
      assign(element, "data-paint", paint);
      write(badgeOf(element), badge && `${badge} `);
    }
    write(svg.querySelector(".hv-title"), overlay.title);
    write(svg.querySelector(".hv-subtitle"), overlay.subtitle);
    write(svg.querySelector(".hv-caveat"), overlay.caveat);
    const lines = [...svg.querySelectorAll(".hv-note")];
    lines.forEach((line, index) => write(line, (index < lines.length - 1 ? overlay.notes.slice(index, index + 1) : overlay.notes.slice(index)).join(" · ")));
    assign(svg, "aria-label", `${overlay.title}: ${[overlay.subtitle, overlay.caveat].filter(Boolean).join(" · ")}`);
  }

  function badgeOf(element) {
    const text = element.querySelector("text");
    const found = text.querySelector("tspan");
    if (found) return found;
    const badge = element.ownerDocument.createElementNS(SVG, "tspan");
    text.prepend(badge);
    return badge;
  }

  function assign(element, name, value) {
    if (value === null || value === undefined) element.removeAttribute(name);
    else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, String(value));
  }

  function write(element, text) {
    if (element && element.textContent !== text) element.textContent = text;
  }

  /** Names whose node matches, in the order in which they run. */
  function matches(graph, test) {
    const words = typeof test === "string" ? test.toLowerCase().split(/\s+/).filter(Boolean) : [];
    const holds = typeof test === "function" ? test : (name, text) => words.every((word) => text.includes(word));
    return [...graph.values()].filter((node) => holds(node.name, searchable(node))).map((node) => node.name);
  }

  function searchable(node) {
    const { role, region, phase } = node.element.dataset;
    return [node.name, node.element.querySelector("title")?.textContent, role, phase, region && `region_${region}`].join(" ").toLowerCase();
  }

  function nameAt(target) {
    return target?.closest?.(".hv-node")?.dataset.name ?? "";
  }

  /** The node that runs next or before. */
  function beside(graph, name, step) {
    const names = [...graph.keys()];
    return names[(names.indexOf(name) + step + names.length) % names.length] ?? "";
  }

  /** The neighbour that lies most in a direction; sideways, failing that, the nearest node at the same height. */
  function follow(graph, name, [dx, dy]) {
    const here = graph.get(name);
    if (!here) return graph.keys().next().value ?? "";
    const neighbours = here.edges.map((edge) => graph.get(edge.from === name ? edge.to : edge.from));
    const row = dx ? [...graph.values()].filter((node) => Math.abs(node.y - here.y) < here.h) : [];
    return (nearest(here, neighbours, dx, dy, 2) ?? nearest(here, row, dx, dy, 0.5) ?? here).name;
  }

  function nearest(here, nodes, dx, dy, slack) {
    let best = null;
    let least = Infinity;
    for (const node of nodes) {
      if (!node || node === here) continue;
      const along = (node.x - here.x) * dx + (node.y - here.y) * dy;
      const aside = Math.abs((node.x - here.x) * dy) + Math.abs((node.y - here.y) * dx);
      if (along <= 1 || aside > along * slack + here.w) continue;
      if (along + 2 * aside < least) [best, least] = [node, along + 2 * aside];
    }
    return best;
  }

  /** Where the picture is looked at from: a shift and a scale of the viewport, in the picture's own units. */
  class Camera {
    constructor(svg) {
      this.svg = svg;
      this.viewport = svg.querySelector(".hv-viewport");
      this.fit();
    }

    fit() {
      this.set(0, 0, 1);
    }

    set(x, y, scale) {
      Object.assign(this, { x, y, scale });
      this.viewport.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
      this.svg.classList.toggle("hv-far-off", scale * this.pixels * devicePixelRatio < LEGIBLE);
    }

    /** Client pixels → the SVG's user units. */
    point(event) {
      return new DOMPoint(event.clientX, event.clientY).matrixTransform(this.svg.getScreenCTM()?.inverse());
    }

    /** Pixels of the screen for one user unit, before this camera's own scale. */
    get pixels() {
      return this.svg.getScreenCTM()?.a || 1;
    }

    zoom(factor, about = this.middle()) {
      const scale = Math.min(Math.max(this.scale * factor, 0.5), 8 / this.pixels);
      const ratio = scale / this.scale;
      this.set(about.x - (about.x - this.x) * ratio, about.y - (about.y - this.y) * ratio, scale);
    }

    pan(dx, dy) {
      this.set(this.x + dx / this.pixels, this.y + dy / this.pixels, this.scale);
    }

    middle() {
      const { x, y, width, height } = this.svg.viewBox.baseVal;
      return { x: x + width / 2, y: y + height / 2 };
    }

    /** Puts a node in the middle, readable; without a node, zooms about where the pointer is. */
    look(node, event) {
      if (!node) return event && this.zoom(1.6, this.point(event));
      const scale = Math.max(this.scale, READABLE / this.pixels);
      const middle = this.middle();
      this.set(middle.x - node.x * scale, middle.y - node.y * scale, scale);
    }

    /** Moves only if the node cannot be seen. */
    reveal(node) {
      const frame = this.svg.getBoundingClientRect();
      const box = node.element.getBoundingClientRect();
      const inside = box.left >= frame.left && box.right <= frame.right && box.top >= frame.top && box.bottom <= frame.bottom;
      if (!inside && frame.width) this.look(node);
    }
  }

  /** Dragging pans; a press that hardly moves is a click. */
  function drag(svg, camera, click, signal) {
    let start = null;
    let last = null;
    const stop = () => {
      start = null;
      svg.style.cursor = "grab";
    };
    svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      svg.focus({ preventScroll: true });
      svg.setPointerCapture(event.pointerId);
      start = { target: event.target, x: event.clientX, y: event.clientY, moved: false };
      last = start;
    }, { signal });
    svg.addEventListener("pointermove", (event) => {
      if (!start) return;
      start.moved ||= Math.hypot(event.clientX - start.x, event.clientY - start.y) > CLICK;
      if (!start.moved) return;
      svg.style.cursor = "grabbing";
      camera.pan(event.clientX - last.x, event.clientY - last.y);
      last = { x: event.clientX, y: event.clientY };
    }, { signal });
    svg.addEventListener("pointerup", () => {
      const pressed = start;
      stop();
      if (pressed && !pressed.moved) click(pressed.target);
    }, { signal });
    svg.addEventListener("pointercancel", stop, { signal });
  }

  /** Zooms about the pointer, but only for someone who works here: otherwise the page scrolls. */
  function wheel(svg, camera, signal) {
    svg.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey && !svg.matches(":focus")) return;
      event.preventDefault();
      const lines = event.deltaMode === 0 ? 1 : 16;
      camera.zoom(Math.exp(-event.deltaY * lines * 0.002), camera.point(event));
    }, { signal, passive: false });
  }

  return mount;
})();
