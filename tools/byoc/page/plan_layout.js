// SPDX-License-Identifier: Apache-2.0
// ---- layered layout ----
// Items in layers by longest path, long links through slots of their own, few crossings by barycentres, and positions
// that keep links straight. A link's ends are offsets from the middle of its items. Links bend only between layers.

function topological(count, links) {
  const readers = Array.from({ length: count }, () => []), waiting = new Array(count).fill(0);
  for (const link of links) { readers[link.from].push(link.to); ++waiting[link.to]; }
  const rank = new Array(count).fill(-1), ready = [];
  waiting.forEach((w, i) => { if (w === 0) ready.push(i); });
  const order = [];
  for (let next = 0; order.length < count;) {
    // An edited plan may have a circle: then the first one that waits goes on.
    const i = next < ready.length ? ready[next++] : rank.indexOf(-1);
    if (rank[i] !== -1) continue;
    rank[i] = order.length;
    order.push(i);
    for (const to of readers[i]) if (--waiting[to] === 0) ready.push(to);
  }
  return { order, rank };
}

function assignLayers(items, links) {
  const { order, rank } = topological(items.length, links);
  const layer = new Array(items.length).fill(0), below = items.map(() => []), has = new Array(items.length).fill(false);
  for (const link of links) {
    if (rank[link.from] >= rank[link.to]) continue;
    below[link.from].push(link.to);
    has[link.to] = true;
  }
  for (const i of order) for (const to of below[i]) layer[to] = Math.max(layer[to], layer[i] + 1);
  for (const i of order.reverse()) {
    if (!has[i] && below[i].length && items[i].pin !== "top") layer[i] = Math.min(...below[i].map((to) => layer[to])) - 1;
  }
  const last = layer.reduce((most, l, i) => (items[i].pin === "bottom" ? most : Math.max(most, l)), 0);
  items.forEach((item, i) => { if (item.pin === "bottom") layer[i] = last + 1; });
  return layer;
}

// Vertices: the items, then the slots. One chain of slots serves all links of one end.
function makeVertices(items, links, layer) {
  const vertices = items.map((item, i) => ({ w: item.w, h: item.h, layer: layer[i], slot: false, up: [], down: [] }));
  const chains = new Map(), joined = new Set();
  const join = (a, aOffset, b, bOffset) => {
    const key = `${a}|${aOffset}|${b}|${bOffset}`;
    if (joined.has(key)) return;
    joined.add(key);
    const weight = vertices[a].slot && vertices[b].slot ? 8 : vertices[a].slot || vertices[b].slot ? 2 : 1;
    vertices[a].down.push({ to: b, mine: aOffset, its: bOffset, weight });
    vertices[b].up.push({ to: a, mine: bOffset, its: aOffset, weight });
  };
  const routes = links.map((link) => {
    const route = [link.from];
    if (layer[link.from] >= layer[link.to]) return [link.from, link.to];
    const key = `${link.from}|${link.out}`;
    if (!chains.has(key)) chains.set(key, []);
    const chain = chains.get(key);
    for (let l = layer[link.from] + 1; l < layer[link.to]; ++l) {
      const k = l - layer[link.from] - 1;
      if (chain[k] === undefined) {
        chain[k] = vertices.length;
        vertices.push({ w: 4, h: 0, layer: l, slot: true, up: [], down: [] });
        join(route[route.length - 1], route.length === 1 ? link.out : 0, chain[k], 0);
      }
      route.push(chain[k]);
    }
    join(route[route.length - 1], route.length === 1 ? link.out : 0, link.to, link.in);
    route.push(link.to);
    return route;
  });
  return { vertices, routes };
}

function countCrossings(layers, vertices, place) {
  let crossings = 0;
  for (const row of layers) {
    const ends = [];
    for (const v of row) {
      const from = vertices[v].down.map((d) => [place[v] + d.mine / (vertices[v].w + 1), place[d.to] + d.its / (vertices[d.to].w + 1)]);
      ends.push(...from);
    }
    ends.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    const sorted = [];
    for (const [, low] of ends) {
      let left = 0, right = sorted.length;
      while (left < right) {
        const middle = (left + right) >> 1;
        if (sorted[middle] <= low) left = middle + 1; else right = middle;
      }
      crossings += sorted.length - left;
      sorted.splice(left, 0, low);
    }
  }
  return crossings;
}

function orderLayers(vertices) {
  const layers = [];
  vertices.forEach((vertex, v) => { (layers[vertex.layer] ||= []).push(v); });
  for (let l = 0; l < layers.length; ++l) layers[l] ||= [];
  const place = new Array(vertices.length).fill(0);
  const number = (row) => row.forEach((v, i) => { place[v] = i; });
  layers.forEach(number);
  const sweep = (row, side) => {
    const key = new Map(row.map((v) => {
      const ends = vertices[v][side];
      if (!ends.length) return [v, place[v]];
      let sum = 0, total = 0;
      for (const end of ends) {
        sum += end.weight * (place[end.to] + end.its / (vertices[end.to].w + 1));
        total += end.weight;
      }
      return [v, sum / total];
    }));
    row.sort((a, b) => key.get(a) - key.get(b) || place[a] - place[b]);
    number(row);
  };
  let best = layers.map((row) => row.slice()), least = Infinity;
  for (let round = 0; round < 16 && least > 0; ++round) {
    if (round % 2 === 0) for (let l = 1; l < layers.length; ++l) sweep(layers[l], "up");
    else for (let l = layers.length - 2; l >= 0; --l) sweep(layers[l], "down");
    const crossings = countCrossings(layers, vertices, place);
    if (crossings < least) { least = crossings; best = layers.map((row) => row.slice()); }
  }
  return best;
}

