// A value beside its gradient, drawn on canvases.
//
//   1  numbers of a few elements  pure; what other views need, too, is in base.js
//   2  what the kernel sent       bytes to arrays, arrays to pictures
//   3  marks on pictures          ticks, scales, contours, arrows, profiles
//   4  View                       one pair on the page: its elements, its events, its talk with the kernel
//
// Nothing moves unless a person starts it, so that there is nothing to slow down for people who prefer reduced motion.

// ---------------------------------------------------------------------------------------------------- 1 numbers

const STEPS = 252;
const NAN = 253, POS_INF = 254, NEG_INF = 255;

/** The range of an axis of a few numbers, with room for what is written at their ends; `zero`: they stand on a line at 0. */
function stemsOf(panel, room) {
  const numbers = [...panel.low].filter(Number.isFinite), slope = panel.role === "gradient";
  let { lo, hi } = panel;
  // Limits that are about zero only because gradients are: all of the height is for the numbers.
  const reach = Math.max(...numbers.map(Math.abs));
  if (slope && numbers.length && Math.abs(hi - reach) <= 1e-6 * reach) [lo, hi] = [Math.min(...numbers), Math.max(...numbers)];
  const zero = slope || Math.max(Math.abs(lo), Math.abs(hi)) / 2 <= 4 * (hi / 2 - lo / 2) || numbers.every(x => x === numbers[0]);
  if (zero) [lo, hi] = [Math.min(lo, 0), Math.max(hi, 0)];
  if (!(hi > lo)) [lo, hi] = [-1, 1];
  const side = end => (!zero || end !== 0 ? room : 0.03) * (hi - lo);
  return { zero, scale: scaleOf({ lo: lo - side(lo), hi: hi + side(hi) }) };
}

const counted = (lo, hi, most) => [...new Set(spaced(lo, hi, most).filter(Number.isInteger))];

/** A scale from numbers to 0..1, linear or linear about zero and logarithmic beyond. */
function scaleOf({ lo, hi, soft }) {
  const f = soft ? x => Math.asinh(x / soft) : x => x;
  const a = f(lo), b = f(hi), half = b / 2 - a / 2 || 0.5;
  const place = x => clamp((f(x) / 2 - a / 2) / half, 0, 1);
  const number = t => { const y = a * (1 - t) + b * t; return soft ? Math.sinh(y) * soft : y; };
  const ticks = most => {
    if (!soft) return spaced(lo, hi, most);
    const found = lo <= 0 && hi >= 0 ? [0] : [];
    const top = Math.floor(Math.log10(Math.max(Math.abs(lo), Math.abs(hi))));
    for (let k = top; k > top - 4; k -= most < 5 ? 2 : 1) for (const x of [10 ** k, -(10 ** k)]) if (x >= lo && x <= hi) found.push(x);
    return found;
  };
  return { lo, hi, place, number, ticks };
}

const decoded = (code, scale) =>
  code <= STEPS ? scale.number(code / STEPS) : code === NAN ? NaN : code === POS_INF ? Infinity : -Infinity;

// ---------------------------------------------------------------------------------------- 2 what the kernel sent

const MARK = [0xc0, 0x26, 0xd3];
const pixel = (r, g, b) => (255 << 24 | b << 16 | g << 8 | r) >>> 0;

function paletteOf(bytes) {
  const found = new Uint32Array(256).fill(pixel(...MARK));
  for (let i = 0; i <= STEPS; i++) found[i] = pixel(bytes[3 * i], bytes[3 * i + 1], bytes[3 * i + 2]);
  return found;
}
const cssOf = p => `rgb(${p & 255} ${(p >> 8) & 255} ${(p >> 16) & 255})`;

/** Read the bytes of a window: per panel codes or colours, or the numbers of a line. */
function unpack(about, bytes) {
  let at = 0;
  const take = n => bytes.subarray(at, at += n);
  const floats = n => { const part = take(4 * n); return new Float32Array(part.buffer.slice(part.byteOffset, part.byteOffset + 4 * n)); };
  const panels = about.panels.map(p => {
    const count = p.layers * p.height * p.width;
    // Beyond single precision, numbers come in a unit of their own.
    const numbers = () => p.unit ? Float64Array.from(floats(count), x => x * p.unit + p.offset) : floats(count);
    if (about.kind === "line") return { ...p, low: numbers(), high: p.upper ? numbers() : null, scale: scaleOf(p) };
    if (p.colours) return { ...p, colour: take(count) };
    return { ...p, codes: take(count), scale: scaleOf(p) };
  });
  if (about.exact) {
    at += -at & 3;
    for (const p of panels) p.numbers = floats((p.colour ?? p.codes).length);
  }
  return { ...about, panels };
}

/** Paint each layer into a picture of its own, one pixel per element. */
function paint(panel, palette) {
  const { height, width, layers } = panel;
  const plane = height * width;
  const count = panel.colours ? 1 : layers;
  panel.pictures = Array.from({ length: count }, (_, layer) => {
    const canvas = panel.pictures?.[layer] ?? document.createElement("canvas");
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    const context = canvas.getContext("2d");
    const image = context.createImageData(width, height), out = new Uint32Array(image.data.buffer);
    if (panel.colours) {
      const c = panel.colour;
      for (let i = 0; i < plane; i++) out[i] = pixel(c[i], c[plane + i], c[2 * plane + i]);
    } else {
      const codes = panel.codes, start = layer * plane;
      for (let i = 0; i < plane; i++) out[i] = palette[codes[start + i]];
    }
    context.putImageData(image, 0, 0);
    return canvas;
  });
}

// --------------------------------------------------------------------------------------------- 3 marks on pictures

// Lines of at most so many elements are drawn as stems, with their numbers where they are fewer still.
const SMALL = 64, FEW = 8;
const LEFT = 40, RIGHT = 10, TOP = 5, TICKS = 19, PROFILE = 74, COUNTS = 34, BAR = 9, SCALE = COUNTS + BAR + 20;
// Milliseconds between two steps of a history that is played.
const MOMENT = 220;

/** A line that is seen on any colour. */
function halo(g, draw) {
  for (const [colour, width] of [["rgb(0 0 0 / 0.7)", 3.6], ["#fff", 1.5]]) { g.strokeStyle = colour; g.lineWidth = width; draw(); }
}

function indexTicks(g, box, zoom, { left = true, below = true } = {}) {
  if (below) for (const i of counted(zoom.c0, zoom.c1 - 1, Math.max(2, box.w / 48))) {
    const x = box.x + (i + 0.5 - zoom.c0) / (zoom.c1 - zoom.c0) * box.w;
    line(g, x, box.y + box.h + 1, x, box.y + box.h + 4, g.inks.muted, 0.8);
    text(g, i, x, box.y + box.h + 6, { whole: true });
  }
  if (left) for (const i of counted(zoom.r0, zoom.r1 - 1, Math.max(2, box.h / 36))) {
    const y = box.y + (i + 0.5 - zoom.r0) / (zoom.r1 - zoom.r0) * box.h;
    line(g, box.x - 4, y, box.x - 1, y, g.inks.muted, 0.8);
    text(g, i, box.x - 6, y, { align: "right", base: "middle" });
  }
}

function countsOf(codes) {
  const each = new Uint32Array(256), counts = new Float64Array(63);
  for (let i = 0; i < codes.length; i++) each[codes[i]]++;
  for (let code = 0; code <= STEPS; code++) counts[Math.min(code >> 2, 62)] += each[code];
  return counts;
}

function rampOf(palette) {
  if (palette.ramp) return palette.ramp;
  const canvas = Object.assign(document.createElement("canvas"), { width: STEPS + 1, height: 1 }), g = canvas.getContext("2d");
  const image = g.createImageData(STEPS + 1, 1);
  new Uint32Array(image.data.buffer).set(palette.subarray(0, STEPS + 1));
  g.putImageData(image, 0, 0);
  return palette.ramp = canvas;
}

