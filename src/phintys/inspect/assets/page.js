"use strict";
// Shows the drawings of the page: folding, layout, selection, search, and the text beside them.

const FOLDED_FIRST = 120;    // a drawing with more nodes is folded at first
const FEW = 6;               // folding leaves at least as many boxes
const MANY_LINKS = 400;      // of more, links are straight, and hidden while the picture is moved
const FAR = 0.35;            // below this zoom, open parts show their titles in large letters
const MOST_OF_TEXT = 2000;   // nodes of the text, which a browser shows at once
const OF_KIND = {input: "#d8e4ee", shared: "#e8dcc3", constant: "#e6e6e6", output: "#d7ead3",
                 callback: "#b5313f"};

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
    this.costs = {seconds: this.measure("seconds"), bytes: this.measure("bytes")};
    this.families = [...new Set(this.nodes.map((node) => node.family).filter(Boolean))];
    this.folded = new Set();
    if (this.nodes.length > FOLDED_FIRST) this.fold();
  }

  chain(part) {  // the parts around one, and itself, from the outermost
    const found = [];
    for (let at = part; at !== null; at = this.parts[at].part) found.unshift(at);
    return found;
  }

  fold() {  // as far as a few boxes are left
    this.parts.forEach((_, number) => this.folded.add(number));
    let count = 0;
    for (let shown = this.shown(); shown.size < FEW && shown.size > count; shown = this.shown()) {
      count = shown.size;
      this.unfold();
    }
  }

  unfold() {  // one level of what is shown
    for (const id of this.shown()) if (id[0] === "p") this.folded.delete(Number(id.slice(1)));
  }

  shown() { return new Set(this.nodes.map((_, number) => this.shownAs(number))); }

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

  visible() {  // boxes: nodes and folded parts; the numbers of open parts; links between boxes
    const boxes = new Map(), open = new Set();
    this.nodes.forEach((node, number) => {
      const id = this.shownAs(number);
      if (boxes.has(id)) return;
      const part = id[0] === "p" ? this.parts[Number(id.slice(1))].part : node.part;
      for (const one of part === null ? [] : this.around[part]) open.add(one);
      boxes.set(id, {id, part, label: this.label(id)});
    });
    const links = new Map();
    for (const [source, target, label] of this.edges) {
      const ends = [this.shownAs(source), this.shownAs(target)];
      if (ends[0] === ends[1]) continue;
      const id = ends.join(" ");
      const link = links.get(id);
      if (link) link.label = `${link.count += 1} values`;
      else links.set(id, {id, source: ends[0], target: ends[1], label, count: 1});
    }
    return {boxes: [...boxes.values()], open: [...open], links: [...links.values()]};
  }

  label(id) {
    const number = Number(id.slice(1));
    if (id[0] === "n") return this.nodes[number].label;
    return `${this.parts[number].label}\n${this.inside[number]} nodes`;
  }

  measure(what) {  // the sum of each part, and the most of a node
    const parts = this.parts.map(() => null);
    let most = 0;
    for (const node of this.nodes) {
      if (node[what] === null) continue;
      most = Math.max(most, node[what]);
      for (const part of node.part === null ? [] : this.around[node.part]) parts[part] += node[what];
    }
    return {parts, most};
  }

  colour(id, by) {
    const number = Number(id.slice(1)), isPart = id[0] === "p";
    if (by !== "family") {
      return this.colourOfCost(isPart ? this.costs[by].parts[number] : this.nodes[number][by], this.costs[by].most);
    }
    if (isPart) return isDark() ? "#39434d" : "#dfe4ea";
    return OF_KIND[this.nodes[number].kind] || this.colourOfFamily(this.nodes[number].family);
  }

  colourOfFamily(family) { return PALETTE[this.families.indexOf(family) % PALETTE.length]; }

  colourOfCost(value, most) {
    if (value === null || most === 0) return isDark() ? "#39434d" : "#e3e7eb";
    const share = Math.sqrt(Math.min(1, value / most));
    const mix = (from, to) => Math.round(from + (to - from) * share).toString(16).padStart(2, "0");
    return `#${mix(255, 178)}${mix(244, 24)}${mix(214, 43)}`;
  }

  legend(by) {  // pairs of a colour and what it means
    if (by !== "family") {
      const {most} = this.costs[by];
      if (most === 0) return [[this.colourOfCost(null, most), "not measured: compile with profile=True, and call it"]];
      const text = by === "seconds" ? `${(most * 1e6).toPrecision(3)} µs` : `${most} bytes`;
      return [["#fff4d6", "none"], ["#b2182b", `most: ${text}`]];
    }
    const kinds = new Set(this.nodes.map((node) => node.kind));
    const ops = new Set(this.nodes.filter((node) => !OF_KIND[node.kind]).map((node) => node.family));
    return [
      ...Object.entries(OF_KIND).filter(([kind]) => kinds.has(kind)).map(([kind, colour]) => [colour, kind]),
      ...this.families.filter((family) => ops.has(family)).map((family) => [this.colourOfFamily(family), family]),
    ];
  }
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
                         autoungrabify: true, hideEdgesOnViewport: model.edges.length > MANY_LINKS});
    this.cy.on("tap", "node", (event) => this.select(event.target.data("part") || event.target.id()));
    this.cy.on("dbltap", "node", (event) => this.toggle(event.target.data("part") || event.target.id()));
    this.cy.on("zoom", () => this.nameFarParts());
    canvas.addEventListener("keydown", (event) => this.key(event));
    this.draw();
  }

  remove() {
    this.cy.destroy();
    this.box.remove();
  }

  style() {
    const ink = isDark() ? "#e6eaee" : "#1d2329", line = isDark() ? "#77828d" : "#8a949e";
    const ground = isDark() ? "#15191d" : "#ffffff", accent = isDark() ? "#6cb3f5" : "#0b63b5";
    return [
      {selector: "node", style: {
        shape: "round-rectangle", width: "data(width)", height: "data(height)",
        "background-color": "data(colour)", color: "data(ink)", label: "data(label)",
        "text-valign": "center", "text-wrap": "wrap", "text-max-width": 400, "font-size": 12,
        "min-zoomed-font-size": 4, "border-width": 1, "border-color": line}},
      {selector: "node[?isFolded]", style: {"border-style": "dashed", "border-width": 2}},
      {selector: "node[?isEnd]", style: {shape: "round-tag"}},
      {selector: "node[?part]", style: {
        "background-opacity": 0, "border-width": 0, color: ink, "font-size": 11, "text-wrap": "none",
        "text-background-color": ground, "text-background-opacity": 0.7}},
      {selector: ":parent", style: {
        "background-opacity": 0.05, "background-color": ink, color: ink, label: "", padding: 8}},
      {selector: ".far", style: {
        label: "data(title)", "font-size": "data(letters)", "text-wrap": "ellipsis",
        "text-max-width": "data(room)", "text-background-color": ground, "text-background-opacity": 0.85,
        "z-index": 10, "z-compound-depth": "top"}},
      {selector: "edge", style: {
        width: 1.4, "line-color": line, "target-arrow-color": line, "target-arrow-shape": "triangle",
        "arrow-scale": 0.8, "curve-style": "straight", "font-size": 9, color: ink,
        "text-background-color": ground, "text-background-opacity": 0.85, "min-zoomed-font-size": 7}},
      {selector: "edge[bends]", style: {
        "curve-style": "round-segments", "segment-radii": 14, "edge-distances": "node-position",
        "segment-weights": "data(bends)", "segment-distances": "data(distances)"}},
      {selector: "edge[!hasRoom]", style: {opacity: 0.4}},
      {selector: "edge[?hasRoom], edge.near", style: {label: "data(label)"}},
      {selector: "edge[right]", style: {"text-margin-x": "data(right)", "text-margin-y": "data(down)"}},
      {selector: ".selected", style: {"border-width": 3, "border-color": accent}},
      {selector: ".found", style: {"border-width": 3, "border-color": "#d97706"}},
      {selector: "edge.near", style: {"line-color": accent, "target-arrow-color": accent, width: 2.4, opacity: 1}},
    ];
  }

  draw() {
    const shown = this.model.visible(), layout = laidOut(shown, this.model);
    const hasRoom = shown.links.length <= LABELLED;
    const withInner = new Set(shown.open.map((part) => this.model.parts[part].part));
    this.cy.batch(() => {
      this.cy.elements().remove();
      this.cy.add([
        ...shown.open.flatMap((part) => this.openPart(part, layout.places, withInner)),
        ...shown.boxes.map((box) => this.drawnBox(box, layout.places)),
        ...shown.links.map((link) => this.drawnLink(link, layout, hasRoom)),
      ]);
    });
    if (hasRoom) this.putLabels(layout.ways);
    this.fit();
  }

  openPart(part, places, withInner) {  // what is around its boxes, and a title above these
    const {label, part: outer} = this.model.parts[part], {x, y, width, height} = places.get(`t${part}`);
    const common = {colour: "#888888", ink: "#000000"};
    return [
      {group: "nodes", data: {
        id: `p${part}`, parent: outer === null ? undefined : `p${outer}`, title: label, width: 10, height: 10,
        place: places.get(`p${part}`), around: this.model.around[part].map((one) => `p${one}`),
        isInnermost: !withInner.has(part), letters: 12, room: 100, ...common}},
      {group: "nodes", position: {x, y}, data: {
        id: `t${part}`, part: `p${part}`, parent: `p${part}`, label, width, height, ...common}},
    ];
  }

  drawnBox(box, places) {
    const {x, y, width, height} = places.get(box.id), colour = this.model.colour(box.id, element("colours").value);
    const kind = box.id[0] === "n" ? this.model.nodes[Number(box.id.slice(1))].kind : "part";
    return {group: "nodes", position: {x, y}, data: {
      id: box.id, label: box.label, width, height, colour, ink: textOn(colour), isBox: true,
      isFolded: kind === "part", isEnd: kind === "output" || kind === "input",
      parent: box.part === null ? undefined : `p${box.part}`}};
  }

  drawnLink({id, source, target, label}, {places, ways}, hasRoom) {
    const bends = ways.has(id) ? bendsOf(places.get(source), places.get(target), ways.get(id).points) : {};
    return {group: "edges", data: {id, source, target, label, hasRoom, ...bends}};
  }

  putLabels(ways) {  // where the layout has left room for them
    for (const [id, {x, y}] of ways) {
      const link = this.cy.getElementById(id), middle = link.midpoint();
      link.data({right: x - middle.x, down: y - middle.y});
    }
  }

  nameFarParts() {  // what is too small to be read gets the title of the part around it
    const zoom = this.cy.zoom(), named = new Set(), taken = [];
    this.cy.batch(() => this.cy.nodes(":parent").forEach((part) => {
      const {place, around, isInnermost} = part.data(), high = place.height * zoom;
      const room = Math.max(place.width, 140 / zoom);
      const isFree = !taken.some(([other, width]) => Math.abs(place.x - other.x) < (room + width) / 2
                                                     && Math.abs(place.y - other.y) < 18 / zoom);
      const isNamed = zoom < FAR && isFree && high > 14 && (high < 200 || isInnermost)
                      && !around.some((outer) => named.has(outer));
      part.toggleClass("far", isNamed);
      if (!isNamed) return;
      named.add(part.id());
      taken.push([place, room]);
      part.data({letters: 12 / zoom, room});
    }));
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
    const number = Number(id.slice(1));
    const part = id[0] === "p" ? number : this.model.nodes[number].part;
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
    const node = this.selected === null ? this.cy.nodes("[?isBox]").first()
                                        : this.cy.getElementById(this.selected);
    const go = {ArrowUp: () => node.incomers("node").first(),
                ArrowDown: () => node.outgoers("node").first(),
                ArrowLeft: () => this.neighbour(node, -1),
                ArrowRight: () => this.neighbour(node, 1)}[event.key];
    if (go) {
      const next = this.selected === null ? node : go();
      if (next && next.nonempty()) this.focus(next.id());
    } else if (event.key === "Enter" && this.selected !== null) this.toggle(this.selected);
    else if (event.key === "+") this.cy.stop(true).zoom(this.cy.zoom() * 1.25);
    else if (event.key === "-") this.cy.stop(true).zoom(this.cy.zoom() / 1.25);
    else if (event.key === "f") { this.cy.stop(true); this.fit(); }
    else return;
    event.preventDefault();
  }

  neighbour(node, step) {  // the next node of about the same height
    const y = node.position("y");
    const row = this.cy.nodes("[?isBox]").filter((one) => Math.abs(one.position("y") - y) < 20)
      .sort((one, other) => one.position("x") - other.position("x"));
    const at = row.toArray().findIndex((one) => one.id() === node.id());
    return row[at + step];
  }
}

