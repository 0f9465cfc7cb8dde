// What a view needs of the notebook page that it stands in: its keys, its saved picture, the explorer around it.

/** Hides, while this view is on the page, the saved picture that belongs to it: the style sheet goes when the view goes. */
function hideSavedPicture(root, key) {
  const caption = `.jp-OutputArea-child:has(.hv-of-${key})`;
  const picture = `.jp-OutputArea-child:has(+ .jp-OutputArea-child .hv-of-${key})`;
  root.append(make("style", {}, `${caption}, ${picture} { display: none }`));
}

/**
 * Keeps keys out of the notebook's commands. JupyterLab sees every key before this element does, and spares only a focused element that
 * carries an attribute; holding Ctrl or Cmd takes the attribute away, so that saving and running still work from in here.
 */
function keepKeys(root, signal) {
  const spare = (event) => event.target.setAttribute("data-lm-suppress-shortcuts", "true");
  const isModifier = (event) => event.key === "Control" || event.key === "Meta";
  root.addEventListener("focusin", spare, { signal });
  root.addEventListener("keyup", (event) => isModifier(event) && spare(event), { signal });
  root.addEventListener("keydown", (event) => isModifier(event) && event.target.removeAttribute("data-lm-suppress-shortcuts"), { signal, capture: true });
  root.addEventListener("keydown", (event) => event.ctrlKey || event.metaKey || event.stopPropagation(), { signal });
}

/**
 * What the explorer around the view needs of the browser: its keys stay inside, its mode buttons say which one is pressed, the names of
 * nodes in its tables lead to the graph, and the headings of its tables sort.
 */
function furnish(root, signal, show) {
  const explorer = root.closest(".hv-explorer");
  if (!explorer || explorer.hasAttribute("role")) return;
  keepKeys(explorer, signal);
  explorer.addEventListener("click", ({ target }) => {
    const name = target.closest("[data-node]")?.dataset.node;
    const heading = target.closest(".hv-sort")?.closest("th");
    if (name) show(name);
    else if (heading) sortBy(heading);
  }, { signal });
  explorer.setAttribute("role", "region");
  explorer.setAttribute("aria-label", "hyperviz explorer");
  const press = () => explorer.querySelectorAll(".widget-toggle-buttons button").forEach((one) => one.setAttribute("aria-pressed", String(one.classList.contains("mod-active"))));
  const watch = new MutationObserver(press);
  explorer.querySelectorAll(".widget-toggle-buttons").forEach((one) => watch.observe(one, { subtree: true, childList: true, attributeFilter: ["class"] }));
  press();
  signal.addEventListener("abort", () => {
    watch.disconnect();
    explorer.removeAttribute("role");
  });
}

/** Sorts a table by one of its columns; a second time the other way round. @param {HTMLTableCellElement} heading */
function sortBy(heading) {
  const body = heading.closest("table").tBodies[0];
  const order = heading.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
  heading.parentElement.querySelectorAll("[aria-sort]").forEach((one) => one.removeAttribute("aria-sort"));
  heading.setAttribute("aria-sort", order);
  const sign = order === "ascending" ? 1 : -1;
  const keyed = [...body.rows].map((row) => ({ row, cell: row.cells[heading.cellIndex] }));
  const key = (cell) => cell?.dataset.key ?? cell?.textContent ?? "";
  const compare = (a, b) => (isNaN(a) || isNaN(b) ? a.localeCompare(b, "en", { numeric: true }) : a - b);
  keyed.sort((a, b) => sign * compare(key(a.cell), key(b.cell)));
  body.append(...keyed.map(({ row }) => row));
}

/** Calls `done` once the element is on the page. */
function whenAttached(element, done, signal) {
  const watch = new ResizeObserver(() => {
    if (!element.isConnected) return;
    watch.disconnect();
    done();
  });
  watch.observe(element);
  signal.addEventListener("abort", () => watch.disconnect());
}

/** Scrolls a box, and nothing around it, until one of its rows can be seen below the heading. */
function scrollWithin(box, row) {
  const heading = box.querySelector("thead")?.offsetHeight ?? 0;
  const [top, bottom] = [row.offsetTop - heading, row.offsetTop + row.offsetHeight];
  if (top < box.scrollTop) box.scrollTop = top;
  else if (bottom > box.scrollTop + box.clientHeight) box.scrollTop = bottom - box.clientHeight;
}