/** The colour scale with the counts of what is drawn standing on it; zero is marked. */
function colourScale(g, panel, palette, box) {
  const counts = panel.counts ??= countsOf(panel.codes), bins = counts.length;
  const most = Math.max(...counts), base = box.y + COUNTS, ratio = window.devicePixelRatio || 1;
  const snap = x => Math.round(x * ratio) / ratio;
  if (!(most > 0)) return;
  for (let i = 0; i < bins; i++) {
    if (!counts[i]) continue;
    // On a logarithm: one element must still be seen beside a million.
    const height = (COUNTS - 3) * (0.08 + 0.92 * Math.log1p(counts[i]) / Math.log1p(most));
    const x0 = snap(box.x + i / bins * box.w), x1 = snap(box.x + (i + 1) / bins * box.w);
    g.fillStyle = cssOf(palette[Math.min(i * 4 + 2, STEPS)]);
    g.fillRect(x0, snap(base - 1 - height), x1 - x0, snap(base - 1) - snap(base - 1 - height));
  }
  text(g, "log", box.x - 5, base - 23, { align: "right", size: 9.5 });
  text(g, "count", box.x - 5, base - 12, { align: "right", size: 9.5 });
  g.imageSmoothingEnabled = true;
  g.drawImage(rampOf(palette), box.x, base + 1, box.w, BAR);
  g.strokeStyle = g.inks.line; g.lineWidth = 1;
  g.strokeRect(box.x - 0.5, base + 0.5, box.w + 1, BAR + 1);
  if (panel.mode === "sign") {
    for (const [said, t] of [["negative", 1 / 6], ["0", 0.5], ["positive", 5 / 6]]) text(g, said, box.x + t * box.w, base + BAR + 6);
    return;
  }
  let taken = -Infinity;
  const inside = panel.scale.ticks(Math.max(3, box.w / 62)).sort((a, b) => a - b);
  const zero = panel.scale.lo <= 0 && panel.scale.hi >= 0 ? box.x + panel.scale.place(0) * box.w : null;
  const said = told(inside);
  g.font = `11px ${g.fonts.sans}`;
  inside.forEach((value, i) => {
    const x = box.x + panel.scale.place(value) * box.w, room = Math.max(34, g.measureText(said[i]).width + 6);
    if (value !== 0 && ((zero !== null && Math.abs(x - zero) < 24) || x - taken < room)) return;
    if (value !== 0) line(g, x, base + BAR + 1, x, base + BAR + 4, g.inks.muted, 0.8);
    text(g, said[i], x, base + BAR + 6, { colour: value === 0 ? g.inks.ink : undefined, whole: true });
    taken = x;
  });
  if (zero !== null) line(g, zero, base - 5, zero, base + BAR + 5, g.inks.ink, 1.4);
}

/** Lines of equal gradient, by marching squares over at most 128 x 128 samples of what is drawn. */
function contours(g, panel, zoom, steps, box) {
  const { width, height, codes, numbers, scale } = panel, stride = Math.ceil(Math.max(width, height) / 128);
  const rows = Math.floor((height - 1) / stride) + 1, columns = Math.floor((width - 1) / stride) + 1;
  const code = i => codes[i] > STEPS ? NaN : numbers ? scale.place(numbers[i]) * STEPS : codes[i];
  const field = new Float32Array(rows * columns);
  for (let r = 0; r < rows; r++) for (let c = 0; c < columns; c++) field[r * columns + c] = code(r * stride * width + c * stride);
  const at = (r, c) => field[r * columns + c];
  const x = c => box.x + ((c * stride + 0.5) * steps[1] - zoom.c0) / (zoom.c1 - zoom.c0) * box.w;
  const y = r => box.y + ((r * stride + 0.5) * steps[0] - zoom.r0) / (zoom.r1 - zoom.r0) * box.h;
  const centre = scale.place(0);
  for (const share of [-0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75]) {
    const want = clamp(centre + share * Math.max(centre, 1 - centre), 0, 1) * STEPS + 0.001;
    if (want <= 0 || want >= STEPS) continue;
    g.beginPath();
    for (let r = 0; r + 1 < rows; r++) for (let c = 0; c + 1 < columns; c++) {
      const v = [at(r, c), at(r, c + 1), at(r + 1, c + 1), at(r + 1, c)];
      if (v.some(Number.isNaN)) continue;
      const corners = [[c, r], [c + 1, r], [c + 1, r + 1], [c, r + 1]], cuts = [];
      for (let k = 0; k < 4; k++) {
        const a = v[k], b = v[(k + 1) % 4];
        if ((a < want) === (b < want)) continue;
        const t = (want - a) / (b - a), p = corners[k], q = corners[(k + 1) % 4];
        cuts.push([x(p[0] + t * (q[0] - p[0])), y(p[1] + t * (q[1] - p[1]))]);
      }
      for (let k = 0; k + 1 < cuts.length; k += 2) { g.moveTo(...cuts[k]); g.lineTo(...cuts[k + 1]); }
    }
    g.strokeStyle = "rgb(0 0 0 / 0.5)"; g.lineWidth = share ? 2.4 : 3; g.stroke();
    g.strokeStyle = share === 0 ? "#fff" : share < 0 ? "#a8cbe2" : "#f3c29b"; g.lineWidth = share ? 1.1 : 1.4; g.stroke();
  }
}

/** Arrows on a grid along a gradient of vectors: its first component goes right, its second down. */
function arrows(g, panel, zoom, steps, box) {
  const { width, height, codes, numbers, scale } = panel, plane = width * height;
  const number = i => numbers ? numbers[i] : decoded(codes[i], scale);
  const across = Math.max(4, Math.floor(box.w / 22)), down = Math.max(3, Math.floor(box.h / 22)), found = [];
  for (let i = 0; i < down; i++) for (let j = 0; j < across; j++) {
    const r = Math.floor((zoom.r0 + (i + 0.5) / down * (zoom.r1 - zoom.r0)) / steps[0]);
    const c = Math.floor((zoom.c0 + (j + 0.5) / across * (zoom.c1 - zoom.c0)) / steps[1]);
    if (r < 0 || c < 0 || r >= height || c >= width) continue;
    const dx = number(r * width + c), dy = number(plane + r * width + c), length = Math.hypot(dx, dy);
    if (length > 0 && Number.isFinite(length)) found.push({ i, j, dx: dx / length, dy: dy / length, length });
  }
  // The longest may be one of its kind: most arrows would be points beside it.
  const sorted = found.map(one => one.length).sort((a, b) => a - b), reach = sorted[Math.floor(0.9 * (sorted.length - 1))];
  for (const { i, j, dx, dy, length } of found) {
    if (length < 0.01 * reach) continue;
    const half = clamp(length / reach, 0.35, 1) * 9, head = 2.5 + half / 3, angle = Math.atan2(dy, dx);
    const x = box.x + (j + 0.5) / across * box.w, y = box.y + (i + 0.5) / down * box.h, ex = x + dx * half, ey = y + dy * half;
    halo(g, () => {
      g.beginPath(); g.moveTo(x - dx * half, y - dy * half); g.lineTo(ex, ey);
      for (const turn of [2.6, -2.6]) { g.moveTo(ex, ey); g.lineTo(ex + head * Math.cos(angle + turn), ey + head * Math.sin(angle + turn)); }
      g.stroke();
    });
  }
}

function markers(g, panel, zoom, steps, boxes) {
  for (const [layer, row, column, code] of panel.marks ?? []) {
    const box = boxes[Math.min(layer, boxes.length - 1)];
    const x = box.x + ((column + 0.5) * steps[1] - zoom.c0) / (zoom.c1 - zoom.c0) * box.w;
    const y = box.y + ((row + 0.5) * steps[0] - zoom.r0) / (zoom.r1 - zoom.r0) * box.h;
    if (x < box.x || x > box.x + box.w || y < box.y || y > box.y + box.h) continue;
    // An element that is large enough on the screen is seen by its colour.
    if (code !== NAN || steps[1] / (zoom.c1 - zoom.c0) * box.w < 2) sign(g, x, y, code);
  }
}
function sign(g, x, y, code) {
  g.fillStyle = cssOf(pixel(...MARK)); g.strokeStyle = "#fff"; g.lineWidth = 0.8;
  g.beginPath();
  if (code === NAN) g.rect(x - 2.5, y - 2.5, 5, 5);
  else { const d = code === POS_INF ? 1 : -1; g.moveTo(x, y - 4 * d); g.lineTo(x + 4, y + 3 * d); g.lineTo(x - 4, y + 3 * d); g.closePath(); }
  g.fill(); g.stroke();
}

// ---------------------------------------------------------------------------------------------------------- 4 View

// The key that lets the wheel zoom, as it is written on the keyboard.
const WHEEL = /Mac/.test(navigator.platform) ? "⌘" : "Ctrl";

// Name, label, options, the kinds of pictures that have it, and what it does.
const CHOICES = [
  ["values", "colours", { viridis: "viridis", cividis: "cividis", magma: "magma", gray: "grey" }, ["image", "facets"],
    "The colours of values; gradients keep theirs."],
  ["limits", "limits", { exact: "all", robust: "1–99 %", shared: "shared", symmetric: "about 0" }, ["image", "facets", "line", "rgb"],
    "What a scale covers: all elements, all but the outermost hundredth at each end, one range for value and gradient, or a range with 0 in its middle."],
  ["scale", "scale", { linear: "linear", symlog: "symlog" }, ["image", "facets", "rgb"],
    "Symlog is linear about 0 and logarithmic beyond, so that small numbers are seen beside large ones."],
  ["mode", "gradient", { signed: "signed", magnitude: "magnitude", sign: "sign" }, ["image", "facets", "rgb"],
    "What is drawn of the gradient: its numbers, their size without the sign, or the sign alone."],
];
const LOCAL = [
  ["overlay", "overlay", { none: "none", contours: "gradient contours", arrows: "gradient arrows" }, ["image", "facets"],
    "Drawn over the value: lines where the gradient is equal (white where it is 0), or, for vectors, arrows along it (first component right, second down)."],
  ["profile", "profile", { off: "off", row: "row", column: "column" }, ["image", "facets"],
    "A plot below each picture: the row or the column of the element under the pointer."],
];

