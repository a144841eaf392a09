"use strict";
// Shows the drawings of the page: folding, layout, selection, search, and the text beside them.

const drawings = JSON.parse(document.getElementById("data").textContent).drawings;

const FOLDED_FIRST = 120;    // a drawing with more nodes is folded at first
const LAID_OUT_WELL = 3000;  // nodes and passed ranks that the layered layout places in a second
const PALETTE = ["#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#edc948", "#76b7b2",
                 "#9c755f", "#ff9da7", "#8cd17d", "#a0cbe8"];
const OF_KIND = {input: "#d8e4ee", shared: "#e8dcc3", constant: "#e6e6e6", output: "#d7ead3",
                 callback: "#d1495b"};
const LINE_HEIGHT = 16, CHARACTER = 7;

const isDark = () => window.matchMedia("(prefers-color-scheme: dark)").matches;
const element = (id) => document.getElementById(id);

function textOn(colour) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255);
  return 0.3 * r + 0.59 * g + 0.11 * b > 0.55 ? "#15191d" : "#ffffff";
}

// ---- what is shown of a drawing -----------------------------------------------------------------

class Model {
  constructor(drawing) {
    this.title = drawing.title;
    this.nodes = drawing.nodes;
    this.edges = drawing.edges;
    this.parts = drawing.parts.map(([label, kind, part]) => ({label, kind, part}));
    this.around = this.parts.map((_, number) => this.chain(number));
    this.inside = this.parts.map(() => 0);
    for (const node of this.nodes) {
      for (const part of node.part === null ? [] : this.around[node.part]) this.inside[part] += 1;
    }
    this.families = [...new Set(this.nodes.map((node) => node.family).filter(Boolean))];
    this.folded = new Set();
    if (this.nodes.length > FOLDED_FIRST) this.fold();
  }

  chain(part) {  // the parts around one, and itself, from the outermost
    const found = [];
    for (let at = part; at !== null; at = this.parts[at].part) found.unshift(at);
    return found;
  }

  fold() { this.parts.forEach((_, number) => this.folded.add(number)); }

  unfold() {  // one level of what is shown
    const shown = new Set(this.nodes.map((_, number) => this.shownAs(number)));
    for (const id of shown) if (id[0] === "p") this.folded.delete(Number(id.slice(1)));
  }

  toggle(part) {
    if (!this.folded.delete(part)) this.folded.add(part);
  }

  reveal(number) {  // unfold all parts around a node
    const part = this.nodes[number].part;
    for (const one of part === null ? [] : this.around[part]) this.folded.delete(one);
  }

  shownAs(number) {  // the id of a node, or of the outermost folded part around it
    const part = this.nodes[number].part;
    const folded = part === null ? undefined : this.around[part].find((one) => this.folded.has(one));
    return folded === undefined ? `n${number}` : `p${folded}`;
  }

  visible() {
    const boxes = new Map(), open = new Set();
    this.nodes.forEach((node, number) => {
      const id = this.shownAs(number);
      if (boxes.has(id)) return;
      const part = id[0] === "p" ? this.parts[Number(id.slice(1))].part : node.part;
      for (const one of part === null ? [] : this.around[part]) open.add(one);
      boxes.set(id, {id, parent: part === null ? null : `p${part}`, label: this.label(id)});
    });
    const links = new Map();
    for (const [source, target, label] of this.edges) {
      const ends = [this.shownAs(source), this.shownAs(target)];
      if (ends[0] === ends[1]) continue;
      const id = ends.join(" ");
      const link = links.get(id);
      if (link) link.count += 1;
      else links.set(id, {id, source: ends[0], target: ends[1], label, count: 1});
    }
    return {boxes: [...boxes.values()], open: [...open], links: [...links.values()]};
  }

  label(id) {
    const number = Number(id.slice(1));
    if (id[0] === "n") return this.nodes[number].label;
    return `${this.parts[number].label}\n${this.inside[number]} nodes`;
  }

