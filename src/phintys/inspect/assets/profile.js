"use strict";
// Shows a profile: a flame graph of buttons, a time line on a canvas, and the details beside them.

const data = JSON.parse(document.getElementById("data").textContent);
const element = (id) => document.getElementById(id);

const PALETTE = ["#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#edc948", "#76b7b2",
                 "#9c755f", "#ff9da7", "#8cd17d", "#a0cbe8"];
const ROW = 26;              // pixels from one row of the flame graph to the next
const NARROWEST = 0.002;     // parts that are narrower are left out
const LANE = 22;             // pixels of a row of the time line
const LABELS = 70;           // pixels at its left

function colourOf(text) {
  let hash = 0;
  for (const letter of text) hash = (hash * 31 + letter.codePointAt(0)) >>> 0;
  return PALETTE[hash % PALETTE.length];
}

function textOn(colour) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255);
  return 0.3 * r + 0.59 * g + 0.11 * b > 0.55 ? "#15191d" : "#ffffff";
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

function showDetails(title, facts) {
  const place = element("details");
  place.replaceChildren();
  const head = place.appendChild(document.createElement("h2"));
  head.textContent = title;
  const text = place.appendChild(document.createElement("pre"));
  text.textContent = facts.join("\n");
}

// ---- the flame graph ----------------------------------------------------------------------------

let by = "line", shown = data.flames.line, wanted = "";

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

function drawFlame() {
  const root = data.flames[by], place = element("flame");
  place.replaceChildren();
  place.classList.toggle("searching", wanted !== "");
  let rows = 0, found = 0;

  function add(part, left, width, row, isAround) {
    rows = Math.max(rows, row + 1);
    const button = place.appendChild(document.createElement("button"));
    const colour = row === 0 ? "#d8e4ee" : colourOf(part.label);
    const share = shareText(part.seconds, root.seconds);
    button.setAttribute("role", "treeitem");
    button.setAttribute("aria-level", row + 1);
    button.textContent = `${part.label}  ${timeText(part.seconds)}, ${share}`;
    button.title = button.textContent;
    Object.assign(button.style, {
      left: `${100 * left}%`, width: `${100 * width}%`, top: `${row * ROW}px`,
      background: colour, color: textOn(colour),
    });
    button.classList.toggle("around", isAround);
    if (matches(part)) {
      button.classList.add("found");
      found += 1;
    }
    button.part_ = part;
    const tell = () => showDetails(part.label, [
      `${timeText(part.seconds)}, ${share} of the time in calls`, ...part.facts]);
    button.addEventListener("focus", tell);
    button.addEventListener("click", () => { tell(); zoomTo(part); });
  }

  function addInside(part, left, width, row) {
    add(part, left, width, row, false);
    let at = left;
    const sum = part.parts.reduce((total, inner) => total + inner.seconds, 0);
    const whole = Math.max(part.seconds, sum);
    for (const inner of part.parts) {
      const wide = whole > 0 ? width * inner.seconds / whole : 0;
      if (wide >= NARROWEST) addInside(inner, at, wide, row + 1);
      at += wide;
    }
  }

  const around = pathTo(root, shown).slice(0, -1);
  around.forEach((part, row) => add(part, 0, 1, row, true));
  addInside(shown, 0, 1, around.length);
  place.style.height = `${rows * ROW}px`;
  element("matches").textContent = wanted === "" ? "" : `${found} found`;
}

function zoomTo(part) {
  shown = part;
  drawFlame();
  const button = [...element("flame").children].find((one) => one.part_ === part);
  if (button) button.focus();
}

function flameKeys(event) {
  const now = document.activeElement;
  const all = [...element("flame").children];
  if (event.key === "Escape") return zoomTo(data.flames[by]);
  if (!all.includes(now)) return;
  const box = (one) => [parseFloat(one.style.top), parseFloat(one.style.left), parseFloat(one.style.width)];
  const [top, left, width] = box(now);
  const rows = {ArrowDown: top + ROW, ArrowUp: top - ROW, ArrowLeft: top, ArrowRight: top};
  if (!(event.key in rows)) return;
  event.preventDefault();
  const near = all.filter((one) => box(one)[0] === rows[event.key] && one !== now);
  const next = {
    ArrowDown: () => near.find((one) => box(one)[1] >= left - 1e-6 && box(one)[1] < left + width),
    ArrowUp: () => near.filter((one) => box(one)[1] <= left + 1e-6).at(-1),
    ArrowLeft: () => near.filter((one) => box(one)[1] < left).at(-1),
    ArrowRight: () => near.find((one) => box(one)[1] > left),
  }[event.key]();
  if (next) next.focus();
}