// The positions nearest to what is wanted (least weighted squares) that keep order and distance: pool adjacent
// violators.
function settle(row, wanted, weights, vertices, gap, x) {
  const shift = [], pools = [];
  row.forEach((v, i) => {
    const before = i ? vertices[row[i - 1]] : null;
    shift[i] = i ? shift[i - 1] + (before.w + vertices[v].w) / 2 + (before.slot && vertices[v].slot ? 9 : gap) : 0;
    pools.push({ at: wanted[i] - shift[i], weight: weights[i], count: 1 });
    while (pools.length > 1 && pools[pools.length - 2].at > pools[pools.length - 1].at) {
      const right = pools.pop(), left = pools[pools.length - 1], weight = left.weight + right.weight;
      left.at = (left.at * left.weight + right.at * right.weight) / weight;
      left.weight = weight;
      left.count += right.count;
    }
  });
  let i = 0;
  for (const pool of pools) for (let k = 0; k < pool.count; ++k, ++i) x[row[i]] = pool.at + shift[i];
}

function positions(layers, vertices, gap) {
  const x = new Array(vertices.length).fill(0);
  for (const row of layers) settle(row, row.map(() => 0), row.map(() => 1), vertices, gap, x);
  const pass = (row, sides) => {
    const wanted = [], weights = [];
    for (const v of row) {
      let sum = 0, total = 0;
      for (const side of sides) for (const end of vertices[v][side]) {
        sum += end.weight * (x[end.to] + end.its - end.mine);
        total += end.weight;
      }
      wanted.push(total ? sum / total : x[v]);
      weights.push(total || 0.01);
    }
    settle(row, wanted, weights, vertices, gap, x);
  };
  for (let round = 0; round < 24; ++round) {
    if (round % 3 === 2) for (const row of layers) pass(row, ["up", "down"]);
    else if (round % 3 === 0) for (const row of layers) pass(row, ["up"]);
    else for (let l = layers.length - 1; l >= 0; --l) pass(layers[l], ["down"]);
  }
  for (let round = 0; round < 3; ++round) for (const row of layers) pass(row, ["up", "down"]);
  for (const row of layers) pass(row, ["up"]);
  return x;
}

function layered(items, links, gapX, gapY) {
  const layer = assignLayers(items, links);
  const { vertices, routes } = makeVertices(items, links, layer);
  const layers = orderLayers(vertices);
  const x = positions(layers, vertices, gapX);
  const left = vertices.reduce((least, vertex, v) => Math.min(least, x[v] - vertex.w / 2), Infinity);
  vertices.forEach((_, v) => { x[v] -= left; });
  const tops = [], bottoms = [];
  let y = 0;
  layers.forEach((row, l) => {
    tops[l] = y;
    bottoms[l] = y + Math.max(0, ...row.map((v) => vertices[v].h));
    let bends = 0;
    for (const v of row) for (const d of vertices[v].down) if (Math.abs(x[v] + d.mine - x[d.to] - d.its) > 3) ++bends;
    const isPorts = (some) => some !== undefined && some.every((v) => vertices[v].h === 0);
    const isFrame = isPorts(row) || isPorts(layers[l + 1]); // nothing but a frame on one side
    y = bottoms[l] + (bends ? gapY + Math.min(48, 3 * bends) : isFrame ? gapY * 0.3 : gapY);
  });
  const last = layers.length - 1;
  const placed = items.map((item, i) => ({
    x: x[i] - item.w / 2,
    y: (tops[layer[i]] + bottoms[layer[i]] - item.h) / 2,
  }));
  const paths = links.map((link, k) => {
    const route = routes[k];
    let px = x[link.from] + link.out;
    let d = `M${px.toFixed(1)},${(placed[link.from].y + items[link.from].h).toFixed(1)}`;
    d += `V${bottoms[layer[link.from]].toFixed(1)}`;
    let py = bottoms[layer[link.from]];
    for (let i = 1; i < route.length; ++i) {
      const v = route[i], isEnd = i === route.length - 1, l = vertices[v].layer;
      const nx = x[v] + (isEnd ? link.in : 0), ny = tops[l], bend = Math.max(10, (ny - py) / 2);
      d += Math.abs(nx - px) < 0.5
        ? `V${ny.toFixed(1)}`
        : `C${px.toFixed(1)},${(py + bend).toFixed(1)} ${nx.toFixed(1)},${(ny - bend).toFixed(1)} ${nx.toFixed(1)},${ny.toFixed(1)}`;
      d += isEnd ? `V${placed[v].y.toFixed(1)}` : `V${bottoms[l].toFixed(1)}`;
      px = nx;
      py = bottoms[l];
    }
    return d;
  });
  const width = vertices.reduce((most, vertex, v) => Math.max(most, x[v] + vertex.w / 2), 0);
  return { placed, paths, middles: x, width, height: last >= 0 ? bottoms[last] : 0 };
}

