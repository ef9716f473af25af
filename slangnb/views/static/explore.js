// A function over a range: its curve with a tangent, and its derivative below it.

const LEFT = 56, TOP = 8, GAP = 27, FOOT = 40, REACH = 76;

const union = (a, b) => a ? [Math.min(a[0], b[0]), Math.max(a[1], b[1])] : b;

/** Runs of points that are finite: a curve has gaps elsewhere. */
function runsOf(row) {
  const runs = [];
  let from = -1;
  for (let i = 0; i <= row.length; i++) {
    const good = i < row.length && Number.isFinite(row[i]);
    if (good && from < 0) from = i;
    if (!good && from >= 0) { runs.push([from, i]); from = -1; }
  }
  return runs;
}

class View extends Explored {
  take(meta, buffer) {
    const n = meta.points, all = new Float64Array(buffer);
    const row = i => all.subarray(i * n, (i + 1) * n), rows = (from, count) => Array.from({ length: count }, (_, i) => row(from + i));
    this.x = row(0);
    this.values = rows(1, meta.components);
    this.slopes = meta.gradient ? rows(1 + meta.components, meta.components) : [];
  }

  /** What the probe reads. */
  parts() {
    const m = this.meta, at = this.probe, join = rows => rows.length > 1 ? `(${rows.map(r => this.number(r[at])).join(", ")})` : this.number(rows[0][at]);
    const parts = [[m.axis, inFull(this.x[at], m.digits), ""], [m.symbol, join(this.values), ""]];
    if (m.gradient) {
      const slope = this.slopes[0][at], turn = this.slopes.length > 1 ? "" : slope > 0 ? "snb-up" : slope < 0 ? "snb-down" : "";
      parts.push([m.slope, join(this.slopes), turn]);
    }
    return parts;
  }

  layout(w) {
    const several = this.values.length > 1, wide = w - LEFT - (several ? 26 : 12);
    const curve = { x: LEFT, y: TOP, w: wide, h: clamp(Math.round(w * 0.31), 150, 270) };
    const tall = several ? 46 : clamp(Math.round(w * 0.14), 76, 116), gap = several ? 7 : 0;
    const first = curve.y + curve.h + GAP;
    const slopes = this.slopes.map((_, i) => ({ x: LEFT, y: first + i * (tall + gap), w: wide, h: tall }));
    const last = slopes.at(-1) ?? curve;
    return { curve, slopes, last, h: last.y + last.h + FOOT };
  }

  paint(w) {
    const at = this.at = this.layout(w), g = this.context(this.base, w, at.h);
    // While a slider moves, the scales only grow: the curve is seen to move, not the scales.
    const own = this.held = this.meta.spans.map((one, i) => this.dragging ? union(this.held?.[i], one) : one);
    const scale = (box, [lo, hi]) => v => box.y + box.h - (v / 2 - lo / 2) / (hi / 2 - lo / 2) * box.h;
    const lo = this.x[0], hi = this.x.at(-1), pad = 8;
    this.px = v => at.curve.x + pad + (v / 2 - lo / 2) / (hi / 2 - lo / 2) * (at.curve.w - 2 * pad);
    this.ys = [at.curve, ...at.slopes].map((box, i) => scale(box, own[i]));
    this.grid(g, at.curve, own[0], this.ys[0], at.last === at.curve);
    const several = this.values.length > 1, tints = several ? g.inks.components : [g.inks.value];
    this.values.forEach((row, i) => this.curve(g, at.curve, row, this.ys[0], tints[i], 2.2));
    if (several) this.endNames(g, at.curve, tints);
    if (this.slopes.length) text(g, this.meta.slope, LEFT, at.slopes[0].y - 18, { align: "left", colour: g.inks.ink, size: 13 });
    at.slopes.forEach((box, i) => {
      this.grid(g, box, own[i + 1], this.ys[i + 1], box === at.last);
      this.area(g, box, this.slopes[i], this.ys[i + 1]);
      if (several) text(g, this.meta.labels[i], box.x + box.w + 6, box.y + box.h / 2, { align: "left", base: "middle", colour: tints[i], weight: "600", size: 12 });
    });
    text(g, this.meta.axis, at.curve.x + at.curve.w / 2, at.last.y + at.last.h + 22, { colour: g.inks.ink, size: 13 });
  }

  grid(g, box, [lo, hi], y, below) {
    const across = spaced(this.x[0], this.x.at(-1), Math.max(2, box.w / 84));
    told(across).forEach((said, i) => {
      const x = this.px(across[i]);
      line(g, x, box.y, x, box.y + box.h, g.inks.line, 0.7);
      if (below) { line(g, x, box.y + box.h + 1, x, box.y + box.h + 4, g.inks.muted, 0.8); text(g, said, x, box.y + box.h + 7, { whole: true }); }
    });
    const up = spaced(lo, hi, clamp(box.h / 30, 3, 7));
    told(up).forEach((said, i) => {
      line(g, box.x, y(up[i]), box.x + box.w, y(up[i]), up[i] === 0 ? g.inks.muted : g.inks.line, up[i] === 0 ? 1 : 0.7);
      text(g, said, box.x - 6, y(up[i]), { align: "right", base: "middle" });
    });
  }

