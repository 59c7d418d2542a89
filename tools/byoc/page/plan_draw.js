// SPDX-License-Identifier: Apache-2.0
// ---- drawing ----

const canvas = byId("canvas"), root = svg("g", {});
canvas.append(root);
const drawn = []; // all nodes: {block, n, node, group, element, x, y}
const lines = []; // all edges: {element, block, source, readers}
const frames = []; // all region boxes
const index = []; // by block, by node: into drawn
let extent = { w: 1, h: 1 };

function cut(text, size) {
  return text.length > size ? `${text.slice(0, size - 1)}…` : text;
}

function drawNode(scene, b, n, dx, dy) {
  const node = scene.block.nodes[n], group = scene.groups[scene.home[n]], { x, y } = scene.nodes[n];
  const element = svg("g", { class: "node", "data-node": n, "data-block": b, transform: `translate(${x + dx},${y + dy})`, style: `--c:${colours[group.target]}` },
    svg("rect", { class: "box", width: NODE_W, height: NODE_H, rx: 5 }),
    svg("rect", { class: "side", width: 5, height: NODE_H, rx: 2 }),
    svg("text", { class: "op", x: 12, y: 16 }, cut(node.op.replace(/^.*::/, ""), 16 - `${n}`.length)),
    svg("text", { class: "small", x: NODE_W - 7, y: 16, "text-anchor": "end" }, `${n}`),
    svg("text", { class: "small", x: 12, y: 31 }, cut(node.type, 25)));
  const entry = { b, n, node, group, block: scene.block, element, x: x + dx, y: y + dy };
  element.addEventListener("pointerenter", (e) => hover(entry, e));
  element.addEventListener("pointermove", moveTip);
  element.addEventListener("pointerleave", () => hover(null));
  element.addEventListener("click", () => { if (!dragged) select(entry, false); });
  index[b][n] = drawn.length;
  drawn.push(entry);
  return element;
}

function draw() {
  const back = svg("g", {}), middle = svg("g", {}), front = svg("g", {});
  let offset = 0, height = 0;
  plan.blocks.forEach((block, b) => {
    const scene = layoutBlock(block), dy = plan.blocks.length > 1 ? 40 : 0;
    index[b] = [];
    if (dy) front.append(svg("text", { class: "title", x: offset, y: 22 }, block.name));
    for (const box of scene.boxes) {
      const { group } = box;
      const element = svg("g", { class: `region ${group.kind}`, style: `--c:${colours[group.target]}` },
        svg("rect", { x: box.x + offset, y: box.y + dy, width: box.w, height: box.h, rx: 8 }));
      frames.push({ element, group, x: box.x + offset, y: box.y + dy, w: box.w, h: box.h });
      back.append(element);
      front.append(svg("text", { class: "frame-text", style: `--c:${colours[group.target]}`, x: box.x + offset + 9, y: box.y + dy + 15 }, frameText(group)));
    }
    for (const edge of scene.edges) {
      const element = svg("path", { class: "edge", d: edge.d, transform: `translate(${offset + (edge.dx || 0)},${dy + (edge.dy || 0)})` });
      if (edge.type) element.append(svg("title", {}, edge.type));
      lines.push({ element, b, source: edge.source, readers: edge.readers });
      middle.append(element);
    }
    block.nodes.forEach((_, n) => front.append(drawNode(scene, b, n, offset, dy)));
    offset += scene.width + 120;
    height = Math.max(height, scene.height + dy);
  });
  extent = { w: Math.max(1, offset - 120), h: Math.max(1, height) };
  root.append(back, middle, front);
}

// ---- the view: what part of the drawing is seen ----

