// A function over two ranges: its colours, contours where they change, arrows along its gradient, and a probe.

const LEFT = 56, TOP = 8, FOOT = 42, GAP = 14, BAR = 13, NUMBERS = 58;
// At most so many pixels for an inch of the still picture, whose shape the picture has.
const MOST = 118;
// Of an arrow, in inches.
const SHAFT = 0.013, HEAD = 0.06, BREADTH = 0.055;

class View extends Explored {
  take(meta, buffer) {
    const [nx, ny] = meta.grid, n = nx * ny, all = new Float64Array(buffer, 0, nx + ny + n * (meta.gradient ? 3 : 1));
    let at = 0;
    const next = count => all.subarray(at, at += count);
    this.x = next(nx); this.y = next(ny); this.f = next(n);
    this.slopes = meta.gradient ? [next(n), next(n)] : [];
    // Five numbers for each arrow: its middle and its reach as parts of the picture and in inches, and its ink.
    this.arrows = new Float64Array(buffer, all.byteLength);
    const { lo, hi, logarithmic } = meta.scale ?? {};
    const on = logarithmic ? Math.log : v => v / 2, from = on(lo), wide = on(hi) - from;
    this.share = v => clamp((on(v) - from) / wide, 0, 1);
    // On a logarithm what is not positive is below the colours; what is not finite is blank.
    this.shares = meta.scale ? this.f.map(v => Number.isFinite(v) ? logarithmic && v <= 0 ? 0 : this.share(v) : NaN) : null;
  }

  /** What the probe reads. */
  parts() {
    const m = this.meta, at = this.probe, nx = m.grid[0], turn = v => v > 0 ? "snb-up" : v < 0 ? "snb-down" : "";
    return [
      [m.axes[0], inFull(this.x[at % nx], m.digits[0]), ""], [m.axes[1], inFull(this.y[Math.floor(at / nx)], m.digits[1]), ""],
      [m.symbol, this.number(this.f[at]), ""], ...this.slopes.map((one, i) => [m.slopes[i], this.number(one[at]), turn(one[at])]),
    ];
  }

  // -- drawing

  paint(w) {
    const [wide, tall] = this.meta.box, inch = this.inch = clamp((w - LEFT - GAP - BAR - NUMBERS) / wide, 10, MOST);
    const box = this.at = { x: LEFT, y: TOP, w: wide * inch, h: tall * inch };
    const g = this.context(this.base, w, TOP + box.h + FOOT);
    this.ticks(g, box);
    if (!this.shares) {
      text(g, "nothing finite", box.x + box.w / 2, box.y + box.h / 2, { size: 13 });
      return;
    }
    const [nx, ny] = this.meta.grid;
    g.imageSmoothingEnabled = true;
    // Each number is the value in the middle of its cell: the outer cells are cut in half.
    g.drawImage(this.image(nx, ny, i => this.shares[i]), 0.5, 0.5, nx - 1, ny - 1, box.x, box.y, box.w, box.h);
    g.save(); g.beginPath(); g.rect(box.x, box.y, box.w, box.h); g.clip();
    for (const [value, ink] of this.meta.levels) this.contour(g, box, this.share(value), this.meta.inks[ink]);
    this.drawArrows(g, box);
    g.restore();
    this.bar(g, { x: box.x + box.w + GAP, y: box.y, w: BAR, h: box.h });
  }

  ticks(g, box) {
    const { axes } = this.meta, foot = box.y + box.h, across = spaced(this.x[0], this.x.at(-1), Math.max(2, box.w / 84));
    const place = (v, along) => (v / 2 - along[0] / 2) / (along.at(-1) / 2 - along[0] / 2);
    told(across).forEach((said, i) => {
      const x = box.x + box.w * place(across[i], this.x);
      line(g, x, foot + 1, x, foot + 4, g.inks.muted, 0.8); text(g, said, x, foot + 7, { whole: true });
    });
    const up = spaced(this.y[0], this.y.at(-1), clamp(box.h / 44, 2, 9));
    told(up).forEach((said, i) => {
      const y = foot - box.h * place(up[i], this.y);
      line(g, box.x - 4, y, box.x - 1, y, g.inks.muted, 0.8); text(g, said, box.x - 6, y, { align: "right", base: "middle" });
    });
    text(g, axes[0], box.x + box.w / 2, foot + 23, { colour: g.inks.ink, size: 13 });
    g.save(); g.translate(9, box.y + box.h / 2); g.rotate(axes[1].length > 2 ? -Math.PI / 2 : 0);
    text(g, axes[1], 0, 0, { colour: g.inks.ink, size: 13, base: "middle" });
    g.restore();
  }

  /** Colours of shares, row by row from the lowest. */
  image(wide, tall, share) {
    const made = Object.assign(document.createElement("canvas"), { width: wide, height: tall }), pen = made.getContext("2d");
    const pixels = pen.createImageData(wide, tall), colours = this.colours ??= Uint8Array.from(this.meta.colours.match(/../g), c => parseInt(c, 16));
    for (let i = 0; i < wide * tall; i++) {
      const of = share(i), to = 4 * ((tall - 1 - Math.floor(i / wide)) * wide + i % wide);
      if (Number.isNaN(of)) continue;
      const from = 3 * Math.min(255, Math.floor(of * 256));
      for (let c = 0; c < 3; c++) pixels.data[to + c] = colours[from + c];
      pixels.data[to + 3] = 255;
    }
    pen.putImageData(pixels, 0, 0);
    return made;
  }

