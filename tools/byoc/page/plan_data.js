// SPDX-License-Identifier: Apache-2.0
const NODE_W = 150, NODE_H = 38;
const byId = (id) => document.getElementById(id);

// ---- making elements; texts never become markup ----

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== null) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}
const html = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
// What a key may open as well as the mouse.
const opens = (act) => ({ tabindex: 0, onclick: act, onkeydown: (e) => { if (e.key === "Enter") { act(e); e.stopPropagation(); } } });

// ---- questions to the plan ----

const native = plan.targets.length - 1;
const kinds = plan.targets.map((text) => text.split(" ")[0]);
// Targets of one kind are told apart by the first option that differs: "cutlass -precision=bf16".
const labels = kinds.map((kind, t) => {
  const words = plan.targets[t].split(" "), same = plan.targets.filter((_, other) => kinds[other] === kind).map((text) => text.split(" "));
  const at = words.findIndex((word, i) => same.some((other) => other[i] !== word));
  return at > 0 ? `${kind} ${words[at]}` : kind;
});
const colours = kinds.map((_, t) => (t === native ? "var(--native)" : `var(--t${t % 8})`));

function costText(cost, source, target) {
  const by = source === "stated" ? ` by ${labels[target]}` : "";
  const tail = source && source !== "none" && source !== "bound" ? ` ${source}${by}` : "", head = source === "bound" ? "≥ " : "";
  if (cost === undefined) return "–";
  if (cost === null) return "unusable";
  if (cost < 1e3) return `${head}${cost.toFixed(0)} ns${tail}`;
  if (cost < 1e6) return `${head}${(cost / 1e3).toFixed(cost < 1e5 ? 2 : 1)} µs${tail}`;
  return `${head}${(cost / 1e6).toFixed(3)} ms${tail}`;
}

function nodesText(nodes) {
  const parts = [];
  for (let i = 0; i < nodes.length;) {
    let end = i + 1;
    while (end < nodes.length && nodes[end] === nodes[end - 1] + 1) ++end;
    parts.push(end - i > 1 ? `${nodes[i]}–${nodes[end - 1]}` : `${nodes[i]}`);
    i = end;
  }
  return parts.join(", ");
}

const shortRule = (rule) => rule.replace(/^[^.]*\./, "");

function frameText(group) {
  return [labels[group.target], shortRule(group.rule), group.cost === undefined ? "" : costText(group.cost)].filter((t) => t).join(" · ");
}

// Groups: what is compiled together. Nodes that the native target fuses as it sees fit are alone.
function groupsOf(block) {
  const groups = [], home = new Array(block.nodes.length).fill(-1);
  const add = (row, kind, index) => {
    if (row.nodes.some((n) => home[n] !== -1)) return;
    for (const n of row.nodes) home[n] = groups.length;
    groups.push({ kind, index, target: row.target, rule: row.rule || "", nodes: row.nodes, cost: row.cost_ns, source: row.source, moved: row.moved_bytes, energy: row.energy_nj, error: row.error, types: row.types, precision: row.precision, lapse: row.lapse });
  };
  block.regions.forEach((region, r) => { if (!region.given_back) add(region, "region", r); });
  block.candidates.forEach((candidate, c) => { if (candidate.chosen && candidate.target === native) add(candidate, candidate.nodes.length > 1 ? "fused" : "alone", c); });
  block.nodes.forEach((_, n) => {
    if (home[n] !== -1) return;
    home[n] = groups.length;
    groups.push({ kind: "alone", target: native, rule: "", nodes: [n] });
  });
  return { groups, home };
}