const view = { x: 0, y: 0, k: 1 };
function show() {
  root.setAttribute("class", view.k < 0.33 ? "far" : "");
  root.setAttribute("transform", `translate(${view.x},${view.y}) scale(${view.k})`);
  drawMap();
}
function zoom(factor, cx = canvas.clientWidth / 2, cy = canvas.clientHeight / 2) {
  const k = Math.min(4, Math.max(0.02, view.k * factor));
  view.x = cx - (cx - view.x) * (k / view.k);
  view.y = cy - (cy - view.y) * (k / view.k);
  view.k = k;
  show();
}
function fit() {
  view.k = Math.min(1.4, (canvas.clientWidth - 40) / extent.w, (canvas.clientHeight - 40) / extent.h);
  view.x = (canvas.clientWidth - extent.w * view.k) / 2;
  view.y = (canvas.clientHeight - extent.h * view.k) / 2;
  show();
}
function centre(x, y) {
  view.x = canvas.clientWidth / 2 - x * view.k;
  view.y = canvas.clientHeight / 2 - y * view.k;
  show();
}
// A tall graph that would be too small to read starts at its top, where most of what is seen is in the middle.
function firstView() {
  fit();
  if (view.k >= 0.55 || !drawn.length) return;
  view.k = 0.8;
  const seen = drawn.filter((entry) => entry.y < canvas.clientHeight / view.k);
  const middle = seen.reduce((sum, entry) => sum + entry.x, 0) / Math.max(seen.length, 1);
  view.x = canvas.clientWidth / 2 - (middle + NODE_W / 2) * view.k;
  view.y = 20 - [...drawn, ...frames].reduce((top, { y }) => Math.min(top, y), Infinity) * view.k;
  show();
}

const map = byId("map");
function mapScale() {
  return Math.min((map.clientWidth - 12) / extent.w, (map.clientHeight - 12) / extent.h, 0.4);
}
function drawMap() {
  const ratio = window.devicePixelRatio || 1, style = getComputedStyle(document.documentElement);
  if (!map.clientWidth) return;
  map.width = map.clientWidth * ratio;
  map.height = map.clientHeight * ratio;
  const pen = map.getContext("2d"), k = mapScale(), colourOf = (target) => style.getPropertyValue(colours[target].slice(4, -1)).trim();
  pen.scale(ratio, ratio);
  pen.translate((map.clientWidth - extent.w * k) / 2, 6);
  for (const frame of frames) {
    pen.fillStyle = `${colourOf(frame.group.target)}70`;
    pen.fillRect(frame.x * k, frame.y * k, Math.max(2, frame.w * k), Math.max(1, frame.h * k));
  }
  for (const entry of drawn) {
    pen.fillStyle = entry.element.classList.contains("match") || entry === selected ? style.getPropertyValue("--mark").trim() : colourOf(entry.group.target);
    pen.fillRect(entry.x * k, entry.y * k, Math.max(2.5, NODE_W * k), Math.max(1.2, NODE_H * k));
  }
  pen.strokeStyle = style.getPropertyValue("--ink").trim();
  pen.strokeRect((-view.x / view.k) * k, (-view.y / view.k) * k, (canvas.clientWidth / view.k) * k, (canvas.clientHeight / view.k) * k);
}
function goByMap(e) {
  if (!(e.buttons & 1)) return;
  const k = mapScale(), box = map.getBoundingClientRect();
  centre((e.clientX - box.left - (map.clientWidth - extent.w * k) / 2) / k, (e.clientY - box.top - 6) / k);
}
map.addEventListener("pointerdown", (e) => { map.setPointerCapture(e.pointerId); goByMap(e); });
map.addEventListener("pointermove", goByMap);

let dragFrom = null, dragged = false;
canvas.addEventListener("pointerdown", (e) => { dragFrom = { x: e.clientX - view.x, y: e.clientY - view.y, sx: e.clientX, sy: e.clientY }; dragged = false; });
window.addEventListener("pointermove", (e) => {
  if (!dragFrom || !(e.buttons & 1)) return;
  if (Math.hypot(e.clientX - dragFrom.sx, e.clientY - dragFrom.sy) > 4) { dragged = true; canvas.classList.add("dragging"); }
  if (!dragged) return;
  view.x = e.clientX - dragFrom.x;
  view.y = e.clientY - dragFrom.y;
  show();
});
window.addEventListener("pointerup", () => { dragFrom = null; canvas.classList.remove("dragging"); });
canvas.addEventListener("wheel", (e) => {
  e.preventDefault();
  const box = canvas.getBoundingClientRect();
  zoom(Math.exp(-e.deltaY * (e.deltaMode === 1 ? 0.05 : 0.0016)), e.clientX - box.left, e.clientY - box.top);
}, { passive: false });

