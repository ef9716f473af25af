// What explored functions share: sliders that ask the kernel, a probe that reads numbers which are here, and words.
//
// The kernel evaluates the function for each place of a slider; one place is asked for at a time, and those on the way
// are left out. The probe needs no kernel: the numbers of all points are here.

// How long the probe rests before the still picture shows it, and the kernel may take to answer, in milliseconds.
const REST = 500, PATIENCE = 2000;

/** A view has `take` for what arrives, `parts` for what the probe reads, `paint` and `drawOver` for its two canvases, and
 * `under` and `moves` for where pointer and keys bring the probe. */
class Explored {
  constructor(model, root) {
    this.model = model; this.root = root;
    this.asked = 0; this.next = null; this.probe = null; this.held = null; this.dragging = false;
    this.build();
    this.listen();
    if (model.get("seq")) this.read(); else this.send({ kind: "hello" });
  }

  send(message) {
    // A kernel that is gone or busy must not become an error on the page: the last picture stays.
    try { this.model.send(message); return true; } catch { return false; }
  }

  // -- elements

  build() {
    const r = this.root;
    r.classList.add("snb", "snb-explore"); r.setAttribute("role", "group");
    this.name = make("span", "snb-name"); this.call = make("code", "snb-call");
    const head = make("div", "snb-head"); head.append(this.name, this.call);
    this.sliders = make("div", "snb-knobs"); this.inputs = new Map();
    this.what = make("span", "snb-what"); this.readout = make("span", "snb-readout");
    const bar = make("div", "snb-bar"); bar.append(this.what, this.readout);
    this.stage = make("div", "snb-stage", { tabIndex: 0 });
    this.stage.setAttribute("role", "group");
    this.base = make("canvas", ""); this.over = make("canvas", "");
    this.base.setAttribute("role", "img"); this.over.setAttribute("aria-hidden", "true");
    this.stage.append(this.base, this.over);
    this.stats = make("div", "snb-stats"); this.notes = make("div", "snb-caption");
    this.live = make("div", "snb-aside"); this.live.setAttribute("aria-live", "polite"); this.live.setAttribute("role", "status");
    r.append(head, this.sliders, bar, this.stage, this.stats, this.notes, this.live);
    this.watch = new ResizeObserver(() => { if (this.stage.clientWidth !== this.width) { this.width = this.stage.clientWidth; this.draw(); } });
    this.watch.observe(this.stage);
  }

  buildSliders(all) {
    const key = JSON.stringify(all.map(one => [one.name, one.lo, one.hi, one.steps]));
    if (this.key === key) return;
    this.key = key; this.inputs.clear();
    this.sliders.replaceChildren(...all.map(one => {
      const input = make("input", "", { type: "range", min: 0, max: one.steps, step: 1 }), out = make("output", "");
      const place = () => {
        const exact = one.lo + (one.hi - one.lo) * Number(input.value) / one.steps;
        return one.whole ? Math.round(exact) : Number(exact.toPrecision(12));
      };
      const said = value => { out.value = inFull(value, 4); input.setAttribute("aria-valuetext", out.value); };
      input.oninput = () => { this.dragging = true; said(place()); this.ask(one.name, place()); };
      input.onchange = () => this.release();
      const label = make("label", "", { title: `${one.name} from ${inFull(one.lo, 4)} to ${inFull(one.hi, 4)}; a double click brings it back to where it was.` });
      input.ondblclick = () => { said(one.start); this.ask(one.name, one.start); this.release(); };
      label.append(make("b", "", { textContent: one.name }), input, out);
      this.inputs.set(one.name, { input, said, one });
      return label;
    }));
    this.sliders.style.display = all.length ? "" : "none";
  }

  /** A slider was let go: limits that grew while it moved fit the curve again. */
  release() { this.dragging = false; this.held = null; this.draw(); }

  /** One request at a time: the kernel draws the newest place, not each on the way. */
  ask(name, value) {
    if (this.asked && performance.now() - this.asked < PATIENCE) { this.next = { ...this.next, [name]: value }; return; }
    const values = { ...this.next, [name]: value };
    this.next = null;
    this.asked = performance.now();
    this.send({ kind: "set", values });
  }

  // -- what arrives