  total(id, what) {  // seconds or bytes of a node, or of all nodes of a part
    const number = Number(id.slice(1));
    if (id[0] === "n") return this.nodes[number][what];
    let sum = null;
    for (const node of this.nodes) {
      if (node.part !== null && this.around[node.part].includes(number) && node[what] !== null) {
        sum = (sum || 0) + node[what];
      }
    }
    return sum;
  }

  colour(id, by) {
    if (id[0] === "p" && by === "family") return isDark() ? "#39434d" : "#dfe4ea";
    const node = id[0] === "n" ? this.nodes[Number(id.slice(1))] : null;
    if (by !== "family") {
      const value = this.total(id, by), most = this.most(by);
      if (value === null || most === 0) return isDark() ? "#39434d" : "#e3e7eb";
      const share = Math.sqrt(Math.min(1, value / most));
      const mix = (from, to) => Math.round(from + (to - from) * share).toString(16).padStart(2, "0");
      return `#${mix(255, 178)}${mix(244, 24)}${mix(214, 43)}`;
    }
    if (OF_KIND[node.kind]) return OF_KIND[node.kind];
    return PALETTE[this.families.indexOf(node.family) % PALETTE.length];
  }

  most(what) { return Math.max(0, ...this.nodes.map((node) => node[what] || 0)); }

  legend(by) {
    if (by !== "family") {
      const most = this.most(by);
      if (most === 0) return [["#e3e7eb", "not measured: compile with profile=True, and call it"]];
      const text = by === "seconds" ? `${(most * 1e6).toPrecision(3)} µs` : `${most} bytes`;
      return [["#fff4d6", "none"], ["#b2182b", `most: ${text}`]];
    }
    const kinds = new Set(this.nodes.map((node) => node.kind));
    const found = Object.entries(OF_KIND).filter(([kind]) => kinds.has(kind)).map(([kind, c]) => [c, kind]);
    const ops = new Set(this.nodes.filter((node) => !OF_KIND[node.kind]).map((node) => node.family));
    for (const family of this.families) {
      if (ops.has(family)) found.push([PALETTE[this.families.indexOf(family) % PALETTE.length], family]);
    }
    return found;
  }
}

// ---- layout -------------------------------------------------------------------------------------

function sizeOf(box) {
  const lines = box.label.split("\n");
  const longest = Math.max(...lines.map((line) => line.length));
  return {width: Math.max(44, longest * CHARACTER + 18), height: lines.length * LINE_HEIGHT + 14};
}

function layered({boxes, open, links}, model) {
  const g = new dagre.graphlib.Graph({compound: true});
  g.setGraph({ranksep: 34, nodesep: 18, marginx: 10, marginy: 10});
  g.setDefaultEdgeLabel(() => ({}));
  for (const part of open) g.setNode(`p${part}`, {});
  for (const box of boxes) g.setNode(box.id, sizeOf(box));
  for (const part of open) {
    const outer = model.parts[part].part;
    if (outer !== null) g.setParent(`p${part}`, `p${outer}`);
  }
  for (const box of boxes) if (box.parent !== null) g.setParent(box.id, box.parent);
  for (const link of links) g.setEdge(link.source, link.target);
  dagre.layout(g);
  return new Map(boxes.map((box) => [box.id, g.node(box.id)]));
}

function ranksOf({boxes, links}) {  // the longest path from an input to each box
  const into = new Map(boxes.map((box) => [box.id, 0])), out = new Map();
  for (const link of links) {
    into.set(link.target, into.get(link.target) + 1);
    if (!out.has(link.source)) out.set(link.source, []);
    out.get(link.source).push(link.target);
  }
  const rank = new Map(boxes.map((box) => [box.id, 0]));
  const ready = boxes.map((box) => box.id).filter((id) => into.get(id) === 0);
  while (ready.length) {
    const id = ready.pop();
    for (const next of out.get(id) || []) {
      rank.set(next, Math.max(rank.get(next), rank.get(id) + 1));
      into.set(next, into.get(next) - 1);
      if (into.get(next) === 0) ready.push(next);
    }
  }
  return rank;
}