// ---- one block: each group laid out by itself, then the groups ----

function layoutGroup(block, group, home, g) {
  const items = [], links = [], at = new Map(), inputs = new Map(), outputs = new Map();
  for (const n of group.nodes) { at.set(n, items.length); items.push({ w: NODE_W, h: NODE_H, node: n }); }
  for (const n of group.nodes) for (const edge of block.nodes[n].edges) {
    if (home[edge.from] === g) {
      links.push({ from: at.get(edge.from), to: at.get(n), out: 0, in: 0, source: edge.from, readers: [n], type: edge.type });
      continue;
    }
    if (!inputs.has(edge.from)) { inputs.set(edge.from, items.length); items.push({ w: 12, h: 0, pin: "top" }); }
    links.push({ from: inputs.get(edge.from), to: at.get(n), out: 0, in: 0, source: edge.from, readers: [n], type: edge.type });
  }
  for (const n of group.leaving) {
    outputs.set(n, items.length);
    links.push({ from: at.get(n), to: items.length, out: 0, in: 0, source: n, readers: [...group.leaving.get(n)] });
    items.push({ w: 12, h: 0, pin: "bottom" });
  }
  return { items, links, inputs, outputs };
}

function layoutBlock(block) {
  const { groups, home } = groupsOf(block);
  for (const group of groups) group.leaving = new Map();
  block.nodes.forEach((node, n) => node.edges.forEach((edge) => {
    if (home[edge.from] === home[n]) return;
    const leaving = groups[home[edge.from]].leaving;
    if (!leaving.has(edge.from)) leaving.set(edge.from, new Set());
    leaving.get(edge.from).add(n);
  }));
  const scene = { block, groups, home, boxes: [], nodes: [], edges: [] };
  const items = groups.map((group, g) => {
    if (group.kind === "alone") return { w: NODE_W, h: NODE_H, port: () => 0 };
    const inner = layoutGroup(block, { ...group, leaving: leavingOf(group) }, home, g);
    const laid = layered(inner.items, inner.links, 18, 22);
    const title = 7 * frameText(group).length + 18;
    const w = Math.max(laid.width + 20, title), indent = (w - laid.width) / 2, top = 22;
    group.inside = { inner, laid, indent, top };
    return {
      w, h: laid.height + top + 10,
      port: (node, isInput) => laid.middles[(isInput ? inner.inputs : inner.outputs).get(node)] + indent - w / 2,
    };
  });
  const links = [];
  groups.forEach((group, g) => {
    for (const [source, readers] of group.leaving) {
      const byGroup = new Map();
      for (const n of readers) { if (!byGroup.has(home[n])) byGroup.set(home[n], []); byGroup.get(home[n]).push(n); }
      for (const [to, nodes] of byGroup) {
        const type = block.nodes[nodes[0]].edges.find((edge) => edge.from === source).type;
        links.push({ from: g, to, out: items[g].port(source, false), in: items[to].port(source, true), source, readers: nodes, type });
      }
    }
  });
  const laid = layered(items, links, 30, 30);
  links.forEach((link, k) => scene.edges.push({ d: laid.paths[k], source: link.source, readers: link.readers, type: link.type }));
  groups.forEach((group, g) => {
    const { x, y } = laid.placed[g];
    if (group.kind === "alone") { scene.nodes[group.nodes[0]] = { x, y }; return; }
    const { inner, laid: inside, indent, top } = group.inside;
    scene.boxes.push({ x, y, w: items[g].w, h: items[g].h, group });
    inner.items.forEach((item, i) => {
      if (item.node !== undefined) scene.nodes[item.node] = { x: x + indent + inside.placed[i].x, y: y + top + inside.placed[i].y };
    });
    inner.links.forEach((link, k) => scene.edges.push({
      d: inside.paths[k], dx: x + indent, dy: y + top, source: link.source, readers: link.readers, type: link.type,
    }));
    // From the frame to where the inner layout begins, and back.
    for (const [source, i] of inner.inputs) {
      scene.edges.push({ d: `M${inside.middles[i]},${-top}V${inside.placed[i].y}`, dx: x + indent, dy: y + top, source, readers: [...group.nodes.filter((n) => block.nodes[n].edges.some((e) => e.from === source))] });
    }
    for (const [source, i] of inner.outputs) {
      scene.edges.push({ d: `M${inside.middles[i]},${inside.height}V${items[g].h - top}`, dx: x + indent, dy: y + top, source, readers: [...group.leaving.get(source)] });
    }
  });
  scene.width = laid.width;
  scene.height = laid.height;
  return scene;
}

// Iterates over the nodes whose results leave, and answers who reads them.
function leavingOf(group) {
  return { [Symbol.iterator]: () => group.leaving.keys(), get: (n) => group.leaving.get(n) };
}

