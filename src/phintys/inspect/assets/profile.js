"use strict";
// Shows a profile: a flame graph of buttons, a time line on a canvas, and the details beside them.

const ROW = 26;              // pixels from one row of the flame graph to the next
const NARROWEST = 0.002;     // parts that are narrower are left out
const LANE = 22;             // pixels of a row of the time line
const LABELS = 70;           // pixels at its left
const OF_CALLS = "#d8e4ee";  // the colour of what contains all parts

function colourOf(text) {
  let hash = 0;
  for (const letter of text) hash = (hash * 31 + letter.codePointAt(0)) >>> 0;
  return PALETTE[hash % PALETTE.length];
}

function timeText(seconds) {
  for (const [unit, size] of [["s", 1], ["ms", 1e-3], ["us", 1e-6]]) {
    if (seconds >= size) return `${(seconds / size).toFixed(1)} ${unit}`;
  }
  return `${(seconds * 1e9).toFixed(0)} ns`;
}

function shareText(part, whole) {
  return whole > 0 ? `${(100 * part / whole).toFixed(1)} %` : "";
}

// ---- the flame graph ----------------------------------------------------------------------------

let by = "line", shown = data.flames.line, wanted = "";
const partOf = new Map();  // of each button that is shown

function pathTo(part, goal) {  // from a part to one inside of it
  if (part === goal) return [part];
  for (const inner of part.parts) {
    const found = pathTo(inner, goal);
    if (found) return [part, ...found];
  }
  return null;
}

function matches(part) {
  const text = [part.label, ...part.facts].join("\n").toLowerCase();
  return wanted !== "" && part.parts.length === 0 && text.includes(wanted);
}

function placedFlames() {  // {part, left, width, row, isAround} of what is shown
  const around = pathTo(data.flames[by], shown).slice(0, -1);
  const found = around.map((part, row) => ({part, left: 0, width: 1, row, isAround: true}));
  const pending = [{part: shown, left: 0, width: 1, row: around.length, isAround: false}];
  while (pending.length) {
    const place = pending.pop(), {part, width, row} = place;
    found.push(place);
    const whole = Math.max(part.seconds, part.parts.reduce((sum, inner) => sum + inner.seconds, 0));
    let left = place.left;
    for (const inner of part.parts) {
      const share = whole > 0 ? width * inner.seconds / whole : 0;
      if (share >= NARROWEST) pending.push({part: inner, left, width: share, row: row + 1, isAround: false});
      left += share;
    }
  }
  return found.sort((one, other) => one.row - other.row || one.left - other.left);
}

function flameButton({part, left, width, row, isAround}) {
  const button = document.createElement("button");
  const colour = row === 0 ? OF_CALLS : colourOf(part.label);
  const share = shareText(part.seconds, data.flames[by].seconds);
  const tell = () => showDetails(part.label, [
    `${timeText(part.seconds)}, ${share} of the time in calls`, ...part.facts]);
  button.setAttribute("role", "treeitem");
  button.setAttribute("aria-level", row + 1);
  button.textContent = `${part.label}  ${timeText(part.seconds)}, ${share}`;
  button.title = button.textContent;
  button.tabIndex = part === shown ? 0 : -1;  // arrows lead to the others
  Object.assign(button.style, {
    left: `${100 * left}%`, width: `${100 * width}%`, top: `${row * ROW}px`,
    background: colour, color: textOn(colour),
  });
  button.classList.toggle("around", isAround);
  button.classList.toggle("found", matches(part));
  button.addEventListener("focus", tell);
  button.addEventListener("click", () => { tell(); zoomTo(part); });
  return button;
}

function drawFlame() {
  const places = placedFlames(), buttons = places.map(flameButton), flame = element("flame");
  partOf.clear();
  buttons.forEach((button, at) => partOf.set(button, places[at]));
  flame.replaceChildren(...buttons);
  flame.classList.toggle("searching", wanted !== "");
  flame.style.height = `${(1 + Math.max(...places.map(({row}) => row))) * ROW}px`;
  const count = places.filter(({part}) => matches(part)).length;
  element("matches").textContent = wanted === "" ? "" : `${count} found`;
}