class View {
  constructor(model, root) {
    this.model = model;
    this.root = root;
    this.zoom = null; this.cursor = null; this.detail = null; this.frame = null;
    this.local = { overlay: "none", profile: "off" };
    this.number = 0; this.asking = 0; this.drawn = false;
    this.build();
    this.listen();
    // Before the first picture there is nothing to choose, and no note.
    this.controls.style.display = this.note.style.display = "none";
    if (model.get("seq")) this.read(); else this.send({ kind: "hello" });
  }

  send(message) {
    // A kernel that is gone or busy must not become an error on the page: the last picture stays.
    try { this.model.send(message); return true; } catch { return false; }
  }

  // -- elements

  build() {
    const r = this.root;
    r.classList.add("snb"); r.setAttribute("role", "group");
    this.head = make("div", "snb-head");
    this.name = make("span", "snb-name"); this.heading = make("span", "snb-heading"); this.note = make("span", "snb-note");
    this.readout = make("span", "snb-readout");
    this.head.append(this.name, this.heading, this.note, this.readout);
    this.live = make("div", "snb-aside"); this.live.setAttribute("aria-live", "polite"); this.live.setAttribute("role", "status");
    this.panels = make("div", "snb-panels");
    this.sliders = make("div", "snb-sliders"); this.controls = make("div", "snb-controls"); this.caption = make("div", "snb-caption");
    r.append(this.head, this.panels, this.sliders, this.controls, this.caption, this.live);
    if (this.model.get("steps")?.length && this.model.get("row") === this.model.get("count") - 1) this.player = new Player(this);
    this.stages = [];
    this.selects = {};
    this.buildControls();
  }

  buildControls() {
    const zoom = make("span", "snb-zoom");
    for (const [sign_, said, act] of [["−", "zoom out", () => this.scaleBy(1.6)], ["+", "zoom in", () => this.scaleBy(1 / 1.6)], ["⤢", "show all", () => this.reset()]]) {
      const b = make("button", "", { type: "button", textContent: sign_, title: said });
      b.setAttribute("aria-label", said); b.onclick = act; zoom.append(b);
      this.zoomButtons = [...(this.zoomButtons ?? []), b];
    }
    zoom.append(make("span", "snb-hint", { textContent: `or ${WHEEL} + wheel` }));
    this.controls.append(zoom);
    for (const [name, label, options, kinds, title] of [...CHOICES, ...LOCAL]) {
      const own = name in this.local;
      const s = make("select", "", { name, title });
      for (const [value, said] of Object.entries(options)) s.append(make("option", "", { value, textContent: said }));
      s.onchange = () => own ? this.setLocal(name, s.value) : this.setLook(name, s.value);
      const l = make("label", "", { title }); l.append(label, s); this.controls.append(l);
      this.selects[name] = { s, l, kinds };
    }
  }

  get vectors() { return this.frame.panels[1]?.layers > 1; }
  get overlay() { return this.local.overlay === "arrows" && !this.vectors ? "none" : this.local.overlay; }

  setLocal(name, value) {
    this.local[name] = value; this.placed = null; this.repaint();
    if (this.frame) this.askDetail();
  }

  setLook(name, value) {
    if (name === "values") { this.look = { ...this.look, values: value }; this.repaint(); }
    this.model.set("look", { ...this.model.get("look"), [name]: value });
    try { this.model.save_changes(); } catch { /* no kernel: the picture stays */ }
  }

  /** Whether the lines share one stage, one below the other; a few elements stand side by side as stems. */
  get long() {
    const { kind, panels, columns } = this.frame;
    return kind === "line" && (panels[0].layers > 1 || columns[1] - columns[0] > SMALL);
  }

  buildStages(panels) {
    const long = this.long, wanted = long ? 1 : panels.length;
    const shape = `${long} ${wanted}`;
    if (this.shape === shape) return;
    this.shape = shape;
    for (const s of this.stages) s.watch.disconnect();
    this.panels.replaceChildren();
    this.panels.className = "snb-panels" + (long ? " snb-wide" : wanted === 1 ? " snb-one" : "");
    this.stages = Array.from({ length: wanted }, (_, i) => {
      const figure = make("div", "snb-panel"), title = make("div", "snb-title"), stats = make("div", "snb-stats");
      const stage = make("div", "snb-stage", { tabIndex: 0 });
      const base = make("canvas", ""), over = make("canvas", "");
      stage.setAttribute("role", "group");
      base.setAttribute("role", "img"); over.setAttribute("aria-hidden", "true");
      stage.append(base, over); figure.append(title, stage, stats); this.panels.append(figure);
      const made = { i, places: long ? panels.map((_, k) => k) : [i], figure, title, stats, stage, base, over };
      made.watch = new ResizeObserver(() => { if (stage.clientWidth !== made.seenWidth) { made.seenWidth = stage.clientWidth; this.resize(); this.draw(); } });
      made.watch.observe(stage);
      this.stageEvents(made);
      return made;
    });
  }

  buildSliders(axes) {
    const key = JSON.stringify([axes?.sliders?.map(s => [s.axis, s.size]), axes?.sizes, axes?.components, axes?.down, axes?.across]);
    if (this.slidersKey !== key) {
      this.slidersKey = key; this.ranges = [];
      this.sliders.replaceChildren();
      axes?.sliders?.forEach(({ axis, size, pick }, place) => {
        const input = make("input", "", { type: "range", min: 0, max: size - 1, step: 1, value: pick }), out = make("output", "");
        input.setAttribute("aria-label", `index on axis ${axis}`);
        this.ranges.push({ input, out, size });
        // An axis of one element has nothing to choose.
        if (size < 2) return;
        input.oninput = () => { out.value = placeOf(input, size); this.turn({ place, pick: Number(input.value) }); };
        input.title = `The index on axis ${axis} of the slice that is drawn.`;
        const l = make("label", "", { title: input.title }); l.append(`axis ${axis}`, input, out); this.sliders.append(l);
      });
      if (axes?.sizes?.length > 2 && axes.down !== null) for (const [role, said, now] of [["rows", "down", axes.down], ["columns", "across", axes.across]]) {
        const title = `The axis whose elements are the ${role} of the picture.`, s = make("select", "", { name: role, title });
        axes.sizes.forEach((n, i) => s.append(make("option", "", { value: i, textContent: `axis ${i}`, selected: i === now })));
        s.onchange = () => this.turn({ role, axis: Number(s.value) });
        const l = make("label", "", { title }); l.append(said, s); this.sliders.append(l);
      }
      if (axes?.components > 1) {
        const title = "The component of the vectors that is drawn, or all of them.";
        const s = make("select", "", { name: "component", title }), names = this.meta.labels;
        s.append(make("option", "", { value: "", textContent: "all" }));
        for (let i = 0; i < axes.components; i++) s.append(make("option", "", { value: i, textContent: names[i] ?? String(i) }));
        s.value = axes.component ?? "";
        s.onchange = () => this.turn({ component: s.value === "" ? null : Number(s.value) });
        const l = make("label", "", { title }); l.append("component", s); this.sliders.append(l);
      }
    }
    axes?.sliders?.forEach(({ pick }, place) => {
      const { input, out, size } = this.ranges[place];
      // A slider that is being dragged is ahead of the kernel.
      if (!this.turning && !this.nextTurn) input.value = pick;
      out.value = placeOf(input, size);
    });
    this.sliders.hidden = !this.sliders.childElementCount;
    this.sliders.style.display = this.sliders.hidden ? "none" : "";
  }

  /** One request at a time: the kernel draws the newest place, not each on the way. */
  turn(change) {
    if (this.turning && performance.now() - this.turning < 2000) { this.nextTurn = change; return; }
    this.turning = performance.now();
    this.detail = null;
    if (change.role || "component" in change) { this.zoom = null; this.cursor = null; }
    this.send({ kind: "axes", ...change });
  }

  // -- what arrives

  read() {
    const meta = this.model.get("meta"), view = this.model.get("frame");
    if (!meta?.kind) return;
    this.meta = meta; this.look = this.model.get("look") ?? {};
    this.turning = 0;
    this.player?.arrived();
    if (this.nextTurn) { const next = this.nextTurn; this.nextTurn = null; this.turn(next); }
    this.words(meta);
    if (!meta.panels || !view?.byteLength) { this.sentence(meta); return; }
    this.frameOf(meta, view);
  }