function ranked({boxes}, rank) {  // linear in the boxes: a row for each rank
  const ends = new Map(), found = new Map();
  for (const box of boxes) {
    const row = rank.get(box.id), size = sizeOf(box), x = ends.get(row) || 0;
    found.set(box.id, {x: x + size.width / 2, y: row * 70, ...size});
    ends.set(row, x + size.width + 18);
  }
  return found;
}

function placed(shown, model) {
  const rank = ranksOf(shown);
  // The layered layout places an edge in each rank that it passes.
  const passed = shown.links.reduce(
    (sum, link) => sum + Math.max(1, rank.get(link.target) - rank.get(link.source)), 0);
  const isQuick = shown.boxes.length + passed <= LAID_OUT_WELL;
  return isQuick ? layered(shown, model) : ranked(shown, rank);
}

// ---- one picture --------------------------------------------------------------------------------

class View {
  constructor(model, onSelect) {
    this.model = model;
    this.onSelect = onSelect;
    this.selected = null;
    this.box = document.createElement("section");
    this.box.className = "view";
    this.box.setAttribute("aria-label", model.title);
    const head = document.createElement("h2");
    head.textContent = `${model.title}: ${model.nodes.length} nodes`;
    const canvas = document.createElement("div");
    canvas.className = "canvas";
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "application");
    canvas.setAttribute("aria-label", `${model.title}, a graph; its nodes are listed under "As text"`);
    this.box.append(head, canvas);
    element("views").append(this.box);
    this.cy = cytoscape({container: canvas, style: this.style(), minZoom: 0.02, maxZoom: 3,
                         autoungrabify: true});
    this.cy.on("tap", "node", (event) => this.select(event.target.id()));
    this.cy.on("dbltap", "node", (event) => this.toggle(event.target.id()));
    canvas.addEventListener("keydown", (event) => this.key(event));
    this.draw();
  }

  remove() {
    this.cy.destroy();
    this.box.remove();
  }

  style() {
    const ink = isDark() ? "#e6eaee" : "#1d2329", line = isDark() ? "#77828d" : "#8a949e";
    return [
      {selector: "node", style: {
        shape: "round-rectangle", width: "data(width)", height: "data(height)",
        "background-color": "data(colour)", color: "data(ink)", label: "data(label)",
        "text-valign": "center", "text-wrap": "wrap", "text-max-width": 400, "font-size": 12,
        "border-width": 1, "border-color": line}},
      {selector: "node[?isFolded]", style: {"border-style": "dashed", "border-width": 2}},
      {selector: "node[?isEnd]", style: {shape: "round-tag"}},
      {selector: ":parent", style: {
        "background-opacity": 0.06, "background-color": ink, "text-valign": "top",
        "text-halign": "center", color: ink, "font-size": 11, padding: 10}},
      {selector: "edge", style: {
        width: 1.4, "line-color": line, "target-arrow-color": line, "target-arrow-shape": "triangle",
        "arrow-scale": 0.8, "curve-style": "bezier", label: "data(label)", "font-size": 9,
        color: ink, "text-background-color": isDark() ? "#15191d" : "#ffffff",
        "text-background-opacity": 0.75, "min-zoomed-font-size": 7}},
      {selector: ".selected", style: {"border-width": 3, "border-color": "#0b63b5"}},
      {selector: ".found", style: {"border-width": 3, "border-color": "#d97706"}},
      {selector: "edge.near", style: {"line-color": "#0b63b5", "target-arrow-color": "#0b63b5", width: 2.4}},
    ];
  }

  draw() {
    const shown = this.model.visible(), by = element("colours").value;
    const places = placed(shown, this.model);
    const items = shown.open.map((part) => ({
      group: "nodes",
      data: {id: `p${part}`, label: this.model.parts[part].label, colour: "#888888", ink: "#000000",
             width: 10, height: 10,
             parent: this.model.parts[part].part === null ? undefined : `p${this.model.parts[part].part}`},
    }));
    for (const box of shown.boxes) {
      const {x, y, width, height} = places.get(box.id), colour = this.model.colour(box.id, by);
      const kind = box.id[0] === "n" ? this.model.nodes[Number(box.id.slice(1))].kind : "part";
      items.push({group: "nodes", position: {x, y}, data: {
        id: box.id, label: box.label, width, height, colour, ink: textOn(colour),
        isFolded: box.id[0] === "p", isEnd: kind === "output" || kind === "input",
        parent: box.parent === null ? undefined : box.parent}});
    }
    for (const link of shown.links) {
      const label = link.count > 1 ? `${link.count} values` : link.label;
      items.push({group: "edges", data: {id: link.id, source: link.source, target: link.target, label}});
    }
    this.cy.batch(() => {
      this.cy.elements().remove();
      this.cy.add(items);
    });
    this.fit();
  }

  fit() {
    this.cy.resize();
    this.cy.fit(undefined, 24);
    if (this.cy.zoom() > 1.2) { this.cy.zoom(1.2); this.cy.center(); }
  }

  select(id) {
    this.selected = id;
    this.cy.elements().removeClass("selected near");
    const node = this.cy.getElementById(id);
    node.addClass("selected");
    node.connectedEdges().addClass("near");
    this.onSelect(this, id);
  }

  toggle(id) {
    let part = null;
    if (id[0] === "p") part = Number(id.slice(1));
    else part = this.model.nodes[Number(id.slice(1))].part;
    if (part === null) return;
    this.model.toggle(part);
    this.draw();
    const shown = this.model.folded.has(part) ? `p${part}` : id;
    if (this.cy.getElementById(shown).nonempty()) this.select(shown);
  }

  show(number) {  // a node, whatever is folded
    this.model.reveal(number);
    this.draw();
    this.focus(`n${number}`);
  }

  focus(id) {
    this.select(id);
    this.cy.animate({center: {eles: this.cy.getElementById(id)}, zoom: Math.max(0.9, this.cy.zoom())},
                    {duration: window.matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 150});
  }

  find(text) {
    const wanted = text.toLowerCase();
    const hits = [];
    this.model.nodes.forEach((node, number) => {
      if (wanted && [node.label, ...node.facts].join("\n").toLowerCase().includes(wanted)) hits.push(number);
    });
    this.cy.nodes().removeClass("found");
    for (const number of hits) this.cy.getElementById(this.model.shownAs(number)).addClass("found");
    return hits;
  }

  key(event) {
    const node = this.selected === null ? this.cy.nodes(":childless").first()
                                        : this.cy.getElementById(this.selected);
    const go = {ArrowUp: () => node.incomers("node").first(),
                ArrowDown: () => node.outgoers("node").first(),
                ArrowLeft: () => this.neighbour(node, -1),
                ArrowRight: () => this.neighbour(node, 1)}[event.key];
    if (go) {
      const next = this.selected === null ? node : go();
      if (next && next.nonempty()) this.focus(next.id());
    } else if (event.key === "Enter" && this.selected !== null) this.toggle(this.selected);
    else if (event.key === "+") this.cy.stop().zoom(this.cy.zoom() * 1.25);
    else if (event.key === "-") this.cy.stop().zoom(this.cy.zoom() / 1.25);
    else if (event.key === "f") { this.cy.stop(); this.fit(); }
    else return;
    event.preventDefault();
  }

  neighbour(node, step) {  // the next node of about the same height
    const y = node.position("y");
    const row = this.cy.nodes(":childless").filter((one) => Math.abs(one.position("y") - y) < 20)
      .sort((one, other) => one.position("x") - other.position("x"));
    const at = row.toArray().findIndex((one) => one.id() === node.id());
    return row[at + step];
  }
}