function zoomTo(part) {
  shown = part;
  drawFlame();
  for (const [button, place] of partOf) if (place.part === part) button.focus();
}

function flameKeys(event) {
  if (event.key === "Escape") return zoomTo(data.flames[by]);
  const now = partOf.get(document.activeElement);
  const step = {ArrowDown: 1, ArrowUp: -1, ArrowLeft: 0, ArrowRight: 0}[event.key];
  if (now === undefined || step === undefined) return;
  event.preventDefault();
  const row = [...partOf].filter(([, place]) => place.row === now.row + step && place !== now);
  const isBefore = ([, place]) => place.left <= now.left + 1e-6;
  const isUnder = ([, place]) => place.left >= now.left - 1e-6 && place.left < now.left + now.width;
  const next = {
    ArrowDown: () => row.find(isUnder), ArrowUp: () => row.findLast(isBefore),
    ArrowLeft: () => row.findLast(isBefore), ArrowRight: () => row.find((one) => !isBefore(one)),
  }[event.key]();
  if (next) next[0].focus();
}

// ---- the time line ------------------------------------------------------------------------------

const events = data.events;
const last = events.reduce((end, [, begin, long]) => Math.max(end, begin + long), 0) || 1;
const lanes = 2 * (1 + events.reduce((most, event) => Math.max(most, event[3]), 0));
let from = 0, to = last;  // what is shown, in microseconds
let chosen = null;        // the event whose details are shown

function laneOf([step, , , thread]) { return 2 * thread + (step < 0 ? 0 : 1); }

function drawTimes() {
  const canvas = element("times"), scale = window.devicePixelRatio || 1;
  const style = getComputedStyle(document.documentElement);
  const wide = canvas.clientWidth, high = lanes * LANE + 24;
  canvas.style.height = `${high}px`;
  canvas.width = wide * scale;
  canvas.height = high * scale;
  const pen = canvas.getContext("2d");
  const x = (time) => LABELS + (time - from) / (to - from) * (wide - LABELS);
  pen.scale(scale, scale);
  pen.font = "12px system-ui, sans-serif";
  pen.textBaseline = "middle";
  pen.save();
  pen.beginPath();
  pen.rect(LABELS, 0, wide - LABELS, high);
  pen.clip();
  for (const event of events) drawEvent(pen, event, x, style.getPropertyValue("--accent"));
  pen.restore();
  pen.fillStyle = style.getPropertyValue("--ink");
  pen.strokeStyle = style.getPropertyValue("--line");
  drawScale(pen, x, wide > 500 ? 4 : 2);
}

function drawEvent(pen, event, x, accent) {
  const [step, begin, long] = event;
  if (begin > to || begin + long < from) return;
  const left = x(begin), width = Math.max(x(begin + long) - left, 1), top = laneOf(event) * LANE + 1;
  const label = step < 0 ? "call" : data.steps[step][0];
  const colour = step < 0 ? OF_CALLS : colourOf(label);
  pen.fillStyle = colour;
  pen.fillRect(left, top, width, LANE - 2);
  if (event === chosen) {
    pen.strokeStyle = accent;
    pen.lineWidth = 3;
    pen.strokeRect(left, top, width, LANE - 2);
    pen.lineWidth = 1;
  }
  if (width <= 40) return;
  pen.save();
  pen.beginPath();
  pen.rect(left, top, width - 4, LANE);
  pen.clip();
  pen.fillStyle = textOn(colour);
  pen.fillText(label, Math.max(left, LABELS) + 4, top + LANE / 2 - 1);
  pen.restore();
}

function drawScale(pen, x, marks) {  // the names of threads, and times
  for (let thread = 0; thread < lanes / 2; thread += 1) {
    pen.fillText(`thread ${thread + 1}`, 4, (2 * thread + 0.5) * LANE);
  }
  for (let mark = 0; mark <= marks; mark += 1) {
    const time = from + (to - from) * mark / marks, at = x(time);
    pen.beginPath();
    pen.moveTo(at, 0);
    pen.lineTo(at, lanes * LANE);
    pen.stroke();
    pen.textAlign = mark === marks ? "right" : mark === 0 ? "left" : "center";
    pen.fillText(timeText(time * 1e-6), at, lanes * LANE + 12);
  }
  pen.textAlign = "left";
  if (events.length === 0) pen.fillText("No calls yet.", LABELS + 4, LANE / 2);
}