  path(g, row, y, [from, to]) { for (let i = from; i < to; i++) g.lineTo(this.px(this.x[i]), y(row[i])); }

  curve(g, box, row, y, colour, width) {
    g.save(); g.beginPath(); g.rect(box.x, box.y - 2, box.w, box.h + 4); g.clip();
    g.strokeStyle = colour; g.lineWidth = width; g.lineJoin = "round"; g.lineCap = "round";
    for (const run of runsOf(row)) { g.beginPath(); this.path(g, row, y, run); g.stroke(); }
    g.restore();
  }

  /** A derivative as an area about zero: orange above, blue below, in the tones of the still picture. */
  area(g, box, row, y) {
    const [, above, below] = SOFT[g.inks.dark ? 1 : 0], zero = y(0), runs = runsOf(row);
    for (const [colour, top, foot] of [[above, box.y - 2, zero], [below, zero, box.y + box.h + 2]]) {
      g.save(); g.beginPath(); g.rect(box.x, top, box.w, foot - top); g.clip();
      g.fillStyle = colour;
      for (const run of runs) {
        g.beginPath(); g.moveTo(this.px(this.x[run[0]]), zero);
        this.path(g, row, y, run);
        g.lineTo(this.px(this.x[run[1] - 1]), zero); g.closePath(); g.fill();
      }
      g.restore();
    }
    line(g, box.x, zero, box.x + box.w, zero, g.inks.muted);
    this.curve(g, box, row, y, g.inks.ink, 1.2);
  }

  /** Name the curves at their right ends, apart enough to be read. */
  endNames(g, box, tints) {
    const ends = this.values.map((row, i) => [this.ys[0](row.findLast(Number.isFinite) ?? NaN), i]).filter(([y]) => Number.isFinite(y));
    let taken = Infinity;
    for (const [y, i] of ends.sort((a, b) => b[0] - a[0])) {
      taken = Math.min(clamp(y, box.y + 6, box.y + box.h - 4), taken - 14);
      text(g, this.meta.labels[i], box.x + box.w + 6, taken, { align: "left", base: "middle", colour: tints[i], weight: "600", size: 12 });
    }
  }

  drawOver() {
    const { curve, slopes, last, h } = this.at, g = this.context(this.over, this.stage.clientWidth, h), i = this.probe;
    const x = this.px(this.x[i]), several = this.values.length > 1;
    g.setLineDash([2, 4]); line(g, x, curve.y, x, last.y + last.h, g.inks.muted); g.setLineDash([]);
    const turn = slope => slope > 0 ? ORANGE : slope < 0 ? BLUE : g.inks.muted;
    const dot = (box, y, colour, size) => {
      if (!(y >= box.y - 1 && y <= box.y + box.h + 1)) return;
      g.beginPath(); g.arc(x, y, size, 0, 7); g.fillStyle = colour; g.fill(); g.strokeStyle = g.inks.paper; g.lineWidth = 1.5; g.stroke();
    };
    const unit = this.px(this.x.at(-1)) - this.px(this.x[0]), lo = this.x[0], wide = this.x.at(-1) - lo;
    this.values.forEach((row, k) => {
      const y = this.ys[0](row[i]), slope = this.slopes[k]?.[i], colour = several ? g.inks.components[k] : this.slopes.length ? turn(slope) : g.inks.value;
      if (Number.isFinite(slope) && Number.isFinite(y)) {
        // As steep on the page as the curve is there; equally long whatever its steepness.
        const down = (this.ys[0](row[i] + slope * wide * 1e-3) - y) / (unit * 1e-3), across = REACH / Math.hypot(1, down);
        if (Number.isFinite(down)) {
          g.save(); g.beginPath(); g.rect(curve.x, curve.y - 4, curve.w, curve.h + 8); g.clip();
          g.globalAlpha = several ? 0.75 : 1; g.lineCap = "round";
          line(g, x - across, y - across * down, x + across, y + across * down, colour, 1.8);
          g.restore();
        }
      }
      dot(curve, y, colour, 4.8);
    });
    slopes.forEach((box, k) => dot(box, this.ys[k + 1](this.slopes[k][i]), turn(this.slopes[k][i]), 4));
  }

  under(px) {
    const { x, w } = this.at.curve, from = this.px(this.x[0]);
    return px >= x - 4 && px <= x + w + 4 ? (px - from) / (this.px(this.x.at(-1)) - from) * (this.x.length - 1) : null;
  }

  moves(far) { return { ArrowLeft: this.probe - far, ArrowRight: this.probe + far, Home: 0, End: this.x.length - 1 }; }
}