// ---- the page -----------------------------------------------------------------------------------

const models = drawings.map((drawing) => new Model(drawing));
let views = [], current = 0, hits = [], hit = -1;

function details(view, id) {
  const number = Number(id.slice(1)), box = element("details");
  const head = document.createElement("h2"), text = document.createElement("pre");
  if (id[0] === "n") {
    const node = view.model.nodes[number];
    head.textContent = node.label;
    const cost = [];
    if (node.seconds !== null) cost.push(`${(node.seconds * 1e6).toPrecision(3)} µs`);
    if (node.bytes !== null) cost.push(`${node.bytes} bytes`);
    text.textContent = [node.kind, ...node.facts, ...cost].join("\n");
  } else {
    const part = view.model.parts[number];
    head.textContent = part.label;
    text.textContent = `${part.kind}\n${view.model.inside[number]} nodes\nEnter folds and unfolds it.`;
  }
  box.replaceChildren(head, text);
}

function legend() {
  const rows = models[current].legend(element("colours").value).map(([colour, text]) => {
    const row = document.createElement("div"), patch = document.createElement("i");
    patch.style.background = colour;
    row.append(patch, text);
    return row;
  });
  element("legend").replaceChildren(...rows);
}

function asText() {  // made when it is opened: it may be long
  const list = element("as-text").querySelector("ol");
  list.replaceChildren(...models[current].nodes.map((node, number) => {
    const item = document.createElement("li"), button = document.createElement("button");
    button.textContent = node.label;
    button.addEventListener("click", () => views[0].show(number));
    const read = models[current].edges.filter(([, target]) => target === number && models[current].nodes.length <= 2000)
      .map(([source]) => models[current].nodes[source].label);
    item.append(button, read.length ? ` of ${read.join(", ")}` : "");
    return item;
  }));
}

