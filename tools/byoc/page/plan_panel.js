// SPDX-License-Identifier: Apache-2.0
// ---- what is said about a node ----

// The chosen one, those with a cost, those ruled out by a bound, the others.
function candidatesOf(entry) {
  const grade = (row) => (row.chosen ? 0 : row.cost_ns === null ? 4 : row.cost_ns === undefined ? 3 : row.source === "bound" ? 2 : 1);
  return entry.block.candidates.filter((row) => row.nodes.includes(entry.n)).sort((a, b) => grade(a) - grade(b) || (a.cost_ns || 0) - (b.cost_ns || 0));
}
const declinesOf = (entry) => entry.block.declines.filter((row) => row.nodes.includes(entry.n));

// Targets with neither a candidate nor a decline.
function absencesOf(entry) {
  const heard = new Set([...candidatesOf(entry), ...declinesOf(entry)].map((row) => row.target));
  const isGreedy = plan.strategy === "greedy";
  return labels.map((label, t) => {
    if (t === native || t === entry.group.target || heard.has(t)) return null;
    if (isGreedy && entry.group.target < t) return `${label}: was not asked: an earlier target claimed the node`;
    if (!isGreedy && !entry.block.candidates.length) return `${label}: was not asked: the plan was given`;
    return `${label}: none of its rules claims it here`;
  }).filter((text) => text);
}

const errorText = (error) => (error === null ? "unusable" : Number((error || 0).toPrecision(2)).toString());
function placedText(entry) {
  const { group } = entry;
  const parts = [labels[group.target]];
  if (group.kind === "region") parts.push(`region ${group.index}`);
  if (group.rule) parts.push(group.rule);
  if (group.nodes.length > 1) parts.push(`with nodes ${nodesText(group.nodes)}`);
  if (group.cost !== undefined) parts.push(costText(group.cost, group.source, group.target));
  if (group.moved) parts.push(`${group.moved.toFixed(0)} bytes moved`);
  if (group.energy) parts.push(`${Number(group.energy.toPrecision(4))} nJ`);
  if (group.error) parts.push(`error ${errorText(group.error)}`);
  if (group.precision) parts.push(`in ${group.precision}`);
  if (group.types) parts.push(`types ${group.types}`);
  return parts.join(", ") + (group.lapse ? ` (${group.lapse})` : "");
}