  frameOf(meta, view) {
    this.root.dataset.seq = this.model.get("seq");
    const old = this.frame;
    this.frame = unpack(meta, new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
    // The canvases of the last picture are used again.
    if (old) this.frame.panels.forEach((p, i) => { p.pictures = old.panels[i]?.pictures; });
    const size = `${meta.kind} ${meta.rows} ${meta.columns}`;
    if (size !== this.size) { this.size = size; this.zoom = null; this.cursor = null; }
    this.whole = { r0: meta.rows[0], r1: meta.rows[1], c0: meta.columns[0], c1: meta.columns[1] };
    this.zoom ??= { ...this.whole };
    this.buildStages(meta.panels);
    this.buildSliders(meta.axes);
    for (const [name, { s, l, kinds }] of Object.entries(this.selects)) {
      l.style.display = kinds.includes(meta.kind) && (meta.gradient || !["mode", "overlay"].includes(name)) ? "" : "none";
      if (name === "overlay") {
        s.disabled = (this.look.mode ?? "signed") !== "signed";
        // On an image an arrow for a sign would read as a motion.
        const arrow = s.querySelector('[value="arrows"]');
        arrow.hidden = arrow.disabled = !this.vectors;
        s.value = this.overlay;
      }
      if (!(name in this.local)) s.value = this.look[name] ?? s.options[0].value;
    }
    this.controls.style.display = "";
    this.stages.forEach((s, i) => this.stageWords(s, meta, i));
    this.repaint();
    if (this.zoomed()) this.askDetail();
    if (this.cursor) this.probe(false);
  }

  stageWords(s, meta, i) {
    // The scale has the counts of what is drawn on it; the numbers are those of all elements.
    const sliced = meta.axes?.sliders.some(one => one.size > 1);
    const key = JSON.stringify([meta.kind, meta.panels.map(p => p.mode), meta.said, meta.alt, sliced]);
    if (s.words === key) return;
    s.words = key;
    const roles = s.places.map(k => meta.panels[k].role), mode = meta.kind === "line" ? "" : meta.panels[i].mode;
    s.title.textContent = this.long ? "" : roles[0] + (mode === "magnitude" ? ", magnitude" : mode === "sign" ? ", sign" : "");
    s.title.style.display = this.long ? "none" : "";
    s.stats.replaceChildren(...roles.map(r => {
      const row = make("div", "");
      // Each number stays with its word where the line wraps.
      const words = sliced ? ["whole tensor:", ...meta.said[r].split("  ")] : meta.said[r].split("  ");
      if (sliced && s.i < meta.panels.length && meta.kind !== "line" && !meta.panels[s.i].colours) words.push("(bars: this slice)");
      const parts = words.map(said => make("span", "", { textContent: said }));
      row.append(...(roles.length > 1 ? [make("span", "snb-role", { textContent: r })] : []), ...parts);
      return row;
    }));
    s.base.setAttribute("aria-label", `${roles.join(" and ")}. ${meta.alt}`);
    s.stage.setAttribute("aria-label", `${meta.name}, ${roles.join(" and ")}: arrow keys move the probe, plus and minus zoom`);
  }

  words(meta) {
    this.name.textContent = meta.name ?? "";
    this.heading.textContent = meta.heading ?? "";
    this.note.textContent = meta.note ?? ""; this.note.style.display = meta.note ? "" : "none";
    this.note.classList.toggle("snb-calm", !!meta.calm);
    const said = [meta.caption, meta.panels && !meta.gradient ? "no gradient" : ""].filter(Boolean).join(" · ");
    this.caption.textContent = said; this.caption.style.display = said ? "" : "none";
    this.root.setAttribute("aria-label", meta.alt ?? meta.name ?? "");
  }

  /** Nothing to draw: numbers, or what went wrong, in words. */
  sentence(meta) {
    const said = meta.kind === "said" ? meta.said
      : meta.kind === "empty" ? "empty: there are no elements to draw"
      : Object.entries(meta.numbers ?? {}).map(([role, n]) => `${role.padEnd(10)}${n}`).join("\n");
    this.shape = this.placed = null; this.frame = null;
    this.panels.replaceChildren(make("p", "snb-sentence", { textContent: said }));
    this.panels.className = "snb-panels snb-wide";
    this.stages = [];
    this.controls.style.display = this.sliders.style.display = "none";
    this.readout.textContent = "";
    this.root.dataset.seq = this.model.get("seq");
  }

  message(m, buffers) {
    if (m.kind === "probe") {
      this.asking = 0;
      if (m.id === this.number) m.error ? this.say(this.about) : this.show(m.index, m.value, m.gradient, false, m.note);
      if (this.again) { this.again = false; this.probe(true); }
    } else if (m.kind === "window" && m.id === this.windowId && !m.error && this.frame) {
      const b = buffers[0];
      this.detail = unpack(m.about, new Uint8Array(b.buffer, b.byteOffset, b.byteLength));
      this.colour([this.detail]); this.drawSoon();
    }
  }

  // -- colours and sizes

  palette(panel) {
    const maps = this.model.get("maps"), own = panel.table === "value" ? this.look?.values ?? "viridis" : panel.table;
    // On dark paper zero of a gradient is dark.
    const dark = `${own}-dark`, name = this.look_.inks.dark && maps?.[dark] ? dark : own;
    const b = maps?.[name] ?? maps?.viridis;
    this.palettes ??= {};
    if (!this.palettes[name]) {
      if (!b) return new Uint32Array(256);
      this.palettes[name] = paletteOf(new Uint8Array(b.buffer, b.byteOffset, b.byteLength));
    }
    return this.palettes[name];
  }

  repaint() {
    if (!this.frame) return;
    this.look_ ??= this.theme();
    this.colour();
    // Sizes and the theme are looked at when they change, not for each picture.
    const placed = `${this.shape} ${this.size} ${this.frame.panels.map(p => [p.layers, !!p.colours])} ${this.local.profile}`;
    if (placed !== this.placed) { this.placed = placed; this.resize(); }
    this.draw();
  }
  /** Paint what is drawn: all of it, and the elements in sight. */
  colour(frames = [this.frame, this.detail]) {
    for (const f of frames) if (f && f.kind !== "line") for (const p of f.panels) paint(p, p.colours ? null : this.palette(p));
  }

  theme() { return themeOf(this.root, this.live); }

  /** Place the parts of each canvas, and give it the pixels that the screen has. */
  resize() {
    if (!this.frame) return;
    const { dark } = this.look_.inks;
    this.look_ = this.theme();
    // The first picture comes before the view is on the page, where each theme looks light.
    if (this.look_.inks.dark !== dark) this.colour();
    for (const s of this.stages) {
      const w = s.stage.clientWidth;
      if (!w) continue;
      s.w = w;
      s.layout = this.long ? this.layLines(w) : this.frame.kind === "line" ? this.layStems(w) : this.layImage(w, this.frame.panels[s.i]);
      const ratio = window.devicePixelRatio || 1;
      for (const c of [s.base, s.over]) {
        const pw = Math.round(w * ratio), ph = Math.round(s.layout.h * ratio);
        if (c.width !== pw || c.height !== ph) { c.width = pw; c.height = ph; c.style.height = `${s.layout.h}px`; }
      }
    }
  }

  layImage(w, panel) {
    const layers = panel.colours ? 1 : panel.layers;
    const most = Math.max(1, ...this.frame.panels.map(p => p.colours ? 1 : p.layers));
    const per = layers === 1 ? 1 : layers === 3 ? 3 : 2, lines = Math.ceil(layers / per), gap = 8, label = layers > 1 ? 15 : 0;
    const room = w - LEFT - RIGHT, ratio = (this.whole.r1 - this.whole.r0) / (this.whole.c1 - this.whole.c0);
    const tall = most > 1 && layers > 1 ? 260 : 420;
    let tw = (room - gap * (per - 1)) / per;
    let th = tw * ratio;
    if (th > tall) { th = tall; if (th / ratio > tw * 0.3) tw = th / ratio; else tw *= 0.5; }
    th = Math.max(th, Math.min(56, tw));
    const boxes = Array.from({ length: layers }, (_, i) => ({
      x: LEFT + (i % per) * (tw + gap), y: TOP + label + Math.floor(i / per) * (th + label + gap), w: tw, h: th,
    }));
    let y = TOP + lines * (th + label) + (lines - 1) * gap + TICKS;
    const profile = this.local.profile !== "off" && !panel.colours ? { x: LEFT, y: y + 4, w: per * tw + (per - 1) * gap, h: PROFILE - 12 } : null;
    if (profile) y += PROFILE + (this.local.profile === "column" ? 12 : 0);
    const scale = panel.colours ? null : { x: LEFT, y: y + 2, w: Math.min(room, Math.max(per * tw + (per - 1) * gap, 180)) };
    return { boxes, per, profile, scale, h: Math.ceil(y + 2 + (scale ? SCALE : 0)) };
  }

  layLines(w) {
    const two = this.frame.panels.length > 1, left = 56;
    const value = { x: left, y: 20, w: w - left - 12, h: two ? 150 : 180 };
    const gradient = { x: left, y: value.y + value.h + 26, w: value.w, h: 92 };
    const boxes = two ? [value, gradient] : [value], last = boxes.at(-1);
    return { boxes, h: last.y + last.h + TICKS + 4 };
  }

  layStems(w) {
    const box = { x: LEFT + 8, y: TOP, w: w - LEFT - 8 - RIGHT, h: 130 };
    return { boxes: [box], h: box.y + box.h + TICKS };
  }

  // -- drawing

  drawSoon() {
    if (this.due) return;
    this.due = requestAnimationFrame(() => { this.due = 0; this.draw(); });
  }

  context(canvas) {
    const g = canvas.getContext("2d"), ratio = window.devicePixelRatio || 1;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, canvas.width, canvas.height);
    return Object.assign(g, this.look_);
  }

