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

/** What the explorer around the view needs of the browser: its keys stay inside, and its mode buttons say which one is pressed. */
function furnish(root, signal) {
  const explorer = root.closest(".hv-explorer");
  if (!explorer || explorer.hasAttribute("role")) return;
  keepKeys(explorer, signal);
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