function move(share) {
  const way = Math.min(Math.max(share * (to - from), -from), last - to);
  from += way;
  to += way;
  drawTimes();
}

function zoom(factor, share = 0.5) {
  const middle = from + share * (to - from);
  const long = Math.min(Math.max((to - from) * factor, 1e-3), last);
  from = Math.min(Math.max(middle - share * long, 0), last - long);
  to = from + long;
  drawTimes();
}

function fit() { from = 0; to = last; drawTimes(); }

function shareAt(event) {
  const box = element("times").getBoundingClientRect();
  return (event.clientX - box.left - LABELS) / (box.width - LABELS);
}

function eventAt(pointer) {
  const box = element("times").getBoundingClientRect();
  const lane = Math.floor((pointer.clientY - box.top) / LANE);
  const near = (to - from) / box.width, time = from + shareAt(pointer) * (to - from);
  return events.findLast((event) => laneOf(event) === lane && event[1] - near <= time
                                    && time <= event[1] + event[2] + near);
}

function choose(event) {
  if (!event) return;
  chosen = event;
  const [step, begin, long, thread] = event;
  const [label, kind] = step < 0 ? ["a call of the whole program", "call"] : data.steps[step];
  showDetails(kind, [label, `begins at ${timeText(begin * 1e-6)}`, `takes ${timeText(long * 1e-6)}`,
                     `thread ${thread + 1}`]);
  if (begin < from || begin > to) move((begin - from) / (to - from) - 0.1);
  else drawTimes();
}

function chooseNext(step) {  // the one that begins after, or before, the chosen one
  const ordered = [...events].sort((one, other) => one[1] - other[1]);
  choose(ordered[Math.min(Math.max(ordered.indexOf(chosen) + step, 0), ordered.length - 1)]);
}

const EARLIER = () => move(-0.2), LATER = () => move(0.2), CLOSER = () => zoom(0.7), FARTHER = () => zoom(1.4);
const TIME_KEYS = {ArrowLeft: EARLIER, ArrowRight: LATER, "+": CLOSER, "-": FARTHER, f: fit,
                   ArrowUp: () => chooseNext(-1), ArrowDown: () => chooseNext(1)};
const TIME_BUTTONS = {earlier: EARLIER, later: LATER, closer: CLOSER, farther: FARTHER, fit};

function setUpTimes() {
  const canvas = element("times");
  let held = null;
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, Math.min(Math.max(shareAt(event), 0), 1));
  }, {passive: false});
  canvas.addEventListener("pointerdown", (event) => {
    held = shareAt(event);
    canvas.setPointerCapture(event.pointerId);
    choose(eventAt(event));
  });
  canvas.addEventListener("pointermove", (event) => {
    if (held === null) return;
    move(held - shareAt(event));
    held = shareAt(event);
  });
  canvas.addEventListener("pointerup", () => { held = null; });
  canvas.addEventListener("keydown", (event) => {
    if (!(event.key in TIME_KEYS)) return;
    event.preventDefault();
    TIME_KEYS[event.key]();
  });
  for (const [id, action] of Object.entries(TIME_BUTTONS)) element(id).addEventListener("click", action);
  window.addEventListener("resize", drawTimes);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawTimes);
}

// ---- start --------------------------------------------------------------------------------------

element("summary").textContent = data.summary;
element("as-text").querySelector("pre").textContent = data.report;
for (const button of element("division").children) {
  button.addEventListener("click", () => {
    by = button.dataset.by;
    shown = data.flames[by];
    press(element("division").children, button);
    drawFlame();
  });
}
element("flame").addEventListener("keydown", flameKeys);
element("search").addEventListener("input", (event) => {
  wanted = event.target.value.trim().toLowerCase();
  drawFlame();
});
setUpTimes();
drawFlame();
drawTimes();
