"use strict";
// Places what is shown of a drawing: boxes, the titles of open parts, the ways and labels of links.
//
// A layout is {places, ways}: the centre and size of each box, open part (p) and title (t) by its id,
// and the points that links pass which do not run straight, with the centre of their label.

const LAID_OUT_WELL = 1500;  // boxes and passed ranks that dagre places in a second,
const WITH_PARTS = 400;      // and as many with parts around them
const LABELLED = 60;         // links whose labels get room; of more, those of a chosen node are shown
const IN_A_ROW = 30;         // boxes beside each other, where dagre does not place them
const GAP = 18, BETWEEN_ROWS = 34, TITLE_HEIGHT = 18, MARGIN = 12;
const LINE_HEIGHT = 16, CHARACTER = 7, SMALL_CHARACTER = 5.2;

function sizeOf(box) {
  const lines = box.label.split("\n");
  const longest = Math.max(...lines.map((line) => line.length));
  return {width: Math.max(44, longest * CHARACTER + 18), height: lines.length * LINE_HEIGHT + 14};
}

function titleSize(label) { return {width: label.length * 6.2, height: TITLE_HEIGHT}; }

function labelSize(label) { return {width: label.length * SMALL_CHARACTER + 6, height: 12, labelpos: "c"}; }

function graphOf(options) {
  const g = new dagre.graphlib.Graph(options);
  g.setGraph({ranksep: BETWEEN_ROWS, nodesep: GAP, edgesep: 6, marginx: MARGIN, marginy: MARGIN});
  g.setDefaultEdgeLabel(() => ({}));
  return g;
}

function laidOut(shown, model) {
  const ids = shown.boxes.map((box) => box.id), rank = ranksOf(ids, shown.links);
  if (isQuick(ids, shown.links, rank, WITH_PARTS)) return compound(shown, model);
  return {places: nested(shown, model), ways: new Map()};
}

function isQuick(ids, links, rank, most = LAID_OUT_WELL) {
  return weightOf(ids, links, rank) <= most && widestOf(rank) <= 2 * IN_A_ROW;
}

// ---- a picture of few boxes: all at once, with room for labels ----------------------------------

function compound(shown, model) {
  const {boxes, open, links} = shown;
  const g = graphOf({compound: true});
  for (const part of open) g.setNode(`p${part}`, {});
  for (const part of open) {
    const outer = model.parts[part].part;
    if (outer !== null) g.setParent(`p${part}`, `p${outer}`);
  }
  for (const box of boxes) {
    g.setNode(box.id, sizeOf(box));
    if (box.part !== null) g.setParent(box.id, `p${box.part}`);
  }
  const first = firstInside(shown, model);
  for (const part of open) leaveRoom(g.node(first.get(part)), model.parts[part].label);
  const hasLabels = links.length <= LABELLED;
  for (const link of links) g.setEdge(link.source, link.target, hasLabels ? labelSize(link.label) : {});
  dagre.layout(g);

  const places = new Map(boxes.map((box) => [box.id, {...g.node(box.id), ...sizeOf(box)}]));
  putTitles(places, g, shown, model, first);
  return {places, ways: new Map(links.map((link) => [link.id, g.edge(link.source, link.target)]))};
}

function firstInside({boxes, links}, model) {  // the uppermost box of each open part
  const rank = ranksOf(boxes.map((box) => box.id), links), first = new Map();
  for (const {id, part} of boxes) {
    for (const one of part === null ? [] : model.around[part]) {
      if (!first.has(one) || rank.get(id) < rank.get(first.get(one))) first.set(one, id);
    }
  }
  return first;
}

function leaveRoom(place, title) {  // for the title of a part, around its uppermost box
  place.width = Math.max(place.width, titleSize(title).width);
  place.height += 2 * TITLE_HEIGHT;
}

function putTitles(places, g, {boxes, open}, model, first) {  // above all that is in a part
  const tops = new Map();
  const raise = (part, top) => tops.set(part, Math.min(top, tops.has(part) ? tops.get(part) : Infinity));
  for (const {id, part} of boxes) if (part !== null) raise(part, places.get(id).y - places.get(id).height / 2);
  for (const part of innermostFirst(open, model)) {
    const size = titleSize(model.parts[part].label), around = g.node(`p${part}`), outer = model.parts[part].part;
    const top = tops.get(part) - TITLE_HEIGHT;
    const x = around.width > size.width ? around.x : places.get(first.get(part)).x;
    places.set(`t${part}`, {x, y: top + TITLE_HEIGHT / 2 - 2, ...size});
    places.set(`p${part}`, around);
    if (outer !== null) raise(outer, top - MARGIN);
  }
}

function innermostFirst(open, model) {
  return [...open].sort((one, other) => model.around[other].length - model.around[one].length);
}

function bendsOf(source, target, points) {  // a way relative to the straight line between two centres
  const along = {x: target.x - source.x, y: target.y - source.y};
  const length = Math.hypot(along.x, along.y);
  const bends = points.slice(1, -1);
  if (length === 0 || bends.length === 0) return {};
  const from = bends.map(({x, y}) => ({x: x - source.x, y: y - source.y}));
  const round = (number) => number.toFixed(4);
  return {
    bends: from.map(({x, y}) => round((x * along.x + y * along.y) / length ** 2)).join(" "),
    distances: from.map(({x, y}) => round((y * along.x - x * along.y) / length)).join(" "),
  };
}