  draw() {
    if (!this.frame || !this.root.isConnected) return;
    for (const s of this.stages) {
      if (!s.layout) continue;
      const g = this.context(s.base);
      if (this.long) this.drawLines(g, s); else if (this.frame.kind === "line") this.drawStems(g, s, this.frame.panels[s.i]); else this.drawImage(g, s, this.frame.panels[s.i]);
      s.stage.classList.toggle("snb-zoomed", this.zoomed());
    }
    const z = this.zoomed();
    this.zoomButtons[0].disabled = this.zoomButtons[2].disabled = !z;
    this.drawOver();
    this.root.dataset.drawn = this.root.dataset.seq ?? "0";
  }

  drawImage(g, s, panel) {
    const { boxes, per, scale } = s.layout, zoom = this.zoom;
    g.imageSmoothingEnabled = false;
    boxes.forEach((box, layer) => {
      g.save();
      g.beginPath(); g.rect(box.x, box.y, box.w, box.h); g.clip();
      this.blit(g, this.frame, panel.pictures[layer], box);
      const close = this.detail?.panels[s.i];
      if (close?.pictures?.[layer]) this.blit(g, this.detail, close.pictures[layer], box);
      this.cellNumbers(g, panel, layer, box);
      if (s.i === 0 && this.overlay !== "none" && this.frame.panels[1]?.mode === "signed") {
        const slope = this.frame.panels[1];
        if (this.overlay === "arrows") arrows(g, slope, zoom, this.frame.steps, box);
        else contours(g, slope, zoom, this.frame.steps, box);
      }
      g.restore();
      const name = panel.colours ? "" : this.meta.labels[layer];
      if (boxes.length > 1 && name) text(g, name, box.x, box.y - 13, { align: "left", mono: true });
      const lowest = layer + per >= boxes.length;
      indexTicks(g, box, zoom, { left: layer % per === 0, below: lowest });
      g.strokeStyle = g.inks.line; g.lineWidth = 1; g.strokeRect(box.x - 0.5, box.y - 0.5, box.w + 1, box.h + 1);
    });
    markers(g, panel, zoom, this.frame.steps, boxes);
    if (scale) colourScale(g, panel, this.palette(panel), scale);
  }

  /** Draw the part of a picture that is in sight. */
  blit(g, of, picture, box) {
    const { r0, r1, c0, c1 } = this.zoom, [down, across] = of.steps;
    const px = c => box.x + (c - c0) / (c1 - c0) * box.w, py = r => box.y + (r - r0) / (r1 - r0) * box.h;
    const x0 = px(of.columns[0]), y0 = py(of.rows[0]);
    // The last pixels of a reduced picture may stand for fewer elements: they are cut by the clip, not squeezed.
    const x1 = px(of.columns[0] + picture.width * across), y1 = py(of.rows[0] + picture.height * down);
    g.drawImage(picture, x0, y0, x1 - x0, y1 - y0);
  }

  cellNumbers(g, panel, layer, box) {
    const { r0, r1, c0, c1 } = this.zoom, cw = box.w / (c1 - c0), ch = box.h / (r1 - r0);
    if (!panel.numbers || panel.colours || cw < 42 || ch < 20) return;
    const palette = this.palette(panel);
    for (let r = Math.floor(r0); r < r1; r++) for (let c = Math.floor(c0); c < c1; c++) {
      const at = (layer * panel.height + r) * panel.width + c, p = palette[panel.codes[at]];
      const bright = 0.3 * (p & 255) + 0.59 * ((p >> 8) & 255) + 0.11 * ((p >> 16) & 255) > 125;
      text(g, written(panel.numbers[at], 3), box.x + (c + 0.5 - c0) * cw, box.y + (r + 0.5 - r0) * ch,
        { colour: bright ? "#1b1f24" : "#fff", base: "middle", mono: true, size: Math.min(12, cw / 5) });
    }
  }

  lineFrame() { return this.detail?.kind === "line" ? this.detail : this.frame; }

  drawLines(g, s) {
    const { boxes } = s.layout, zoom = this.zoom;
    const frame = this.zoomed() ? this.lineFrame() : this.frame;
    frame.panels.forEach((p, k) => {
      const box = boxes[k], scale = this.frame.panels[k].scale, y = this.heightIn(box, k);
      const n = p.width, [c0, c1] = frame.columns, step = (c1 - c0) / n;
      const x = i => box.x + (c0 + (i + 0.5) * step - zoom.c0) / (zoom.c1 - zoom.c0) * box.w;
      text(g, p.role, box.x, box.y - 16, { align: "left", colour: g.inks.ink, size: 13 });
      // The name in ink, which reads on any paper, after a dash in the colour of its curve.
      let at = box.x + 70;
      if (p.layers > 1) this.meta.labels.forEach((name, i) => {
        line(g, at, box.y - 9, at + 9, box.y - 9, g.inks.components[i % 4], 3);
        text(g, name, at + 13, box.y - 15, { align: "left", mono: true });
        at += 25 + g.measureText(name).width;
      });
      const ticks = scale.ticks(Math.max(2, box.h / 30));
      told(ticks).forEach((said, i) => {
        const t = ticks[i];
        line(g, box.x, y(t), box.x + box.w, y(t), t === 0 ? g.inks.muted : g.inks.line, t === 0 ? 1 : 0.7);
        text(g, said, box.x - 6, y(t), { align: "right", base: "middle" });
      });
      g.save(); g.beginPath(); g.rect(box.x, box.y - 2, box.w, box.h + 4); g.clip();
      for (let layer = 0; layer < p.layers; layer++) {
        const low = p.low.subarray(layer * n, layer * n + n), high = p.high ? p.high.subarray(layer * n, layer * n + n) : null;
        const colour = p.layers > 1 ? g.inks.components[layer % 4] : k === 0 ? g.inks.value : null;
        if (colour) this.curve(g, low, high, x, y, colour, box.w / n);
        else this.area(g, low, high, x, y, n);
      }
      for (const [, , i, code] of p.marks ?? []) sign(g, x(i), code === NAN ? box.y + box.h - 5 : code === POS_INF ? box.y + 5 : box.y + box.h - 5, code);
      g.restore();
      if (k === boxes.length - 1) indexTicks(g, box, zoom, { left: false });
    });
  }

  /** Where numbers of a panel are in its box. */
  heightIn(box, k) {
    const panel = this.frame.panels[k];
    // A little room, so that the largest number is not on the edge.
    if (this.long) return v => box.y + box.h - (0.04 + 0.92 * panel.scale.place(v)) * box.h;
    const { scale } = stemsOf(panel, panel.width <= FEW ? 0.2 : 0.1);
    return v => box.y + box.h - scale.place(v) * box.h;
  }

  /** A few elements as dots on stems, with their numbers when there is room: as the still picture has them. */
  drawStems(g, s, panel) {
    const box = s.layout.boxes[0], { c0, c1 } = this.zoom, n = panel.width, few = n <= FEW, slope = panel.role === "gradient";
    const { zero, scale } = stemsOf(panel, few ? 0.2 : 0.1), y = this.heightIn(box, s.i), soft = SOFT[g.inks.dark ? 1 : 0];
    const room = box.w / (c1 - c0), x = i => box.x + (i + 0.5 - c0) * room, foot = zero ? y(0) : 0;
    const ticks = few ? [] : scale.ticks(4);
    told(ticks).forEach((said, i) => {
      line(g, box.x, y(ticks[i]), box.x + box.w, y(ticks[i]), g.inks.line, 0.7);
      text(g, said, box.x - 6, y(ticks[i]), { align: "right", base: "middle" });
    });
    g.save(); g.beginPath(); g.rect(box.x, box.y - 5, box.w, box.h + 10); g.clip();
    if (zero) line(g, box.x, foot, box.x + box.w, foot, g.inks.muted);
    else this.curve(g, panel.low, null, x, y, soft[0], 0);
    panel.low.forEach((v, i) => {
      if (!Number.isFinite(v)) return;
      const [strong, pale] = !slope ? [g.inks.value, soft[0]] : v > 0 ? [ORANGE, soft[1]] : v < 0 ? [BLUE, soft[2]] : [g.inks.muted, soft[2]];
      if (zero) line(g, x(i), foot, x(i), y(v), pale, clamp(0.32 * room, 2, 13));
      g.fillStyle = strong; g.beginPath(); g.arc(x(i), y(v), few ? 3.6 : 2.8, 0, 7); g.fill();
      if (!few) return;
      const said = inFull(v, n <= 5 ? 4 : 3), up = v >= 0 || !zero;
      text(g, said, x(i), y(v) + (up ? -6 : 6), { colour: g.inks.ink, base: up ? "bottom" : "top", mono: true, size: Math.min(11.5, room / (0.62 * said.length)) });
    });
    const marks = panel.marks ?? [];
    for (const [, , i, code] of marks) {
      const up = code !== POS_INF, at = up ? box.y + box.h - 5 : box.y + 5;
      sign(g, x(i), at, code);
      const said = code === NAN ? "NaN" : up ? "-Inf" : "+Inf";
      if (marks.length <= FEW) text(g, said, x(i), at + (up ? -6 : 6), { colour: cssOf(pixel(...MARK)), base: up ? "bottom" : "top", size: 9.5, weight: "bold" });
    }
    g.restore();
    const labels = this.meta.labels;
    if (labels.length === n) labels.forEach((name, i) => text(g, name, x(i), box.y + box.h + 6, { mono: true }));
    else indexTicks(g, box, this.zoom, { left: false });
  }