  /** The line where shares are `level`: between points of the grid it is where their share says. */
  contour(g, box, level, ink) {
    const [nx, ny] = this.meta.grid, s = this.shares, dx = box.w / (nx - 1), dy = box.h / (ny - 1), foot = box.y + box.h;
    g.save(); g.globalAlpha = 0.5; g.strokeStyle = ink; g.lineWidth = 0.9; g.beginPath();
    for (let row = 0; row < ny - 1; row++) for (let column = 0; column < nx - 1; column++) {
      const i = row * nx + column, a = s[i], b = s[i + 1], c = s[i + nx + 1], d = s[i + nx];
      const count = (a >= level) + (b >= level) + (c >= level) + (d >= level);
      if (count === 0 || count === 4 || Number.isNaN(a + b + c + d)) continue;
      const corners = [a, b, c, d], above = corners.map(v => v >= level), ends = [];
      for (let k = 0; k < 4; k++) {
        const next = (k + 1) % 4;
        if (above[k] === above[next]) continue;
        const t = (level - corners[k]) / (corners[next] - corners[k]), [across, up] = [[t, 0], [1, t], [1 - t, 1], [0, 1 - t]][k];
        ends.push([box.x + (column + across) * dx, foot - (row + up) * dy]);
      }
      // Four ends are two lines: what is in the middle says which of the corners belong together.
      const turned = ends.length === 4 && ((a + b + c + d) / 4 >= level) !== above[0];
      if (turned) ends.push(ends.shift());
      for (let k = 0; k + 1 < ends.length; k += 2) { g.moveTo(...ends[k]); g.lineTo(...ends[k + 1]); }
    }
    g.stroke();
    g.restore();
  }

  drawArrows(g, box) {
    const inks = [...this.meta.inks, g.inks.muted], foot = box.y + box.h;
    g.save(); g.globalAlpha = 0.85; g.lineCap = "butt";
    for (let i = 0; i < this.arrows.length; i += 5) {
      const [x, y, dx, dy, ink] = this.arrows.subarray(i, i + 5), long = Math.hypot(dx, dy), ux = dx / long, uy = -dy / long;
      const mx = box.x + x * box.w, my = foot - y * box.h, half = long * this.inch / 2, head = Math.min(HEAD, 0.8 * long) * this.inch;
      const tx = mx + ux * half, ty = my + uy * half, bx = tx - ux * head, by = ty - uy * head, side = head * BREADTH / HEAD / 2;
      line(g, mx - ux * half, my - uy * half, bx, by, inks[ink], SHAFT * this.inch);
      g.fillStyle = inks[ink];
      g.beginPath(); g.moveTo(tx, ty); g.lineTo(bx - uy * side, by + ux * side); g.lineTo(bx + uy * side, by - ux * side); g.fill();
    }
    g.restore();
  }

  bar(g, box) {
    g.drawImage(this.image(1, 256, i => i / 255), box.x, box.y, box.w, box.h);
    const { levels, same, inks } = this.meta, at = v => box.y + box.h * (1 - this.share(v));
    const named = levels.length ? levels.map(([value]) => value) : [same];
    let taken = Infinity;
    told(named).forEach((said, i) => {
      const y = at(named[i]);
      if (levels.length) { g.globalAlpha = 0.6; line(g, box.x, y, box.x + box.w, y, inks[levels[i][1]], 0.9); g.globalAlpha = 1; }
      if (taken - y < 12) return;
      taken = y;
      text(g, said, box.x + box.w + 5, clamp(y, box.y + 5, box.y + box.h - 5), { align: "left", base: "middle" });
    });
  }

  drawOver() {
    const box = this.at, g = this.context(this.over, this.stage.clientWidth, TOP + box.h + FOOT), [nx, ny] = this.meta.grid;
    const x = box.x + this.probe % nx / (nx - 1) * box.w, y = box.y + box.h * (1 - Math.floor(this.probe / nx) / (ny - 1));
    // A ring in both inks is seen on all colours.
    for (const [ink, wide] of [[this.meta.inks[0], 4], [this.meta.inks[1], 1.9]]) {
      g.beginPath(); g.arc(x, y, 6, 0, 7); g.strokeStyle = ink; g.lineWidth = wide; g.stroke();
    }
  }

  // -- probe

  under(px, py) {
    const { x, y, w, h } = this.at, [nx, ny] = this.meta.grid;
    if (px < x - 4 || px > x + w + 4 || py < y - 4 || py > y + h + 4) return null;
    const near = (share, count) => clamp(Math.round(share * (count - 1)), 0, count - 1);
    return near(1 - (py - y) / h, ny) * nx + near((px - x) / w, nx);
  }

  moves(far) {
    const [nx, ny] = this.meta.grid, column = this.probe % nx, row = Math.floor(this.probe / nx);
    const to = (across, up) => clamp(row + up, 0, ny - 1) * nx + clamp(column + across, 0, nx - 1);
    return { ArrowLeft: to(-far, 0), ArrowRight: to(far, 0), ArrowUp: to(0, far), ArrowDown: to(0, -far), Home: to(-nx, 0), End: to(nx, 0) };
  }
}
