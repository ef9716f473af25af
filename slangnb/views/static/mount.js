// Puts live views over the still pictures that are part of the notebook, or on the page as widgets.

/** Brings together still pictures on the page and the models that the kernel made for them. One for all modules, each
 * of which has a View of its own.
 *
 * The kernel draws the still picture anew while the live one is on the page, and JupyterLab replaces all that is in the
 * output then. So the live view stands beside it: it keeps zoom, focus and a slider that is being dragged. */
function makeMeeting() {
  const groups = new Map(), covers = new WeakMap();
  let due = 0;
  const scan = () => {
    due = 0;
    for (const rows of document.querySelectorAll(".snb-rows")) if (keyIn(rows.cover) !== rows.group.key) take(rows);
    for (const place of document.querySelectorAll("[data-slangnb-view]")) {
      const cover = coverOf(place), key = place.dataset.slangnbView;
      const there = covers.get(cover);
      if (there?.isConnected && there.cover === cover) continue;
      const ready = [...groups.values()].filter(g => g.key === key && g.rows.filter(Boolean).length === g.count);
      // Another picture of the same name is that of another notebook, unless it shows the same.
      const group = ready.reverse().find(g => !g.shown?.isConnected) ?? ready.find(g => pictureOf(g.shown.cover) === pictureOf(cover));
      if (group) mount(group, cover);
    }
  };
  const mount = (group, cover) => {
    // A page that took all away with the picture gets back what was there, with its zoom.
    const found = group.shown && !group.shown.isConnected ? group.shown : null;
    const rows = found ?? make("div", "snb-rows");
    if (!found) for (const model of group.rows) {
      const el = make("div", "");
      rows.append(el);
      group.views.add(new group.View(model, el));
    }
    if (!group.shown?.isConnected) group.shown = rows;
    rows.cover?.classList.remove("snb-covered");
    Object.assign(rows, { cover, group });
    covers.set(cover, rows);
    cover.classList.add("snb-covered");
    // The room of an output is that of its class.
    rows.classList.toggle(OUTPUT, cover.classList.contains(OUTPUT));
    cover.after(rows);
  };
  /** Take a live view from the page: the still picture comes out again. */
  const take = rows => {
    for (const view of rows.group.views) if (view.root.parentElement === rows) { view.end(); rows.group.views.delete(view); }
    if (rows.group.shown === rows) rows.group.shown = null;
    covers.delete(rows.cover);
    rows.cover.classList.remove("snb-covered");
    rows.remove();
  };
  const soon = () => { due ||= setTimeout(scan, 60); };
  const watch = new MutationObserver(changes => { if (groups.size && changes.some(c => c.addedNodes.length)) soon(); });
  watch.observe(document.documentElement, { childList: true, subtree: true });
  return {
    add(model, View) {
      const id = model.get("group");
      if (!groups.has(id)) groups.set(id, { key: model.get("key"), count: model.get("count"), View, rows: [], views: new Set() });
      groups.get(id).rows[model.get("row")] = model;
      soon();
      return () => this.drop(id);
    },
    /** The kernel is gone, or took the view back. */
    drop(id) {
      const group = groups.get(id);
      groups.delete(id);
      for (const rows of new Set([...group?.views ?? []].map(view => view.root.parentElement))) if (rows) take(rows);
    },
  };
}

const OUTPUT = "jp-OutputArea-output";

/** What stays when JupyterLab draws an output anew; elsewhere the picture itself. */
const coverOf = place => place.closest(`.${OUTPUT}`) ?? place;
const keyIn = cover => (cover.matches("[data-slangnb-view]") ? cover : cover.querySelector("[data-slangnb-view]"))?.dataset.slangnbView;
const pictureOf = cover => cover?.querySelector("figure img")?.src;

const MEETING = Symbol.for("slangnb.pairs");

function initialize({ model }) {
  if (!model.get("key")) return undefined;
  const meeting = globalThis[MEETING] ??= makeMeeting();
  const drop = meeting.add(model, View);
  model.on("comm_live_update", drop);
  return () => { model.off("comm_live_update", drop); drop(); };
}

function render({ model, el }) {
  const root = make("div", "");
  el.append(root);
  const view = new View(model, root);
  return () => view.end();
}

export default { initialize, render };