  curve(g, low, high, x, y, colour, room) {
    g.strokeStyle = g.fillStyle = colour; g.lineWidth = 1.6; g.lineJoin = "round";
    if (high) {
      const w = Math.max(1, room);
      for (let i = 0; i < low.length; i++) {
        if (low[i] !== low[i]) continue;
        // Each column reaches the one before it, as the curve does.
        const before = i > 0 && low[i - 1] === low[i - 1];
        const top = y(before ? Math.max(high[i], low[i - 1]) : high[i]), foot = y(before ? Math.min(low[i], high[i - 1]) : low[i]);
        g.fillRect(x(i) - w / 2, top - 0.6, w + 0.3, Math.max(1.2, foot - top + 1.2));
      }
      return;
    }
    let open = false;
    g.beginPath();
    for (let i = 0; i < low.length; i++) {
      if (!Number.isFinite(low[i])) { open = false; continue; }
      if (open) g.lineTo(x(i), y(low[i])); else g.moveTo(x(i), y(low[i]));
      open = true;
    }
    g.stroke();
    if (room > 9) for (let i = 0; i < low.length; i++) if (Number.isFinite(low[i])) { g.beginPath(); g.arc(x(i), y(low[i]), 2.6, 0, 7); g.fill(); }
  }

  area(g, low, high, x, y, n) {
    const zero = y(0);
    const room = Math.abs(x(1) - x(0)) || 8, bars = n <= 64;
    const w = bars ? Math.min(26, room * 0.7) : Math.max(1, room + 0.6);
    if (!bars && !high) {
      // One outline, filled above zero in one colour and below in the other.
      for (const [colour, top, tall] of [[ORANGE, zero - 4000, 4000], [BLUE, zero, 4000]]) {
        g.save(); g.beginPath(); g.rect(-1e4, top, 3e4, tall); g.clip();
        g.fillStyle = colour; g.beginPath(); g.moveTo(x(0), zero);
        for (let i = 0; i < n; i++) { const v = Number.isFinite(low[i]) ? y(low[i]) : zero; g.lineTo(x(i), v); }
        g.lineTo(x(n - 1), zero); g.closePath(); g.fill(); g.restore();
      }
      return;
    }
    for (let i = 0; i < n; i++) {
      for (const v of high ? [Math.max(0, high[i]), Math.min(0, low[i])] : [low[i]]) {
        if (!Number.isFinite(v) || v === 0) continue;
        g.fillStyle = v > 0 ? ORANGE : BLUE;
        g.fillRect(x(i) - w / 2, Math.min(zero, y(v)), w, Math.max(0.8, Math.abs(y(v) - zero)));
      }
    }
  }

  drawOver() {
    for (const s of this.stages) {
      if (!s.layout) continue;
      const g = this.context(s.over), at = this.cursor;
      if (!at) { if (s.layout.profile) this.profileHint(g, s.layout.profile); continue; }
      if (this.frame.kind === "line") { this.lineCursor(g, s, at); continue; }
      const panel = this.frame.panels[s.i];
      for (const box of s.layout.boxes) this.crosshair(g, box, at, panel.mode === "signed" && !g.inks.dark);
      if (s.layout.profile) this.profileOf(g, s, at);
      if (s.layout.scale) this.pointer(g, panel, s.layout.scale, at);
    }
  }

  profileHint(g, box) { text(g, "point at an element to see the line through it", box.x + box.w / 2, box.y + box.h / 2 - 6); }

  crosshair(g, box, { row, column }, pale) {
    const { r0, r1, c0, c1 } = this.zoom;
    const x = box.x + (column + 0.5 - c0) / (c1 - c0) * box.w, y = box.y + (row + 0.5 - r0) / (r1 - r0) * box.h;
    if (x < box.x || x > box.x + box.w || y < box.y || y > box.y + box.h) return;
    const cw = box.w / (c1 - c0), ch = box.h / (r1 - r0);
    if (Math.min(cw, ch) > 18) {
      // Large enough to hold its number: a frame says which element it is and hides nothing.
      halo(g, () => g.strokeRect(x - cw / 2 + 1, y - ch / 2 + 1, cw - 2, ch - 2));
      return;
    }
    const gap = 6, sx = Math.round(x - 0.5) + 0.5, sy = Math.round(y - 0.5) + 0.5;
    const [under, over] = pale ? ["rgb(255 255 255 / 0.5)", "rgb(20 24 30 / 0.75)"] : ["rgb(0 0 0 / 0.28)", "rgb(255 255 255 / 0.95)"];
    for (const [colour, width] of [[under, 3], [over, 1]]) {
      g.strokeStyle = colour; g.lineWidth = width;
      g.beginPath();
      g.moveTo(box.x, sy); g.lineTo(Math.max(box.x, sx - gap), sy); g.moveTo(Math.min(box.x + box.w, sx + gap), sy); g.lineTo(box.x + box.w, sy);
      g.moveTo(sx, box.y); g.lineTo(sx, Math.max(box.y, sy - gap)); g.moveTo(sx, Math.min(box.y + box.h, sy + gap)); g.lineTo(sx, box.y + box.h);
      g.stroke();
      g.beginPath(); g.arc(sx, sy, 4.5, 0, 7); g.stroke();
    }
  }

  codeAt(panel, layer, row, column) {
    const [down, across] = this.frame.steps;
    const r = Math.floor((row - this.frame.rows[0]) / down), c = Math.floor((column - this.frame.columns[0]) / across);
    return panel.codes[(layer * panel.height + r) * panel.width + c];
  }

  /** Where the element under the cursor is on the colour scale. */
  pointer(g, panel, box, { row, column }) {
    for (let layer = 0; layer < panel.layers; layer++) {
      const code = this.codeAt(panel, layer, row, column);
      if (!(code <= STEPS)) continue;
      const x = box.x + code / STEPS * box.w, y = box.y + COUNTS;
      g.fillStyle = g.inks.ink;
      g.beginPath(); g.moveTo(x, y + BAR + 1); g.lineTo(x - 4, y + BAR + 7); g.lineTo(x + 4, y + BAR + 7); g.closePath(); g.fill();
      g.strokeStyle = g.inks.paper; g.lineWidth = 1; g.stroke();
    }
  }

  /** The frame that has the elements in sight most finely. */
  closest() {
    const d = this.detail, z = this.zoom;
    const covers = d && d.rows[0] <= z.r0 && d.rows[1] >= z.r1 && d.columns[0] <= z.c0 && d.columns[1] >= z.c1;
    return covers ? d : this.frame;
  }