  read() {
    const meta = this.model.get("meta"), bytes = this.model.get("frame");
    if (!meta?.call) return;
    this.asked = 0;
    this.meta = meta;
    this.take(meta, bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
    this.probe ??= meta.probe;
    this.buildSliders(meta.sliders);
    if (this.next) { const [[name, value]] = Object.entries(this.next); this.ask(name, value); }
    // A slider that is being dragged is ahead of the kernel.
    else if (!this.dragging) for (const { name, lo, hi, steps, value } of meta.sliders) {
      const { input, said } = this.inputs.get(name);
      input.value = Math.round((value - lo) / (hi - lo) * steps);
      said(value);
    }
    this.words();
    this.draw();
    this.root.dataset.seq = this.model.get("seq");
  }

  words() {
    const m = this.meta;
    this.name.textContent = m.title; this.call.textContent = m.call; this.what.textContent = m.what;
    this.stats.replaceChildren(...m.lines.map(([name, said]) => {
      const line_ = make("div", "");
      const parts = said.split("  ").map(part => make("span", /NaN|Inf|nothing/.test(part) ? "snb-odd" : "", { textContent: part }));
      line_.append(make("span", "snb-role", { textContent: name }), ...parts);
      return line_;
    }));
    this.stats.lastChild?.append(make("span", "snb-words", { textContent: m.words }));
    this.notes.textContent = m.said ?? m.notes; this.notes.style.display = this.notes.textContent ? "" : "none";
    this.notes.classList.toggle("snb-odd", !!m.said);
    this.root.setAttribute("aria-label", m.title);
    this.base.setAttribute("aria-label", m.alt);
    this.stage.setAttribute("aria-label", `${m.title}, ${m.what}: arrow keys move the probe`);
    this.tell(false);
  }

  /** Write what the probe reads. */
  tell(aloud = true) {
    const parts = this.parts();
    this.readout.replaceChildren(...parts.map(([name, said, kind]) => make("span", kind, { textContent: `${name} = ${said}` })));
    if (!aloud) return;
    clearTimeout(this.speaking);
    this.speaking = setTimeout(() => { this.live.textContent = parts.map(([name, said]) => `${name} = ${said}`).join(", "); }, 200);
  }

  number(x) { return Number.isFinite(x) ? inFull(x, 4) : written(x); }

  // -- drawing

  context(canvas, w, h) {
    const ratio = window.devicePixelRatio || 1, pw = Math.round(w * ratio), ph = Math.round(h * ratio);
    if (canvas.width !== pw || canvas.height !== ph) { canvas.width = pw; canvas.height = ph; canvas.style.height = `${h}px`; }
    const g = canvas.getContext("2d");
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, w, h);
    return Object.assign(g, this.look);
  }

  draw() {
    if (!this.meta || !this.stage.clientWidth || !this.root.isConnected) return;
    this.look ??= themeOf(this.root, this.live);
    this.paint(this.stage.clientWidth);
    this.drawOver();
    this.root.dataset.drawn = this.model.get("seq");
  }

  // -- probe

  point(index) {
    index = clamp(Math.round(index), 0, this.meta.points - 1);
    if (index === this.probe) return;
    this.probe = index;
    this.drawOver(); this.tell();
    clearTimeout(this.later);
    this.later = setTimeout(() => this.send({ kind: "probe", index }), REST);
  }

  listen() {
    const on = (event, act) => { this.model.on(event, act); this.offs.push(() => this.model.off(event, act)); };
    this.offs = [];
    on("change:seq", () => this.read());
    this.offs.push(onTheme(() => { this.look = null; this.draw(); }));
    this.stage.addEventListener("pointermove", e => {
      if (!this.at) return;
      const box = this.stage.getBoundingClientRect(), index = this.under(e.clientX - box.left, e.clientY - box.top);
      if (index !== null) this.point(index);
    });
    this.stage.addEventListener("keydown", e => {
      if (!this.meta || e.altKey || e.metaKey || e.ctrlKey) return;
      const moves = this.moves(e.shiftKey ? 10 : 1);
      if (!(e.key in moves)) return;
      // Lab moves between cells with the same keys.
      e.preventDefault(); e.stopPropagation();
      this.point(moves[e.key]);
    });
  }

  end() {
    for (const off of this.offs) off();
    this.watch.disconnect();
    clearTimeout(this.speaking); clearTimeout(this.later);
    this.root.remove();
  }
}