function show() {
  for (const view of views) view.remove();
  const isBeside = element("beside").getAttribute("aria-pressed") === "true";
  const shown = isBeside ? [current, (current + 1) % models.length] : [current];
  views = shown.map((number) => new View(models[number], details));
  for (const view of views) view.fit();  // the first was wider before the second was there
  [...element("tabs").children].forEach((tab, number) =>
    tab.setAttribute("aria-selected", String(number === current)));
  element("as-text").open = false;
  legend();
  search();
}

function search() {
  hits = views[0].find(element("search").value);
  hit = -1;
  for (const view of views.slice(1)) view.find(element("search").value);
  element("matches").textContent = element("search").value ? `${hits.length} found` : "";
}

models.forEach((model, number) => {
  const tab = document.createElement("button");
  tab.textContent = model.title;
  tab.setAttribute("role", "tab");
  tab.addEventListener("click", () => { current = number; show(); });
  element("tabs").append(tab);
});
element("tabs").hidden = element("beside").hidden = models.length < 2;
element("beside").addEventListener("click", (event) => {
  const button = event.currentTarget;
  button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
  show();
});
element("fold").addEventListener("click", () => views.forEach((view) => { view.model.fold(); view.draw(); }));
element("unfold").addEventListener("click", () => views.forEach((view) => { view.model.unfold(); view.draw(); }));
element("fit").addEventListener("click", () => views.forEach((view) => view.fit()));
element("colours").addEventListener("change", () => { views.forEach((view) => view.draw()); legend(); });
element("as-text").addEventListener("toggle", () => { if (element("as-text").open) asText(); });
element("search").addEventListener("input", search);
element("search").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || hits.length === 0) return;
  hit = (hit + 1) % hits.length;
  views[0].show(hits[hit]);
  element("matches").textContent = `${hit + 1} of ${hits.length}`;
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target.matches("input, select")) return;
  element("search").focus();
  event.preventDefault();
});
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
show();