// ---- the time line ------------------------------------------------------------------------------

const events = data.events;
const last = events.reduce((end, [, begin, long]) => Math.max(end, begin + long), 0) || 1;
const lanes = 2 * (1 + events.reduce((most, event) => Math.max(most, event[3]), 0));
let from = 0, to = last;  // what is shown, in microseconds

function laneOf([step, , , thread]) { return 2 * thread + (step < 0 ? 0 : 1); }

function drawTimes() {
  const canvas = element("times"), scale = window.devicePixelRatio || 1;
  const style = getComputedStyle(document.documentElement);
  const ink = style.getPropertyValue("--ink"), line = style.getPropertyValue("--line");
  const wide = canvas.clientWidth, high = lanes * LANE + 24;
  canvas.style.height = `${high}px`;
  canvas.width = wide * scale;
  canvas.height = high * scale;
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  pen.font = "12px system-ui, sans-serif";
  pen.textBaseline = "middle";
  const x = (time) => LABELS + (time - from) / (to - from) * (wide - LABELS);
  pen.save();
  pen.beginPath();
  pen.rect(LABELS, 0, wide - LABELS, high);
  pen.clip();
  for (const event of events) {
    const [step, begin, long] = event;
    if (begin > to || begin + long < from) continue;
    const left = x(begin), width = Math.max(x(begin + long) - left, 1);
    const label = step < 0 ? "call" : data.steps[step][0];
    const colour = step < 0 ? "#d8e4ee" : colourOf(label);
    const top = laneOf(event) * LANE + 1;
    pen.fillStyle = colour;
    pen.fillRect(left, top, width, LANE - 2);
    if (width > 40) {
      pen.save();
      pen.beginPath();
      pen.rect(left, top, width - 4, LANE);
      pen.clip();
      pen.fillStyle = textOn(colour);
      pen.fillText(label, Math.max(left, LABELS) + 4, top + LANE / 2 - 1);
      pen.restore();
    }
  }
  pen.restore();
  pen.fillStyle = ink;
  for (let thread = 0; thread < lanes / 2; thread += 1) {
    pen.fillText(`thread ${thread + 1}`, 4, (2 * thread + 0.5) * LANE);
  }
  pen.strokeStyle = line;
  const marks = wide > 500 ? 4 : 2;
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
  const by_ = Math.min(Math.max(share * (to - from), -from), last - to);
  from += by_;
  to += by_;
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

function tellEvent(event) {
  if (!event) return;
  const [step, begin, long, thread] = event;
  const [label, kind] = step < 0 ? ["a call of the whole program", "call"] : data.steps[step];
  showDetails(kind, [label, `begins at ${timeText(begin * 1e-6)}`, `takes ${timeText(long * 1e-6)}`,
                     `thread ${thread + 1}`]);
}

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
    tellEvent(eventAt(event));
  });
  canvas.addEventListener("pointermove", (event) => {
    if (held === null) return;
    move(held - shareAt(event));
    held = shareAt(event);
  });
  canvas.addEventListener("pointerup", () => { held = null; });
  canvas.addEventListener("keydown", (event) => {
    const actions = {ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2), "+": () => zoom(0.7),
                     "-": () => zoom(1.4), f: fit};
    if (event.key in actions) {
      event.preventDefault();
      actions[event.key]();
    }
  });
  const buttons = {earlier: () => move(-0.2), later: () => move(0.2), closer: () => zoom(0.7),
                   farther: () => zoom(1.4), fit};
  for (const [id, action] of Object.entries(buttons)) element(id).addEventListener("click", action);
  window.addEventListener("resize", drawTimes);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawTimes);
}

// ---- start --------------------------------------------------------------------------------------

element("summary").textContent = data.summary;
element("as-text").querySelector("pre").textContent = data.report;
for (const tab of element("tabs").children) {
  tab.addEventListener("click", () => {
    by = tab.dataset.by;
    shown = data.flames[by];
    for (const one of element("tabs").children) one.setAttribute("aria-selected", one === tab);
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