  profileOf(g, s, { row, column }) {
    const of = this.closest(), panel = of.panels[s.i], { codes, numbers, width, height } = panel, [down, across] = of.steps;
    const box = s.layout.profile, byRow = this.local.profile === "row", z = this.zoom;
    const lo = byRow ? z.c0 : z.r0, hi = byRow ? z.c1 : z.r1, step = byRow ? across : down;
    const exact = numbers && (panel.mode || "signed") === "signed", bars = panel.layers === 1 && panel.mode === "signed";
    const number = i => codes[i] <= STEPS ? clamp(exact ? numbers[i] : panel.scale.number(codes[i] / STEPS), panel.scale.lo, panel.scale.hi) : NaN;
    const at = Math.floor(((byRow ? row : column) - of[byRow ? "rows" : "columns"][0]) / (byRow ? down : across));
    const begin = of[byRow ? "columns" : "rows"][0], first = Math.max(0, Math.floor((lo - begin) / step));
    const last = Math.min(byRow ? width : height, Math.ceil((hi - begin) / step));
    const lines = Array.from({ length: panel.layers }, (_, layer) => Array.from({ length: last - first }, (_, i) =>
      number(byRow ? (layer * height + at) * width + first + i : (layer * height + first + i) * width + at)));
    // What is in sight of the line has all of the height; bars stand on zero.
    const seen = [...lines.flat().filter(v => v === v), ...(bars ? [0] : [])], least = Math.min(...seen), most = Math.max(...seen);
    const scale = most > least ? scaleOf({ lo: least, hi: most, soft: panel.soft }) : panel.scale;
    const x = i => box.x + (i - lo) / (hi - lo) * box.w, y = v => box.y + box.h - scale.place(v) * box.h, ends = [scale.lo, scale.hi];
    g.strokeStyle = g.inks.line; g.lineWidth = 1; g.strokeRect(box.x - 0.5, box.y - 0.5, box.w + 1, box.h + 1);
    if (scale.lo <= 0 && scale.hi >= 0) line(g, box.x, y(0), box.x + box.w, y(0), g.inks.muted, 0.8);
    g.save(); g.beginPath(); g.rect(box.x, box.y - 1, box.w, box.h + 2); g.clip();
    lines.forEach((line_, layer) => {
      const points = line_.map((v, i) => [x(begin + (first + i + 0.5) * step), y(v)]);
      const colour = panel.layers > 1 ? g.inks.components[layer % 4] : bars ? null : g.inks.value;
      if (!colour) for (const [sign_, c] of [[1, ORANGE], [-1, BLUE]]) {
        g.fillStyle = c;
        const w = Math.max(1, box.w * step / (hi - lo) + 0.5), z0 = y(0);
        for (const [px, py] of points) if ((z0 - py) * sign_ > 0) g.fillRect(px - w / 2, Math.min(py, z0), w, Math.abs(py - z0));
      } else {
        g.strokeStyle = colour; g.lineWidth = 1.5; g.beginPath();
        let open = false;
        for (const [px, py] of points) { if (py !== py) open = false; else { if (open) g.lineTo(px, py); else g.moveTo(px, py); open = true; } }
        g.stroke();
      }
    });
    line(g, x((byRow ? column : row) + 0.5), box.y, x((byRow ? column : row) + 0.5), box.y + box.h, g.inks.muted);
    g.restore();
    told(ends, 3).forEach((said, k) => {
      g.font = `10px ${g.fonts.sans}`;
      // Half of a number would be read as another one: long ones stand in the box.
      if (g.measureText(said).width <= box.x - 5) text(g, said, box.x - 5, y(ends[k]), { align: "right", base: "middle", size: 10 });
      else text(g, said, box.x + 4, y(ends[k]) + (k ? 3 : -2), { align: "left", base: k ? "top" : "bottom", size: 10 });
    });
    if (!byRow) for (const i of counted(lo, hi - 1, 6)) text(g, i, x(i + 0.5), box.y + box.h + 3, { size: 10 });
  }

  lineCursor(g, s, { column }) {
    const { c0, c1 } = this.zoom, boxes = s.layout.boxes, first = boxes[0], last = boxes.at(-1);
    const x = first.x + (column + 0.5 - c0) / (c1 - c0) * first.w;
    if (x < first.x || x > first.x + first.w) return;
    if (this.long) line(g, x, first.y, x, last.y + last.h, g.inks.muted);
    const frame = this.zoomed() ? this.lineFrame() : this.frame;
    s.places.forEach((k, i) => {
      const p = frame.panels[k], y = this.heightIn(boxes[i], k);
      if (p.high) return;
      for (let layer = 0; layer < p.layers; layer++) {
        const v = p.low[layer * p.width + column - frame.columns[0]];
        if (!Number.isFinite(v)) continue;
        g.beginPath(); g.arc(x, y(v), 4.5, 0, 7);
        g.fillStyle = g.inks.paper; g.fill(); g.strokeStyle = g.inks.ink; g.lineWidth = 1.6; g.stroke();
      }
    });
  }

  // -- probe

  /** Say what is under the cursor: at once if the numbers are here, otherwise about, and exactly when the kernel answers. */
  probe(ask = true) {
    const { row, column } = this.cursor, f = this.frame;
    this.number++;
    const index = this.indexOf(row, column);
    const [v, d] = f.panels.map(p => this.here(p, row, column));
    const known = f.kind === "line" ? !f.panels[0].high : f.exact;
    const floats = /^(float|half)/.test(this.meta.heading);
    this.show(index, v, d, !(known && floats));
    if (known && floats) return;
    if (this.asking && performance.now() - this.asking < 3000) { this.again = true; return; }
    this.asking = performance.now();
    this.send({ kind: "probe", id: this.number, row, column });
  }

  here(p, row, column) {
    const f = this.frame, most = this.meta.heading.startsWith("uint8") ? 1 : 255;
    const join = all => all.length > 1 ? `(${all.join(", ")})` : all[0];
    if (f.kind === "line") {
      const i = Math.min(p.width - 1, Math.floor((column - f.columns[0]) / (f.columns[1] - f.columns[0]) * p.width));
      return join(Array.from({ length: p.layers }, (_, k) => written(p.low[k * p.width + i])));
    }
    const r = Math.floor((row - f.rows[0]) / f.steps[0]), c = Math.floor((column - f.columns[0]) / f.steps[1]);
    const at = k => (k * p.height + r) * p.width + c;
    return join(Array.from({ length: p.layers }, (_, k) =>
      p.numbers ? written(p.numbers[at(k)]) : p.colours ? written(p.colour[at(k)] / most, 3) : p.mode && p.mode !== "signed" ? "…" : written(decoded(p.codes[at(k)], p.scale), 3)));
  }

  indexOf(row, column) {
    const { sliders, down, across } = this.meta.axes, index = {};
    for (const s of sliders) index[s.axis] = s.pick;
    if (down !== null) index[down] = row;
    index[across] = column;
    return Object.keys(index).map(Number).sort((a, b) => a - b).map(k => index[k]);
  }

  show(index, value, gradient, about = false, note = "") {
    const mark = about ? "≈ " : "";
    const parts = [["", `[${index.join(", ")}]`], ["value ", mark + value]];
    if (gradient !== undefined && gradient !== null) parts.push(["gradient ", mark + gradient]);
    if (note) parts.push(["", `(${note})`]);
    this.readout.replaceChildren(...parts.flatMap(([word, said], i) => {
      const b = make("b", "", { textContent: word });
      return [...(i ? ["   "] : []), b, said];
    }));
    this.about = `${index.join(", ")}: ${parts.slice(1).map(p => p.join("")).join(", ")}`;
    if (!about) this.say(this.about);
  }

  say(what) {
    clearTimeout(this.speaking);
    this.speaking = setTimeout(() => { this.live.textContent = what; }, 200);
  }

  point(row, column) {
    const w = this.whole;
    row = clamp(Math.floor(row), w.r0, w.r1 - 1); column = clamp(Math.floor(column), w.c0, w.c1 - 1);
    if (this.cursor?.row === row && this.cursor?.column === column) return;
    this.cursor = { row, column };
    this.drawOver(); this.probe();
  }

  // -- zoom

  zoomed() {
    const z = this.zoom, w = this.whole;
    return !!z && (z.c1 - z.c0 < w.c1 - w.c0 - 1e-6 || z.r1 - z.r0 < w.r1 - w.r0 - 1e-6);
  }
  reset() { this.zoom = { ...this.whole }; this.detail = null; this.drawSoon(); }

  scaleBy(k, at) {
    if (!this.frame) return;
    const z = this.zoom, w = this.whole;
    at ??= this.cursor ? { r: this.cursor.row + 0.5, c: this.cursor.column + 0.5 } : { r: (z.r0 + z.r1) / 2, c: (z.c0 + z.c1) / 2 };
    const fit = (a, b, lo, hi, p) => {
      const span = clamp((b - a) * k, Math.min(4, hi - lo), hi - lo), share = clamp((p - a) / (b - a), 0, 1);
      const start = clamp(p - share * span, lo, hi - span);
      return [start, start + span];
    };
    const [c0, c1] = fit(z.c0, z.c1, w.c0, w.c1, at.c);
    const [r0, r1] = this.frame.kind === "line" ? [w.r0, w.r1] : fit(z.r0, z.r1, w.r0, w.r1, at.r);
    this.zoom = { r0, r1, c0, c1 };
    this.askDetail(); this.drawSoon();
  }

  pan(dr, dc) {
    const z = this.zoom, w = this.whole;
    const c0 = clamp(z.c0 + dc, w.c0, w.c1 - (z.c1 - z.c0)), r0 = clamp(z.r0 + dr, w.r0, w.r1 - (z.r1 - z.r0));
    this.zoom = { r0, r1: r0 + z.r1 - z.r0, c0, c1: c0 + z.c1 - z.c0 };
    this.askDetail(); this.drawSoon();
  }

  /** Ask for the elements in sight where the picture shows only some of them. */
  askDetail() {
    clearTimeout(this.later);
    // Colours are too coarse for the profile of a small part of their scale.
    const coarse = this.frame.kind === "line" ? this.frame.panels[0].upper
      : Math.max(...this.frame.steps) > 1 || (this.local.profile !== "off" && !this.frame.exact);
    if (!coarse || !this.zoomed()) { if (!this.zoomed()) this.detail = null; return; }
    this.later = setTimeout(() => {
      const z = this.zoom;
      this.windowId = (this.windowId ?? 0) + 1;
      this.send({ kind: "window", id: this.windowId, rows: [Math.floor(z.r0), Math.ceil(z.r1)], columns: [Math.floor(z.c0), Math.ceil(z.c1)] });
    }, 60);
  }