const tip = byId("tip");
function moveTip(e) {
  const left = Math.min(e.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
  const top = e.clientY + 18 + tip.offsetHeight > window.innerHeight ? e.clientY - tip.offsetHeight - 10 : e.clientY + 18;
  tip.style.left = `${left}px`;
  tip.style.top = `${Math.max(4, top)}px`;
}
function hover(entry, e) {
  mark(entry || selected);
  tip.style.display = entry ? "block" : "none";
  if (!entry) return;
  const candidates = candidatesOf(entry), declines = declinesOf(entry);
  tip.replaceChildren(
    html("b", {}, `${entry.node.op} `), html("span", { class: "faint" }, `${entry.n}`),
    html("div", { class: "why" }, entry.node.name || "(no name)"),
    html("div", { class: "faint" }, entry.node.type),
    html("div", {}, html("span", { class: "swatch", style: `background:${colours[entry.group.target]}` }), placedText(entry)),
    ...candidates.slice(0, 5).map((row) => html("div", { class: row.chosen ? "chosen" : "" }, `${costText(row.cost_ns, row.source, row.target)}  ${labels[row.target]} ${shortRule(row.rule)}, nodes ${nodesText(row.nodes)}`)),
    candidates.length > 5 ? html("div", { class: "faint" }, `and ${candidates.length - 5} more candidates: click`) : null,
    ...declines.slice(0, 3).map((row) => html("div", { class: "faint" }, `${labels[row.target]} declined: ${cut(row.reason, 140)}`)));
  moveTip(e);
}
// Edges of a node, and its neighbours.
function mark(entry) {
  const near = new Set();
  for (const line of lines) {
    const isNear = entry !== null && line.b === entry.b && (line.source === entry.n || line.readers.includes(entry.n));
    line.element.classList.toggle("near", isNear);
  }
  if (entry) {
    entry.node.edges.forEach((edge) => near.add(edge.from));
    readersOf(entry).forEach((n) => near.add(n));
  }
  for (const other of drawn) other.element.classList.toggle("near", entry !== null && other.b === entry.b && near.has(other.n));
}
function readersOf(entry) {
  const readers = [];
  entry.block.nodes.forEach((node, n) => { if (node.edges.some((edge) => edge.from === entry.n)) readers.push(n); });
  return readers;
}
function cover(b, nodes) {
  for (const entry of drawn) entry.element.classList.toggle("covered", nodes !== null && entry.b === b && nodes.includes(entry.n));
}

let selected = null;
let showsAll = false; // of its candidates
function select(entry, isToSee) {
  showsAll = false;
  if (selected) selected.element.classList.remove("selected");
  selected = entry;
  cover(0, null);
  mark(entry);
  if (entry) entry.element.classList.add("selected");
  if (entry && isToSee) {
    if (view.k < 0.5) view.k = 0.8;
    centre(entry.x + NODE_W / 2, entry.y + NODE_H / 2);
  }
  drawMap();
  drawPanel();
}

// ---- the panel ----

const bar = (share, isThis) => html("div", { class: isThis ? "bar this" : "bar", style: `width:${Math.max(0, Math.min(1, share)) * 100}%` });
const off = new Set(); // targets that are dimmed

function toggleTarget(t) {
  if (off.has(t)) off.delete(t); else off.add(t);
  for (const entry of drawn) entry.element.classList.toggle("off", off.has(entry.group.target));
  for (const frame of frames) frame.element.classList.toggle("off", off.has(frame.group.target));
  drawPanel();
}

// Changes of layout are nodes of the plan, and no operators of the model.
const isLayout = (node) => node.op === "byoc::ToBlocked" || node.op === "byoc::FromBlocked";

function legend() {
  const totals = labels.map(() => ({ nodes: 0, operators: 0, regions: 0, cost: 0 }));
  const counted = new Set();
  for (const entry of drawn) {
    const total = totals[entry.group.target];
    ++total.nodes;
    if (!isLayout(entry.node)) ++total.operators;
    if (counted.has(entry.group)) continue;
    counted.add(entry.group);
    if (entry.group.kind === "region") ++total.regions;
    total.cost += entry.group.cost === undefined ? NaN : entry.group.cost;
  }
  const rows = totals.map((total, t) => html("tr", { class: off.has(t) ? "row off" : "row", title: plan.targets[t], ...opens(() => toggleTarget(t)) },
    html("td", {}, html("span", { class: "swatch", style: `background:${colours[t]}` }), labels[t]),
    html("td", { class: "number" }, `${total.operators}`), html("td", { class: "number" }, total.regions ? `${total.regions}` : ""),
    html("td", { class: "number" }, !total.nodes || Number.isNaN(total.cost) ? "–" : costText(total.cost))));
  return [html("h2", {}, "Targets"), html("table", {}, html("tr", {}, html("th", {}, "target"), html("th", { class: "number" }, "operators"), html("th", { class: "number" }, "regions"), html("th", { class: "number" }, "cost")), ...rows)];
}

const sumBlocks = (key) => plan.blocks.reduce((sum, block) => sum + (block[key] === undefined ? NaN : block[key]), 0);

function rivals() {
  const rows = [{ name: "this plan", sum_ns: sumBlocks("cost_ns"), whole_ns: plan.whole_ns, whole_mib: plan.whole_mib, isThis: true }, ...plan.rivals];
  if (rows.length === 1) return [];
  const isWhole = rows.every((row) => typeof row.whole_ns === "number");
  const value = (row) => (isWhole ? row.whole_ns : typeof row.sum_ns === "number" ? row.sum_ns : NaN);
  const most = Math.max(...rows.map(value).filter((v) => !Number.isNaN(v)));
  return [html("h2", {}, isWhole ? "Measured as a whole" : "Sum of the parts"),
    ...rows.slice().sort((a, b) => (value(a) || Infinity) - (value(b) || Infinity)).flatMap((row) => [
      html("div", { class: row.isThis ? "chosen" : "", style: "display:flex;gap:8px" }, html("span", { style: "flex:1;overflow-wrap:anywhere" }, row.name), html("span", {}, Number.isNaN(value(row)) ? "not known" : costText(value(row))),
        !isWhole && typeof row.whole_ns === "number" ? html("span", { class: "faint" }, `whole ${costText(row.whole_ns)}`) : null,
        typeof row.whole_mib === "number" ? html("span", { class: "faint" }, `${row.whole_mib.toFixed(1)} MiB`) : null),
      Number.isNaN(value(row)) ? html("div", { class: "gap" }) : bar(value(row) / most || 0, row.isThis)])];
}

// The fastest plans for each error, and this one: time against the logarithm of the error.
function tradeOff() {
  const budget = plan.budget;
  if (!budget || !budget.curve || budget.curve.length < 2) return [];
  const W = 300, H = 130, L = 8, B = 18, errors = budget.curve.map((point) => point.error || 0).filter((error) => error > 0);
  const low = Math.log10(Math.min(...errors)) - 0.5, high = Math.log10(Math.max(...errors, budget.allowed)) + 0.1;
  const most = budget.curve[0].cost_ns;
  const x = (error) => L + ((Math.max(low, error > 0 ? Math.log10(error) : low) - low) / (high - low)) * (W - 2 * L);
  const y = (cost) => 4 + (1 - cost / most) * (H - B - 8);
  const dot = (point, isThis) => svg("circle", { cx: x(point.error || 0), cy: y(point.cost_ns), r: isThis ? 5 : 3, fill: isThis ? "var(--mark)" : "var(--faint)" },
    svg("title", {}, document.createTextNode(`error ${errorText(point.error)}: ${costText(point.cost_ns)}`)));
  const line = budget.curve.map((point, i) => `${i ? "L" : "M"}${x(point.error || 0)},${y(point.cost_ns)}`).join("");
  const text = (at, anchor, words) => svg("text", { x: at, y: H - 4, "text-anchor": anchor, fill: "var(--faint)", "font-size": 11 }, document.createTextNode(words));
  return [html("h2", {}, "Time against error"),
    html("div", {}, `${errorText(budget.promised)} promised, ${errorText(budget.measured)} measured on ${budget.samples} ${budget.generated ? "generated " : ""}inputs, ${errorText(budget.allowed)} allowed`),
    svg("svg", { width: W, height: H, viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": "Time against error" },
      svg("path", { d: line, fill: "none", stroke: "var(--faint)" }),
      svg("line", { x1: x(budget.allowed), x2: x(budget.allowed), y1: 0, y2: H - B, stroke: "var(--edge)", "stroke-dasharray": "3 3" }),
      ...budget.curve.map((point) => dot(point, false)), dot({ error: budget.measured, cost_ns: sumBlocks("cost_ns") }, true),
      text(L, "start", "exact"), text(x(budget.allowed), "end", errorText(budget.allowed)))];
}

function dearest() {
  const groups = [...new Set(drawn.map((entry) => entry.group))].filter((group) => typeof group.cost === "number");
  if (!groups.length) return [];
  groups.sort((a, b) => b.cost - a.cost);
  const total = groups.reduce((sum, group) => sum + group.cost, 0);
  return [html("h2", {}, "Dearest"), html("table", {}, ...groups.slice(0, 8).map((group) => {
    const entry = drawn.find((other) => other.group === group);
    return html("tr", { class: "row", ...opens(() => select(entry, true)) },
      html("td", {}, html("span", { class: "swatch", style: `background:${colours[group.target]}` }), `${group.nodes.length > 1 ? `${cut(nodesText(group.nodes), 26)} ${group.rule ? shortRule(group.rule) : entry.node.op}` : `${group.nodes[0]} ${entry.node.op}`}`),
      html("td", { class: "number" }, costText(group.cost)), html("td", { class: "number" }, `${((100 * group.cost) / total).toFixed(1)} %`));
  }))];
}

function details(entry) {
  const link = (n) => html("a", opens(() => select(drawn[index[entry.b][n]], true)), `${n}`);
  const list = (numbers) => numbers.flatMap((n, i) => (i ? [", ", link(n)] : [link(n)]));
  const sources = [...new Set(entry.node.edges.map((edge) => edge.from))], readers = readersOf(entry);
  const candidates = candidatesOf(entry), declines = declinesOf(entry), absences = absencesOf(entry);
  const dear = Math.max(...candidates.map((row) => (row.source === "bound" ? 0 : row.cost_ns || 0)), 1);
  return [
    html("h2", {}, `Node ${entry.n}${plan.blocks.length > 1 ? ` of ${entry.block.name}` : ""}`), html("h3", {}, entry.node.op),
    html("div", { class: "why" }, entry.node.name || "(no name)"), html("div", { class: "faint" }, entry.node.type),
    sources.length ? html("div", {}, "reads ", ...list(sources)) : null, readers.length ? html("div", {}, "read by ", ...list(readers)) : null,
    html("div", {}, html("span", { class: "swatch", style: `background:${colours[entry.group.target]}` }), placedText(entry)),
    candidates.length ? html("h2", {}, `Candidates (${candidates.length})`) : null,
    ...(showsAll ? candidates : candidates.slice(0, 12)).flatMap((row) => [
      html("div", { class: row.chosen ? "chosen" : "", style: "display:flex;gap:8px", onpointerenter: () => cover(entry.b, row.nodes), onpointerleave: () => cover(0, null) },
        html("span", { style: "flex:1;overflow-wrap:anywhere" }, html("span", { class: "swatch", style: `background:${colours[row.target]}` }), `${labels[row.target]} ${shortRule(row.rule)}`, html("span", { class: "faint", title: nodesText(row.nodes) }, ` ${cut(nodesText(row.nodes), 34)}`)),
        html("span", {}, costText(row.cost_ns, row.source, row.target))),
      row.reason ? html("div", { class: "why faint" }, row.reason) : null,
      typeof row.cost_ns === "number" && row.source !== "bound" ? bar(row.cost_ns / dear, row.chosen) : null]),
    candidates.length > 12 && !showsAll ? html("a", opens(() => { showsAll = true; drawPanel(); }), `all ${candidates.length}`) : null,
    declines.length || absences.length ? html("h2", {}, "Declined") : null,
    ...declines.map((row) => html("div", { class: "why" }, html("b", {}, labels[row.target]), ` ${row.rule}${row.nodes.length > 1 ? ` (nodes ${nodesText(row.nodes)})` : ""}: ${row.reason}`)),
    ...absences.map((text) => html("div", { class: "why faint" }, text)),
  ];
}

function keys() {
  const key = (name, text) => html("div", {}, html("kbd", {}, name), ` ${text}`);
  return [html("h2", {}, "Keys"), key("/", "search; Enter goes to the next match"), key("f", "fit"), key("+ −", "zoom"), key("n p", "next and previous node"), key("↑ ↓ ← →", "move; with a node selected, go along edges"), key("Esc", "select nothing")];
}

function drawPanel() {
  byId("panel").replaceChildren(...(selected ? details(selected).filter((child) => child) : []), ...legend(), ...rivals(), ...tradeOff(), ...dearest(), ...keys());
}

// ---- search and keys ----

let matches = [], matchAt = -1;
const search = byId("search");
function find() {
  const text = search.value.trim().toLowerCase();
  matches = text ? drawn.filter((entry) => `${entry.n}` === text || entry.node.name.toLowerCase().includes(text) || entry.node.op.toLowerCase().includes(text)) : [];
  matchAt = -1;
  const found = new Set(matches);
  for (const entry of drawn) entry.element.classList.toggle("match", found.has(entry));
  byId("found").textContent = text ? `${matches.length} found` : "";
  drawMap();
}
function nextMatch(step) {
  if (!matches.length) return;
  matchAt = (matchAt + step + matches.length) % matches.length;
  byId("found").textContent = `${matchAt + 1} of ${matches.length}`;
  select(matches[matchAt], true);
}
search.addEventListener("input", find);
search.addEventListener("keydown", (e) => {
  if (e.key === "Enter") nextMatch(e.shiftKey ? -1 : 1);
  if (e.key === "Escape") { search.value = ""; find(); canvas.focus(); }
  e.stopPropagation();
});
function walk(step) {
  const at = selected ? drawn.indexOf(selected) + step : 0;
  if (drawn[at]) select(drawn[at], true);
}
function follow(key) {
  const beside = (sign) => drawn.filter((entry) => Math.abs(entry.y - selected.y) < NODE_H && (entry.x - selected.x) * sign > 1).sort((a, b) => (a.x - b.x) * sign)[0];
  const along = key === "ArrowUp" ? selected.node.edges.map((edge) => edge.from) : readersOf(selected);
  const next = key === "ArrowLeft" ? beside(-1) : key === "ArrowRight" ? beside(1) : drawn[index[selected.b][along[0]]];
  if (next) select(next, true);
}
const pans = { ArrowUp: [0, 90], ArrowDown: [0, -90], ArrowLeft: [90, 0], ArrowRight: [-90, 0] };
window.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  const acts = { f: fit, "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), n: () => walk(1), p: () => walk(-1), Escape: () => select(null), "/": () => search.focus() };
  if (pans[e.key]) {
    if (selected && !e.shiftKey) follow(e.key);
    else { view.x += pans[e.key][0]; view.y += pans[e.key][1]; show(); }
  } else if (acts[e.key]) acts[e.key]();
  else return;
  e.preventDefault();
});
byId("fit").addEventListener("click", fit);
byId("in").addEventListener("click", () => zoom(1.25));
byId("out").addEventListener("click", () => zoom(0.8));
window.addEventListener("resize", drawMap);

// ---- beginning ----

function headline() {
  byId("name").textContent = `${plan.model || "plan"}`;
  document.title = `${plan.model} – byoc plan`;
  const cost = sumBlocks("cost_ns"), bound = sumBlocks("lower_bound_ns"), parts = [`placed by ${plan.strategy || "hand"}`];
  if (!Number.isNaN(cost)) {
    parts.push(costText(cost));
    if (plan.blocks.every((block) => block.proven)) parts.push("proven least");
    else if (!Number.isNaN(bound)) parts.push(`not proven; at least ${costText(bound)}`);
  }
  byId("cost").textContent = parts.join(" · ");
}
for (const block of plan.blocks) for (const node of block.nodes) { node.name ||= ""; node.edges ||= []; }
headline();
draw();
drawPanel();
firstView();
// "#node=NAME" opens the page at a node, "#whole" with all of it in view.
const wish = decodeURIComponent(location.hash.slice(1));
if (wish === "whole") fit();
else if (wish.startsWith("node=")) { search.value = wish.slice(5); find(); nextMatch(1); }
