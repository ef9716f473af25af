// What all live views share: numbers in words, ticks, colours, and elements that Lab leaves their keys.
//
// The kernel sends this file, that of a view, and mount.js as one module: no build step and no library.

const clamp = (x, lo, hi) => Math.min(Math.max(x, lo), hi);

function written(x, digits = 6) {
  if (Number.isNaN(x)) return "NaN";
  if (!Number.isFinite(x)) return x > 0 ? "+Inf" : "-Inf";
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size < 1e-4 || size >= 1e6) return x.toExponential(digits - 1).replace(/\.?0+e/, "e").replace("e+", "e");
  return String(Number(x.toPrecision(digits)));
}

/** Numbers of an axis, with as many digits as tell them apart. */
function told(values, digits = 4) {
  const sorted = [...values].sort((a, b) => a - b), gap = Math.min(...sorted.slice(1).map((v, i) => v - sorted[i]));
  for (let more = digits; more < 17; more++) {
    // Many digits with an exponent are hard to compare.
    const said = values.map(v => more > digits && Math.abs(v) >= 1e6 && Math.abs(v) < 1e15 ? String(Number(v.toPrecision(more))) : written(v, more));
    if (!Number.isFinite(gap) || said.every((one, i) => Math.abs(Number(one) - values[i]) <= 0.1 * gap)) return said;
  }
  return values.map(String);
}

/** A number as the still picture writes it: whole numbers in full. */
function inFull(x, digits) {
  const size = Math.abs(x);
  if (size < 1e6 && Number.isInteger(x)) return String(x);
  return 10 ** digits <= size && size < 1e6 ? x.toFixed(0) : written(x, digits);
}

function spaced(lo, hi, most) {
  const span = hi - lo;
  if (!(span > 0) || !Number.isFinite(span)) return [];
  const raw = span / Math.max(most, 1), power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map(m => m * power).find(s => s >= raw * 0.999);
  const found = [];
  for (let k = Math.ceil(lo / step - 1e-9); k * step <= hi + step * 1e-9; k++) found.push(k * step || 0);
  return found;
}

// At least 3 to 1 against the paper, light and dark.
const COMPONENTS = [["#5b4bb0", "#2c8cb0", "#2a9a75", "#7f9a1f"], ["#8d80dd", "#2c8cb0", "#2fa37c", "#9fbf2f"]];
const BLUE = "#3f7fb5", ORANGE = "#d9763a";
// The stems under the dots of numbers, light and dark: of values, of gradients above zero and below.
const SOFT = [["#b7d3de", "#f3c29b", "#a8cbe2"], ["#24505f", "#86502a", "#255a85"]];

function text(g, said, x, y, { colour, align = "center", base = "top", size = 11, mono = false, weight = "", whole = false } = {}) {
  g.font = `${weight} ${size}px ${mono ? g.fonts.mono : g.fonts.sans}`;
  if (whole) {
    // Half of a number at an edge of the canvas would be read as another number.
    const half = g.measureText(said).width / 2;
    x = clamp(x, half, g.canvas.width / (window.devicePixelRatio || 1) - half);
  }
  g.textAlign = align; g.textBaseline = base; g.fillStyle = colour ?? g.inks.muted;
  g.fillText(said, x, y);
}
function line(g, x0, y0, x1, y1, colour, width = 1) {
  g.strokeStyle = colour; g.lineWidth = width;
  g.beginPath(); g.moveTo(x0, y0); g.lineTo(x1, y1); g.stroke();
}

/** The colours and fonts of the page: they are read again when its theme changes. */
function themeOf(root, aside) {
  const style = getComputedStyle(root), name = v => style.getPropertyValue(v).trim();
  const resolved = v => { aside.style.color = `var(${v})`; const c = getComputedStyle(aside).color; aside.style.color = ""; return c; };
  const inks = { ink: resolved("--snb-ink"), muted: resolved("--snb-muted"), line: resolved("--snb-line"), paper: resolved("--snb-paper") };
  const [r, g, b] = (inks.paper.match(/[\d.]+/g) ?? [255, 255, 255]).map(Number);
  inks.dark = 0.3 * r + 0.59 * g + 0.11 * b < 128;
  if (name("--jp-layout-color0")) root.style.colorScheme = inks.dark ? "dark" : "light";
  inks.components = COMPONENTS[inks.dark ? 1 : 0];
  inks.value = inks.dark ? "#5fb0d6" : "#2c718e";
  return { inks, fonts: { sans: style.fontFamily, mono: name("--snb-mono") || "monospace" } };
}

/** Call a function when the theme of the page changes; gives what ends that. */
function onTheme(again) {
  const theme = new MutationObserver(again);
  theme.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-name", "data-jp-theme-light", "class", "style"] });
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  scheme.addEventListener("change", again);
  return () => { theme.disconnect(); scheme.removeEventListener("change", again); };
}

function make(tag, name, extra = {}) {
  const made = Object.assign(document.createElement(tag), { className: name, ...extra });
  // Lab takes arrow keys for its cells unless an element asks it not to.
  if (tag === "input" || tag === "select" || name === "snb-stage") made.setAttribute("data-lm-suppress-shortcuts", "true");
  return made;
}