  // -- events

  /** What is under the pointer: the box, and the element as fractions. */
  under(s, event) {
    const rect = s.stage.getBoundingClientRect(), x = event.clientX - rect.left, y = event.clientY - rect.top, z = this.zoom;
    const box = s.layout?.boxes.find(b => x >= b.x && x < b.x + b.w && y >= b.y && y < b.y + b.h);
    if (!box) return null;
    return { box, r: z.r0 + (y - box.y) / box.h * (z.r1 - z.r0), c: z.c0 + (x - box.x) / box.w * (z.c1 - z.c0) };
  }

  stageEvents(s) {
    const pointers = new Map();
    let held = null;
    s.stage.addEventListener("pointerdown", e => {
      const at = this.under(s, e);
      if (!at || e.button) return;
      pointers.set(e.pointerId, e);
      held = { at, x: e.clientX, y: e.clientY, zoom: { ...this.zoom } };
      if (this.zoomed()) { s.stage.setPointerCapture(e.pointerId); s.stage.classList.add("snb-dragging"); }
    });
    s.stage.addEventListener("pointermove", e => {
      if (pointers.has(e.pointerId) && pointers.size === 2) {
        const before = [...pointers.values()], d0 = Math.hypot(before[0].clientX - before[1].clientX, before[0].clientY - before[1].clientY);
        pointers.set(e.pointerId, e);
        const after = [...pointers.values()], d1 = Math.hypot(after[0].clientX - after[1].clientX, after[0].clientY - after[1].clientY);
        if (d1 > 0) this.scaleBy(d0 / d1, held && { r: held.at.r, c: held.at.c });
        return;
      }
      if (held && this.zoomed() && s.stage.classList.contains("snb-dragging")) {
        const { box } = held.at, z = held.zoom;
        this.zoom = { ...z };
        this.pan((held.y - e.clientY) / box.h * (z.r1 - z.r0), (held.x - e.clientX) / box.w * (z.c1 - z.c0));
        return;
      }
      const at = this.under(s, e);
      if (at) this.point(at.r, at.c);
    });
    const release = e => { pointers.delete(e.pointerId); held = null; s.stage.classList.remove("snb-dragging"); };
    s.stage.addEventListener("pointerup", release);
    s.stage.addEventListener("pointercancel", release);
    s.stage.addEventListener("dblclick", () => this.reset());
    s.stage.addEventListener("wheel", e => {
      const at = this.under(s, e);
      // The wheel alone scrolls the page, whatever is under the pointer.
      if (!at || !(e.ctrlKey || e.metaKey)) return;
      e.preventDefault(); e.stopPropagation();
      this.scaleBy(Math.exp(clamp(e.deltaY, -120, 120) * 0.0022), at);
    }, { passive: false });
    s.stage.addEventListener("keydown", e => this.key(e));
    s.stage.addEventListener("focus", () => { if (!this.cursor && this.frame && s.stage.matches(":focus-visible")) this.point((this.zoom.r0 + this.zoom.r1) / 2, (this.zoom.c0 + this.zoom.c1) / 2); });
  }

  key(e) {
    const w = this.whole, at = this.cursor ?? { row: Math.floor((this.zoom.r0 + this.zoom.r1) / 2), column: Math.floor((this.zoom.c0 + this.zoom.c1) / 2) };
    const far = e.shiftKey ? 10 : 1;
    const moves = { ArrowLeft: [0, -far], ArrowRight: [0, far], ArrowUp: [-far, 0], ArrowDown: [far, 0] };
    if (e.altKey || e.metaKey) return;
    if (moves[e.key]) this.point(at.row + moves[e.key][0], at.column + moves[e.key][1]);
    else if (e.key === "Home") this.point(e.ctrlKey ? w.r0 : at.row, w.c0);
    else if (e.key === "End") this.point(e.ctrlKey ? w.r1 : at.row, w.c1 - 1);
    else if (e.key === "+" || e.key === "=") this.scaleBy(1 / 1.6);
    else if (e.key === "-") this.scaleBy(1.6);
    else if (e.key === "0") this.reset();
    else return;
    // Lab moves between cells with the same keys.
    e.preventDefault(); e.stopPropagation();
    this.follow();
  }

  /** Keep the probe in sight. */
  follow() {
    if (!this.cursor || !this.zoomed()) return;
    const z = this.zoom, { row, column } = this.cursor;
    const out = (v, a, b) => v < a ? v - a : v + 1 > b ? v + 1 - b : 0;
    const dr = out(row, z.r0, z.r1), dc = out(column, z.c0, z.c1);
    if (dr || dc) this.pan(dr, dc);
  }

  listen() {
    const on = (event, act) => { this.model.on(event, act); this.offs.push(() => this.model.off(event, act)); };
    this.offs = [];
    on("change:seq", () => this.read());
    on("change:maps", () => { this.palettes = null; this.repaint(); });
    on("msg:custom", (m, buffers) => this.message(m, buffers));
    const again = () => { this.look_ = this.placed = null; this.repaint(); };
    this.offs.push(onTheme(again));
  }

  end() {
    for (const off of this.offs) off();
    for (const s of this.stages) s.watch.disconnect();
    clearTimeout(this.speaking); clearTimeout(this.later);
    this.player?.end();
    cancelAnimationFrame(this.due);
    this.root.remove();
  }
}

/** Where a slider stands, in words: indices begin at 0. */
const placeOf = (input, size) => `index ${input.value} (0–${size - 1})`;

/** A slider through the steps of a history, and a button that plays them. The kernel draws; one step is asked for at a time. */
class Player {
  constructor(view) {
    this.view = view; this.model = view.model;
    this.playing = false; this.asked = 0; this.next = null; this.timer = 0;
    this.bar = make("div", "snb-player");
    this.bar.setAttribute("role", "group"); this.bar.setAttribute("aria-label", "steps");
    this.button = make("button", "snb-play", { type: "button" });
    this.button.setAttribute("data-lm-suppress-shortcuts", "true");
    this.range = make("input", "snb-steps", { type: "range", min: 0, step: 1 });
    this.range.setAttribute("aria-label", "step");
    this.out = make("output", "");
    this.bar.append(this.button, this.range, this.out);
    view.panels.after(this.bar);
    this.button.onclick = () => this.playing ? this.pause() : this.play();
    this.range.oninput = () => { this.pause(""); this.go(Number(this.range.value)); };
    this.follows = () => this.follow();
    this.model.on("change:steps change:step", this.follows);
    this.label(); this.follow();
  }

  get steps() { return this.model.get("steps") ?? []; }

  /** Go where the kernel is, unless it has been asked for another step. */
  follow() {
    const steps = this.steps, step = this.model.get("step");
    this.bar.style.display = steps.length > 1 ? "" : "none";
    this.range.max = steps.length - 1;
    if (this.next === null) this.range.value = Math.max(0, steps.findLastIndex(s => s <= step));
    this.words();
  }

  words() {
    const steps = this.steps, at = Number(this.range.value);
    this.out.value = `step ${steps[at]}`;
    this.range.setAttribute("aria-valuetext", `step ${steps[at]}, ${at + 1} of ${steps.length}`);
  }

  label() {
    this.button.textContent = this.playing ? "❚❚" : "▶";
    this.button.title = this.playing ? "pause" : "play the steps";
    this.button.setAttribute("aria-label", this.button.title);
  }

  go(at) {
    this.range.value = at; this.words();
    if (this.asked && performance.now() - this.asked < 2000) { this.next = at; return; }
    const step = this.steps[at];
    this.next = null;
    if (step === this.model.get("step")) return;
    this.asked = performance.now();
    this.model.set("step", step);
    try { this.model.save_changes(); } catch { this.pause(); }
  }

  /** The kernel has drawn: on to what was asked for meanwhile, or to the next step after a moment. */
  arrived() {
    const waited = performance.now() - this.asked;
    this.asked = 0;
    if (this.next !== null) this.go(this.next);
    else if (this.playing) this.onward(Math.max(0, MOMENT - waited));
  }

  onward(wait) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const at = Number(this.range.value) + 1;
      if (at >= this.steps.length) { this.pause("end, "); return; }
      this.go(at);
      // A kernel that is busy, or gone: the steps stand still, and the button says so.
      this.timer = setTimeout(() => this.pause(), 5000);
    }, wait);
  }

  play() {
    if (this.steps.length < 2) return;
    this.playing = true; this.label();
    this.view.live.textContent = "playing";
    if (Number(this.range.value) >= this.steps.length - 1) { this.go(0); this.onward(MOMENT); } else this.onward(0);
  }

  pause(why = "paused, ") {
    clearTimeout(this.timer);
    if (!this.playing) return;
    this.playing = false; this.label();
    if (why) this.view.live.textContent = why + this.out.value;
  }

  end() {
    clearTimeout(this.timer);
    this.model.off("change:steps change:step", this.follows);
  }
}