// ---- the page -----------------------------------------------------------------------------------

const models = data.drawings.map((drawing) => new Model(drawing));
let views = [], current = 0, hits = [], hit = -1;

function details(view, id) {
  const number = Number(id.slice(1));
  if (id[0] === "p") {
    const part = view.model.parts[number];
    showDetails(part.label, [part.kind, `${view.model.inside[number]} nodes`, "Enter folds and unfolds it."]);
    return;
  }
  const {label, kind, facts, seconds, bytes} = view.model.nodes[number];
  const cost = [];
  if (seconds !== null) cost.push(`${(seconds * 1e6).toPrecision(3)} µs`);
  if (bytes !== null) cost.push(`${bytes} bytes`);
  showDetails(label, [kind, ...facts, ...cost]);
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
  const {nodes, edges} = models[current];
  const read = nodes.map(() => []);
  for (const [source, target] of edges) read[target].push(nodes[source].label);
  const items = nodes.slice(0, MOST_OF_TEXT).map((node, number) => {
    const item = document.createElement("li"), button = document.createElement("button");
    button.textContent = node.label;
    button.addEventListener("click", () => views[0].show(number));
    item.append(button, read[number].length ? ` of ${read[number].join(", ")}` : "");
    return item;
  });
  if (nodes.length > MOST_OF_TEXT) {
    const rest = document.createElement("li");
    rest.textContent = `and ${nodes.length - MOST_OF_TEXT} more, which the search finds`;
    items.push(rest);
  }
  element("as-text").querySelector("ol").replaceChildren(...items);
}

function show() {
  for (const view of views) view.remove();
  const isBeside = element("beside").getAttribute("aria-pressed") === "true";
  const shown = isBeside ? [current, (current + 1) % models.length] : [current];
  views = shown.map((number) => new View(models[number], details));
  for (const view of views) view.fit();  // the first was wider before the second was there
  press(element("pictures").children, element("pictures").children[current]);
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
  const button = document.createElement("button");
  button.textContent = model.title;
  button.addEventListener("click", () => { current = number; show(); });
  element("pictures").append(button);
});
element("pictures").hidden = element("beside").hidden = models.length < 2;
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