// ---- a picture of many boxes: each part on its own, then the parts as boxes ---------------------

function nested({boxes, open, links}, model) {
  const inside = new Map([[null, []], ...open.map((part) => [part, []])]);
  const sizes = new Map(), chains = new Map();
  for (const box of boxes) {
    inside.get(box.part).push(box.id);
    sizes.set(box.id, sizeOf(box));
    chains.set(box.id, [...(box.part === null ? [] : model.around[box.part]).map((one) => `p${one}`), box.id]);
  }
  for (const part of open) inside.get(model.parts[part].part).push(`p${part}`);
  const between = linksByPart(links, chains, inside);

  const ordered = innermostFirst(open, model), found = new Map();
  for (const part of [...ordered, null]) {
    found.set(part, arranged(inside.get(part), between.get(part), sizes));
    if (part === null) continue;
    const {width, height} = found.get(part);
    sizes.set(`p${part}`, {width: Math.max(width, titleSize(model.parts[part].label).width) + 2 * MARGIN,
                           height: height + TITLE_HEIGHT + 3 * MARGIN});
  }
  return absolute(found, ordered.reverse(), sizes);
}

function linksByPart(links, chains, inside) {  // pairs of what lies in one part, for each part
  const found = new Map([...inside.keys()].map((part) => [part, new Map()]));
  for (const link of links) {
    const from = chains.get(link.source), to = chains.get(link.target);
    let level = 0;
    while (from[level] === to[level]) level += 1;
    const part = level === 0 ? null : Number(from[level - 1].slice(1));
    found.get(part).set(`${from[level]} ${to[level]}`, {source: from[level], target: to[level]});
  }
  return new Map([...found].map(([part, pairs]) => [part, [...pairs.values()]]));
}

function absolute(found, outermostFirst, sizes) {
  const places = new Map();
  const put = (part, left, top) => {
    for (const [id, {x, y}] of found.get(part).places) places.set(id, {x: x + left, y: y + top, ...sizes.get(id)});
  };
  put(null, 0, 0);
  for (const part of outermostFirst) {
    const {x, y, width, height} = places.get(`p${part}`), own = found.get(part);
    const top = y - height / 2 + MARGIN;
    places.set(`t${part}`, {x, y: top + TITLE_HEIGHT / 2, width: width - 2 * MARGIN, height: TITLE_HEIGHT});
    put(part, x - own.width / 2, top + TITLE_HEIGHT + MARGIN);
  }
  return places;
}

function arranged(ids, links, sizes) {  // what lies in one part: {places, width, height}
  const rank = ranksOf(ids, links);
  if (!isQuick(ids, links, rank)) return inRows(ids, rank, sizes);
  const g = graphOf({});
  for (const id of ids) g.setNode(id, {...sizes.get(id)});
  for (const link of links) g.setEdge(link.source, link.target);
  dagre.layout(g);
  return {places: new Map(ids.map((id) => [id, g.node(id)])), width: g.graph().width, height: g.graph().height};
}

function inRows(ids, rank, sizes) {  // linear in the boxes
  const rows = new Map(), places = new Map();
  for (const id of ids) {
    if (!rows.has(rank.get(id))) rows.set(rank.get(id), []);
    rows.get(rank.get(id)).push(id);
  }
  let top = 0, width = 0;
  for (const row of [...rows.keys()].sort((one, other) => one - other).map((one) => rows.get(one))) {
    for (let at = 0; at < row.length; at += IN_A_ROW) {
      const some = row.slice(at, at + IN_A_ROW);
      const height = Math.max(...some.map((id) => sizes.get(id).height));
      let left = 0;
      for (const id of some) {
        places.set(id, {x: left + sizes.get(id).width / 2, y: top + height / 2});
        left += sizes.get(id).width + GAP;
      }
      width = Math.max(width, left - GAP);
      top += height + BETWEEN_ROWS;
    }
  }
  return {places, width, height: top - BETWEEN_ROWS};
}

// ---- ranks --------------------------------------------------------------------------------------

function ranksOf(ids, links) {  // the longest path to each box; what nothing leads to is near its readers
  const waits = new Map(ids.map((id) => [id, 0])), readers = new Map(ids.map((id) => [id, []]));
  for (const {source, target} of links) {
    waits.set(target, waits.get(target) + 1);
    readers.get(source).push(target);
  }
  const rank = new Map(ids.map((id) => [id, 0]));
  const first = ids.filter((id) => waits.get(id) === 0), ready = [...first];
  while (ready.length) {
    const id = ready.pop();
    for (const next of readers.get(id)) {
      rank.set(next, Math.max(rank.get(next), rank.get(id) + 1));
      waits.set(next, waits.get(next) - 1);
      if (waits.get(next) === 0) ready.push(next);
    }
  }
  for (const id of first) {
    if (readers.get(id).length) rank.set(id, Math.min(...readers.get(id).map((next) => rank.get(next))) - 1);
  }
  return rank;
}

function weightOf(ids, links, rank) {  // dagre places a link in each rank that it passes
  return links.reduce(
    (sum, {source, target}) => sum + Math.max(1, rank.get(target) - rank.get(source)), ids.length);
}

function widestOf(rank) {
  const counts = new Map();
  for (const one of rank.values()) counts.set(one, (counts.get(one) || 0) + 1);
  return Math.max(0, ...counts.values());
}
