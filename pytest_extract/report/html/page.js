// Draws the page from its data: the sections, the list of cases, the heat map, and one case beside its document. Everything from a document or a model is set
// as text (textContent), never as markup. The data of a case and of a document is read when it is first shown.
const LIST_AT_ONCE = 200;
const HEAT_AT_ONCE = 40;
const PRINTED = 30;

const $ = (id) => document.getElementById(id);
const data = JSON.parse($("data").textContent);
const bodies = [...document.querySelectorAll("script.body")];
const documents = [...document.querySelectorAll("script.document")];
const ROW = { anchor: 0, name: 1, outcome: 2, variant: 3, worse: 4, gist: 5, rate: 6, tags: 7, heat: 8, fields: 9, statuses: 10 };
const rows = data.rows.map((row, index) => {
  const named = { index };
  for (const key in ROW) named[key] = row[ROW[key]];
  return named;
});
const byAnchor = new Map(rows.map((row) => [row.anchor, row]));
const parsed = { body: new Map(), document: new Map() };

function read(kind, list, index) {
  if (!parsed[kind].has(index)) parsed[kind].set(index, JSON.parse(list[index].textContent));
  return parsed[kind].get(index);
}

// elements

const make = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const draw = (tag, attributes, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

function fill(element, attributes = {}, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name === "text") element.textContent = value;
    else if (name === "on") for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(2)) if (child) element.append(child);
  return element;
}

function styled(spans) {
  return spans.map((span) => {
    if (typeof span === "string") return span;
    const tag = span[1] === "mark" ? "mark" : "span";
    return make(tag, { text: span[0], class: tag === "span" ? span[1] : null });
  });
}

// A sentence with code between backquotes.
function prose(text) {
  const parts = text.split("`");
  if (parts.length % 2 === 0) return [text];
  return parts.map((part, index) => (index % 2 ? make("code", { text: part }) : part));
}

// The path of a field, which can go on in the next line after each step and each word of a step.
const path = (name) => make("code", { class: "path" }, name.split(/(?<=[._])/).flatMap((step) => [step, make("wbr")]));

// Offsets in the data count code points, of which an emoji is one; those of a string would count it as two.
const cut = (points, from, to) => points.slice(from, to).join("");

const count = (number) => number.toLocaleString("en");
const countOf = (shown, all) => (shown.length < all ? `${count(shown.length)} of ${count(all)}` : count(all));
const percent = (share) => {
  const tenths = Math.round(share * 1000);
  const nearly = share > 0 && tenths === 0 ? "< 0.1" : share < 1 && tenths === 1000 ? "> 99.9" : "";
  return `${nearly || tenths / 10} %`;
};

// the verdict, and the sections of the page: each part is [kind, content]

const dim = (text) => make("p", { class: "dim", text });
const list = (texts, name) => (texts.length ? make("ul", { class: name }, texts.map((text) => make("li", {}, prose(text)))) : null);
const folded = (title, ...parts) => make("details", {}, make("summary", { text: title }), ...parts);
const toCases = (text, act) => make("a", { href: "#cases", text, on: { click: act } });
const PARTS = {
  text: dim,
  head: (text) => make("h3", { text }),
  pre: (lines) => make("pre", { tabindex: 0, text: lines.join("\n") }),
  list: (texts) => list(texts),
  fold: ({ title, parts }) => folded(title, parts.map(part)),
  shares: sharesPart,
  tiles: (tiles) => make("dl", { class: "tiles" }, tiles.map(([name, value, tone]) => make("div", { class: tone }, make("dt", { text: name }), make("dd", { text: value })))),
  kinds: kindsPart,
  table: tablePart,
  fields: fieldsPart,
  verdict: verdictPart,
  changes: changesPart,
  plot: plotPart,
};

function part([kind, content]) {
  return PARTS[kind](content);
}

function drawPage() {
  const { head, sections, limits } = data;
  $("why").replaceChildren(...prose(head.text));
  $("verdict").append(...[
    list(head.reasons),
    head.steps.length ? make("div", { class: "steps" }, make("h2", { text: "What to do" }), make("ol", {}, head.steps.map((step) => make("li", {}, prose(step))))) : null,
    head.facts.length ? make("dl", { class: "runfacts" }, head.facts.map(([name, value]) => make("div", {}, make("dt", { text: name }),
      make("dd", {}, value.split(" ").flatMap((word) => [make("span", { text: word }), " "]))))) : null,
  ].filter(Boolean));
  const main = document.querySelector("main");
  for (const [id, title, parts] of sections) {
    main.append($(id) ?? make("section", { id, "aria-labelledby": `${id}-title` },
      make("h2", { id: `${id}-title`, class: id === "overview" ? "hidden" : null, text: title }), parts.map(part)));
  }
  if (data.patterns.length < 2 || data.rows.length < 2) $("heat").remove();
  $("nav").append(...[...document.querySelectorAll("main > section")].filter((section) => section.id !== "overview")
    .map((section) => make("a", { href: `#${section.id}`, text: section.querySelector("h2").textContent })));
  $("limits").hidden = !limits.length;
  $("limits").textContent = [...limits, "The results file has everything"].map((limit) => `${limit}.`).join(" ");
}

function sharesPart(shares) {
  let at = 0;
  return draw("svg", { class: "shares", "aria-hidden": "true" }, shares.map(([tone, share]) => {
    at += share;
    return draw("rect", { class: tone, x: `${100 * (at - share)}%`, width: `${100 * share}%`, height: "100%" });
  }));
}

function kindsPart(kinds) {
  const links = kinds.flatMap(([kind, number]) => [", ", toCases(`${number} ${kind}`, () => {
    reset();
    controls.status.value = kind;
    filter();
    if (matches.length) open(matches[0], false);
  })]);
  return make("p", { class: "kinds" }, make("strong", { text: "Kinds of mistakes" }), " ", links.slice(1));
}

// A table of names and figures; `cellOf` makes the content of a cell from its text, row and column.
function tablePart(table, cellOf = (text) => text) {
  const figures = table.heads.map((_, column) => table.rows.every((row) => /^[\d.,%$<>+ -]*( of [\d,]+.*)?$|^too few$/.test(row[column])));
  const tone = (column) => (column && figures[column] ? "num" : null);
  const head = table.heads.map((text, column) => make("th", { scope: "col", class: tone(column), text }));
  const body = table.rows.map(([name, ...cells], row) => make("tr", { class: table.styles[row] }, make("th", { scope: "row" }, table.paths ? path(name) : name),
    cells.map((text, column) => make("td", { class: tone(column + 1) }, cellOf(text, row, column + 1)))));
  return [
    table.title ? make("h3", { text: table.title }) : null,
    make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": table.title || table.heads[0] },
      make("table", {}, make("thead", {}, make("tr", {}, head)), make("tbody", {}, body))),
    ...table.notes.map((note) => dim(`${note}.`)),
  ];
}

function fieldsPart(table) {
  const cases = table.heads.indexOf("cases");
  return tablePart(table, (text, row, column) => {
    if (column === 1 && cases === 2) return [text, " ", draw("svg", { class: "bar", "aria-hidden": "true" }, draw("rect", { class: "bad", width: `${100 * table.shares[row]}%`, height: "100%" }))];
    if (column !== cases) return text;
    return toCases(`${text} case${text === "1" ? "" : "s"}`, () => {
      tools.reset();
      choose({ field: row }, `field ${table.rows[row][0]}`);
      if (matches.length) open(matches[0], false);
    });
  });
}

function verdictPart({ title, answer, tone, reasons, notes }) {
  return make("div", { class: "reasons" }, make("p", {}, `${title}: `, make("strong", { class: tone, text: answer })), list(reasons),
    notes.length ? folded("What the verdict rests on", list(notes)) : null);
}

function changesPart({ title, open: isOpen, groups, left }) {
  return make("details", { class: "changes", open: isOpen }, make("summary", {}, make("h4", { text: title })), groups.map(changedField), left ? dim(left) : null);
}

function changedField({ pattern, count: number, mistakes, table, anchors }) {
  const linked = (text, row, column) => (column === 1 && anchors[row] ? make("a", { href: `#${anchors[row]}`, text }) : text);
  return make("details", { class: "group", open: number === 1 },
    make("summary", {}, path(pattern), " ", make("strong", { text: `${count(number)} time${number === 1 ? "" : "s"}` }), " ", make("span", { class: "dim", text: mistakes })),
    tablePart(table, linked));
}

const sides = (values) => (values.length ? make("dl", {}, values.map(([label, value, tone]) => make("div", {}, make("dt", { text: label }),
  make("dd", { class: `v ${value === null ? "missing" : tone}` }, make("bdi", { text: value ?? "missing" }))))) : null);

// A plot of shares: points [x, share, series, text]; a line joins those of a series.
function plotPart({ title, text, label, logarithmic, points, names }) {
  const lines = names.map((_, series) => points.filter((point) => point[2] === series));
  const scale = logarithmic ? (x) => Math.log(Math.max(x, 1)) : (x) => x;
  const all = points.map((point) => point[0]);
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const across = (x) => (high > low ? 44 + (364 * (scale(x) - scale(low))) / (scale(high) - scale(low)) : 226).toFixed(1);
  const up = (share) => 10 + (1 - share) * 166;
  const figure = draw("svg", { class: "plot", viewBox: "0 0 420 210", role: "img", "aria-label": `${title}: ${text}` },
    [0, 0.25, 0.5, 0.75, 1].flatMap((share) => [draw("line", { class: "grid", x1: 44, x2: 408, y1: up(share), y2: up(share) }),
      draw("text", { x: 38, y: up(share) + 4, "text-anchor": "end", text: percent(share) })]),
    ticks(low, high).map((x) => draw("text", { x: across(x), y: 192, "text-anchor": "middle", text: count(x) })),
    draw("text", { x: 226, y: 207, "text-anchor": "middle", text: label }),
    lines.map((line, series) => (line.length > 1 && !logarithmic ? draw("polyline", { class: `s${series}`, points: line.map(([x, share]) => `${across(x)},${up(share)}`).join(" ") }) : null)),
    points.map(([x, share, series, name]) => draw("circle", { class: `s${series}`, cx: across(x), cy: up(share), r: 3 }, draw("title", { text: name }))));
  const legend = names.length < 2 ? null : make("p", { class: "legend" }, names.flatMap((name, series) => [
    make("span", {}, draw("svg", { class: "key", "aria-hidden": "true" }, draw("circle", { class: `s${series}`, cx: 6, cy: 6, r: 5 })), name), " "]));
  return make("figure", {}, make("figcaption", {}, make("strong", { text: title }), " ", make("span", { class: "dim", text })), figure, legend);
}

// Up to six round numbers between two numbers, or both if there is none; all whole numbers if there are no more.
function ticks(low, high) {
  if (high - low < 6) return Array.from({ length: high - low + 1 }, (_, index) => low + index);
  const round = Array.from({ length: 24 }, (_, index) => [1, 2, 5][index % 3] * 10 ** Math.floor(index / 3)).filter((step) => step >= low && step <= high);
  return !round.length ? [low, high] : round.filter((_, index) => index % Math.ceil(round.length / 6) === 0);
}

function drawFilters({ outcomes, worse, variants, mistakes, tags }) {
  const choice = (name, attributes, options) => make("label", {}, make("span", { text: name }), make("select", attributes, make("option", { value: "", text: "all" }), options));
  const option = ([value, text]) => make("option", { value, text });
  const box = (attributes, ...texts) => make("label", { class: attributes.value ?? attributes.name }, make("input", { type: "checkbox", ...attributes }), texts);
  $("find").parentElement.after(...[
    make("fieldset", {}, make("legend", { text: "Outcome" }),
      outcomes.map(([value, text, icon]) => box({ name: "outcome", value, checked: true }, make("span", { "aria-hidden": "true", text: icon }), text)),
      worse ? box({ name: "worse" }, "only what got worse") : null),
    variants.length > 1 ? choice("Model", { id: "variant" }, variants.map(option)) : null,
    mistakes.length ? choice("Mistake", { id: "status" }, mistakes.map(option)) : null,
    ...tags.map(([name, values]) => choice(name, { class: "tag", "data-tag": name }, values.map((value) => option([value, value])))),
  ].filter(Boolean));
}

drawPage();
drawFilters(data.filters);

// filter and list

const tools = $("tools");
const controls = {
  find: $("find"), variant: $("variant"), status: $("status"), sort: $("sort"), only: $("only"), all: $("all"),
  shown: $("shown"), more: $("more-cases"), none: $("none"), list: $("list"), view: $("case"),
};
const outcomeBoxes = [...tools.querySelectorAll("[name=outcome]")];
const worseBox = tools.querySelector("[name=worse]");
const tagSelects = [...tools.querySelectorAll("select.tag")];
let chosen = null; // by a link: {field}, a row of the table of fields, or {row}, one case
let matches = rows;
let shownCase = null;
let earlier = null; // by anchor: the cases of an earlier page
let texts; // of all cases, lower case: made when words are first searched

const isSpan = (value) => Array.isArray(value) && value.length === 2 && value.every((part) => typeof part === "string");

function stringsOf(value, found) {
  if (typeof value === "string") found.push(value);
  else if (Array.isArray(value) && value.some(isSpan) && value.every((each) => typeof each === "string" || isSpan(each))) {
    found.push(value.map((span) => (typeof span === "string" ? span : span[0])).join("")); // marks divide a word
    found.push(...value.filter(isSpan).map((span) => span[1]));
  }
  else if (value && typeof value === "object") for (const each of Object.values(value)) stringsOf(each, found);
  return found;
}

function searchable(row) {
  const body = JSON.parse(bodies[row.index].textContent);
  const strings = stringsOf(body, [row.name, row.gist, data.variants[row.variant], ...row.tags.flat()]);
  return strings.join("\n").toLowerCase();
}

function filter() {
  const words = controls.find.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length) texts ??= rows.map(searchable);
  const wanted = new Set(outcomeBoxes.filter((box) => box.checked).map((box) => box.value));
  const tags = tagSelects.filter((each) => each.value).map((each) => [each.dataset.tag, each.value]);
  matches = rows.filter((row) =>
    wanted.has(data.outcomes[row.outcome][0]) &&
    (!controls.variant?.value || String(row.variant) === controls.variant.value) &&
    (!controls.status?.value || row.statuses.includes(controls.status.value)) &&
    (!worseBox?.checked || row.worse) &&
    tags.every(([name, value]) => row.tags.some((tag) => tag[0] === name && tag[1] === value)) &&
    (!chosen?.row || chosen.row === row) &&
    (chosen?.field === undefined || row.fields.includes(chosen.field)) &&
    words.every((word) => texts[row.index].includes(word))
  );
  const order = controls.sort.value;
  const names = new Intl.Collator("en", { numeric: true });
  if (order === "name") matches.sort((one, other) => names.compare(one.name, other.name));
  if (order === "earlier") matches.sort((one, other) => Boolean(before(other)) - Boolean(before(one)));
  if (order === "rate") matches.sort((one, other) => (one.rate ?? -1) - (other.rate ?? -1));
  controls.list.replaceChildren(...matches.slice(0, LIST_AT_ONCE).map(listItem));
  describeList();
  drawHeat();
}

function listItem(row) {
  const [value, text, icon] = data.outcomes[row.outcome];
  const was = before(row);
  const link = make("a", { href: `#${row.anchor}`, "aria-current": row === shownCase ? "true" : null },
    make("span", { class: "badge" }, make("span", { text: icon, "aria-hidden": "true" }), make("span", { class: "hidden", text: ` ${text}: ` })),
    make("span", { class: "name" }, make("bdi", { text: row.name })),
    row.rate === null ? null : make("span", { class: "num", text: percent(row.rate) }),
    was ? make("span", { class: `chip ${was.tone}`, text: was.text }) : null,
    data.variants.length > 1 || row.worse ? make("span", { class: "variant" },
      data.variants.length > 1 ? data.variants[row.variant] : null,
      row.worse ? make("span", { class: "chip bad", text: `${row.worse} worse` }) : null) : null,
    row.gist ? make("span", { class: "gist", text: row.gist }) : null,
  );
  const item = make("li", { class: value }, link);
  item.row = row;
  return item;
}

// Another page of the same cases, chosen by the reader: its data is read, nothing of it is shown as markup.
async function compareWith(file) {
  let old;
  try {
    old = JSON.parse(new DOMParser().parseFromString(await file.text(), "text/html").getElementById("data").textContent).rows;
    earlier = new Map(old.map((row) => [row[ROW.anchor], { outcome: row[ROW.outcome], rate: row[ROW.rate] }]));
  } catch {
    earlier = null;
  }
  filter();
  if (!earlier) controls.shown.value = `${file.name} is no page of this kind`;
}

// What a case was on the earlier page, if that was something else.
function before(row) {
  if (!earlier) return null;
  const was = earlier.get(row.anchor);
  if (!was) return { text: "new", tone: "" };
  if (was.outcome !== row.outcome) {
    const [then, now] = [was, row].map((each) => data.outcomes[each.outcome]);
    return { text: `was ${then[1]}`, tone: then[0] === "passed" ? "bad" : now[0] === "passed" ? "good" : "" };
  }
  if (was.rate === row.rate) return null;
  return { text: `was ${was.rate === null ? "without a rate" : percent(was.rate)}`, tone: (was.rate ?? -1) > (row.rate ?? -1) ? "bad" : "good" };
}

function describeList() {
  const some = matches.length === rows.length ? "" : `${count(matches.length)} of `;
  const left = matches.length - controls.list.children.length;
  const view = left ? `, ${count(controls.list.children.length)} in view` : "";
  const changed = earlier ? `, ${count(rows.filter(before).length)} not as on the earlier page` : "";
  controls.shown.value = `${some}${count(rows.length)} case${rows.length === 1 ? "" : "s"}${view}${changed}`;
  controls.none.hidden = matches.length > 0 || !rows.length;
  controls.more.hidden = !left;
  controls.more.textContent = `Show ${count(Math.min(left, LIST_AT_ONCE))} more`;
}

function choose(what, name) {
  chosen = what;
  controls.only.hidden = !what;
  controls.only.textContent = `${name} ✕`;
  controls.only.setAttribute("aria-label", `Only ${name}; press to show all`);
  filter();
}

function reset() {
  tools.reset();
  choose(null, "");
}

// the case

let view = null; // of the case that is shown: the places in its document (`paged`: it has pages), and their fields

const sourceOf = (body) => (body.doc === undefined ? null : read("document", documents, body.doc));
const viewOf = (source) => ({ places: source?.places ?? [], paged: source?.kind === "pdf" || source?.pages.length > 1, marks: [], pinned: [] });

function open(row, focus) {
  shownCase = row;
  for (const link of controls.list.querySelectorAll("[aria-current]")) link.removeAttribute("aria-current");
  const link = [...controls.list.children].find((item) => item.row === row)?.firstElementChild;
  link?.setAttribute("aria-current", "true");
  if (link) revealIn(document.querySelector(".side"), link);
  controls.view.replaceChildren(...caseParts(row));
  controls.view.setAttribute("aria-label", `Case ${row.name}`);
  revealEvidence();
  if (focus) {
    controls.view.scrollIntoView({ block: "start" });
    controls.view.focus({ preventScroll: true });
  }
}

// Opens the document at the first failing field that stands in it.
function revealEvidence() {
  const first = view.marks.find((mark) => mark.kind !== "match");
  const box = first && boxesOf([first.place])[0];
  if (!box) return;
  const pages = controls.view.querySelector(".pages");
  const around = pages.getBoundingClientRect();
  pages.scrollTop += box.getBoundingClientRect().top - around.top - around.height / 3;
}

// Scrolls the frame alone: the page stays where it is.
function revealIn(frame, element) {
  const [inside, around] = [element.getBoundingClientRect(), frame.getBoundingClientRect()];
  if (inside.top < around.top) frame.scrollTop += inside.top - around.top;
  else if (inside.bottom > around.bottom) frame.scrollTop += inside.bottom - around.bottom;
}

function caseParts(row) {
  const body = read("body", bodies, row.index);
  const [value, text, icon] = data.outcomes[row.outcome];
  const source = sourceOf(body);
  view = viewOf(source);
  const head = make("header", { class: `casehead ${value}` },
    make("h3", {}, make("bdi", { text: row.name })),
    make("span", { class: "badge" }, make("span", { text: icon, "aria-hidden": "true" }), ` ${text}`),
    data.variants.length > 1 ? make("span", { class: "chip", text: data.variants[row.variant] }) : null,
    row.worse ? make("span", { class: "chip bad", text: `${row.worse} field${row.worse === 1 ? "" : "s"} worse` }) : null,
    make("a", { class: "anchor", href: `#${row.anchor}`, text: "#", "aria-label": `Link to ${row.name}` }),
  );
  const details = make("div", { class: "details" }, caseDetails(body));
  const variants = body.variants ? tablePart(body.variants) : [];
  const paper = source ? documentPart(source) : null;
  if (paper) return [head, ...variants, make("div", { class: "split" }, paper, details)].filter(Boolean);
  return [head, ...variants, body.nodoc ? dim(body.nodoc) : null, details].filter(Boolean);
}

function caseDetails(body) {
  const parts = [];
  if (body.facts) {
    parts.push(make("p", { class: "facts" }, body.facts.map(([name, value]) =>
      make("span", {}, `${name}: `, make("bdi", {}, prose(value))))));
  }
  if (body.note) parts.push(make("p", { class: "bounds", text: body.note }));
  if (body.bounds?.length) parts.push(list(body.bounds, "bounds"));
  if (body.repeats) parts.push(make("p", { text: body.repeats }));
  for (const attempt of body.attempts ?? []) parts.push(...attemptParts(attempt));
  return parts;
}

function attemptParts(attempt) {
  const parts = [];
  if (attempt.title) parts.push(make("h4", { text: attempt.title }));
  if (attempt.bounds?.length) parts.push(list(attempt.bounds, "bounds"));
  if (attempt.error) parts.push(make("pre", { tabindex: 0, class: "wrapped", text: attempt.error }));
  for (const [name, why] of attempt.gates ?? []) {
    parts.push(make("p", { class: "gate" }, make("strong", { text: `${name}: ` }), prose(why)));
  }
  if (attempt.fields?.length) parts.push(make("ul", { class: "fields", role: "list" }, attempt.fields.map(fieldCard)));
  if (attempt.more) parts.push(dim(attempt.more));
  if (attempt.counts) parts.push(dim(attempt.counts));
  for (const table of attempt.rows ?? []) parts.push(rowTable(table));
  if (attempt.more_rows) parts.push(dim(attempt.more_rows));
  if (attempt.known?.length) {
    const title = `${countOf(attempt.known, attempt.all_known)} known failure${attempt.all_known === 1 ? "" : "s"}, not in the verdict`;
    parts.push(folded(title, make("ul", { class: "fields", role: "list" }, attempt.known.map(fieldCard))));
  }
  if (attempt.matches?.length) parts.push(matchesPart(attempt.matches, attempt.all_matches, !attempt.fields?.length));
  for (const note of attempt.notes ?? []) parts.push(make("p", { class: "note", text: note }));
  if (attempt.output) parts.push(outputPart(attempt.output));
  return parts;
}

function fieldCard(field) {
  const tone = field.s === "judge error" ? "warn" : "bad";
  const places = [...(field.eg ?? []), ...(field.ex ?? [])];
  const item = make("li", { class: "f", tabindex: 0, "data-path": field.p },
    make("div", { class: "fh" },
      path(field.p),
      make("span", { class: `chip ${tone}`, text: field.s }),
      field.w ? make("span", { class: "chip bad", text: field.w }) : null,
      make("span", { class: "metric", text: field.m }),
    ),
    "g" in field ? values(field) : null,
    field.n.map((note) => (note.length === 1 && note[0][1] === "mark" ? make("p", { class: "kind", text: note[0][0] }) : make("p", { class: "note" }, styled(note)))),
    placesPart(field),
  );
  register(item, field.p, field.eg ?? [], "gold");
  register(item, field.p, field.ex ?? [], "extracted");
  wire(item, places);
  return item;
}

function values(field) {
  const shown = [["gold", field.g, "good"]];
  if ("b" in field) shown.push(["before", field.b, ""]);
  shown.push([("b" in field) ? "now" : "extracted", field.x, "bad"]);
  return sides(shown);
}

function placesPart(field) {
  const parts = [];
  for (const [key, name] of [["eg", "gold"], ["ex", "extracted"]]) {
    const found = field[key];
    if (found === undefined) continue;
    if (!found.length) {
      parts.push(make("span", { class: "place none", text: `${name}: not in the document` }));
      continue;
    }
    const total = field[`${key}n`];
    const page = view.paged ? `page ${view.places[found[0]][0]}` : "in the document";
    const text = `${name}: ${page}${total > 1 ? `, ${total} places` : ""}`;
    parts.push(make("button", { type: "button", class: `place ${name}`, text, on: { click: () => goTo(found) } }));
  }
  return parts.length ? make("p", { class: "note places" }, parts) : null;
}

function matchesPart(matched, all, open) {
  const body = make("tbody", {}, matched.map(([name, value, places]) => {
    const row = make("tr", { tabindex: places ? 0 : null, class: "f-match", "data-path": name },
      make("th", { scope: "row" }, path(name)), make("td", { class: "v" }, make("bdi", { text: value })));
    register(row, name, places ?? [], "match");
    wire(row, places ?? []);
    return row;
  }));
  const part = folded(`${countOf(matched, all)} field${all === 1 ? "" : "s"} that match${all === 1 ? "es" : ""}`,
    make("div", { class: "scroll" }, make("table", {}, body)));
  part.open = open;
  return part;
}

function rowTable(table) {
  const head = make("tr", {}, ["gold", "output", ...table.c].map((text) => make("th", { scope: "col", text })));
  const body = table.r.map(([gold, extracted, cells]) => make("tr", {},
    make("th", { scope: "row", text: gold === null ? "none" : `row ${gold}` }),
    make("td", { text: extracted === null ? "missing" : `row ${extracted}` }),
    cells.map((cell) => {
      if (!cell) return make("td", {});
      const [status, one, other] = cell;
      if (status === "match" || status === "skipped") return make("td", { class: "v" }, make("bdi", { text: one ?? other ?? "" }));
      return make("td", { class: "v wrong" },
        make("span", { class: "good" }, make("span", { class: "hidden", text: "gold " }), make("bdi", { text: one ?? "missing" })),
        make("span", { class: "bad" }, make("span", { class: "hidden", text: " extracted " }), make("bdi", { text: other ?? "missing" })));
    })));
  const frame = make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Rows of ${table.p}` },
    make("table", { class: "rows" }, make("thead", {}, head), make("tbody", {}, body)));
  const title = `Rows of ${table.p} as they were matched`;
  return make("details", { open: table.r.length <= 12 }, make("summary", { text: title }), frame,
    table.n ? dim(`${table.n}.`) : null);
}

function outputPart(output) {
  const pre = make("pre", { tabindex: 0, class: "raw" });
  if (output.at === undefined) pre.textContent = output.text;
  else {
    const points = [...output.text];
    pre.append(cut(points, 0, output.at), make("mark", { class: "fault", text: cut(points, output.at, output.at + 1) || "⏎" }), cut(points, output.at + 1));
  }
  return folded("Raw output", pre, output.left ? dim(`… ${output.left}`) : null);
}

// the document, and the places of values in it

function register(element, path, places, kind) {
  for (const place of places) view.marks.push({ place, element, path, kind });
}

function wire(element, places) {
  if (!places.length) return;
  const show = () => highlight(places);
  element.addEventListener("pointerenter", show);
  element.addEventListener("focusin", show);
  element.addEventListener("pointerleave", () => highlight(view.pinned));
  element.addEventListener("click", (event) => {
    if (!event.target.closest("a, button, summary")) goTo(places, false);
  });
}

function documentPart(paper) {
  const pages = make("div", { class: "pages", tabindex: 0, role: "region", "aria-label": `Document ${paper.name}` });
  fillPages(paper, pages);
  const larger = make("button", { type: "button", text: "Larger", "aria-pressed": "false", on: { click: () => {
    larger.setAttribute("aria-pressed", String(pages.classList.toggle("large")));
  } } });
  return make("section", { class: "paper", "aria-label": "Document" },
    make("h4", {}, make("bdi", { text: paper.name }), larger), paper.notes.length ? dim(`${paper.notes.join("; ")}.`) : null, pages);
}

// One mark for each place, also where several fields have their value there: it belongs to the first of the worst kind.
function markOf() {
  const first = new Map();
  for (const mark of [...view.marks].sort((one, other) => rank(one) - rank(other))) {
    if (!first.has(mark.place)) first.set(mark.place, mark);
  }
  return [...first.values()].map((mark) => ({ ...mark, page: view.places[mark.place][0], where: view.places[mark.place] }));
}

function fillPages(paper, pages) {
  const marks = markOf();
  for (const page of paper.pages) {
    const own = marks.filter((mark) => mark.page === page.n);
    const label = paper.pages.length > 1 || page.n > 1 ? make("p", { class: "pagename", text: `Page ${page.n}` }) : null;
    pages.append(make("div", { class: "page" }, label, page.i ? picture(page, own) : page.h ? rendered(page, own) : written(page, own)));
  }
}

const nameOf = (mark) => `${mark.kind === "match" ? "value" : mark.kind} of ${mark.path}`;

function picture(page, marks) {
  const frame = make("div", { class: "picture" }, make("img", { src: page.i, width: page.s?.[0], height: page.s?.[1], alt: `Page ${page.n} of the document`, loading: "lazy", decoding: "async" }));
  for (const mark of marks) {
    for (const [left, top, right, bottom] of mark.where[3]) {
      const box = make("button", { type: "button", class: `mark ${mark.kind}`, tabindex: -1, "aria-label": nameOf(mark), title: nameOf(mark), "data-place": mark.place });
      box.style.left = `${left * 100}%`;
      box.style.top = `${top * 100}%`;
      box.style.width = `${(right - left) * 100}%`;
      box.style.height = `${(bottom - top) * 100}%`;
      box.addEventListener("click", () => goToField(mark.element));
      frame.append(box);
    }
  }
  return frame;
}

// The marks of a text in its order; of marks that overlap, the first.
function apart(marks, length) {
  let at = 0;
  return [...marks].sort((one, other) => one.where[1] - other.where[1] || rank(one) - rank(other)).filter(({ where }) => {
    const fits = where[1] >= at && where[2] <= length;
    if (fits) at = where[2];
    return fits;
  });
}

// Part of a text with the marks in it; a mark may go on in the next part.
function markedText(points, from, to, marks) {
  const parts = [];
  let at = from;
  for (const mark of marks) {
    const start = Math.max(mark.where[1], from), end = Math.min(mark.where[2], to);
    if (start >= end) continue;
    const part = make("mark", { class: `mark ${mark.kind}`, role: "button", tabindex: -1, "aria-label": `${cut(points, mark.where[1], mark.where[2])}: ${nameOf(mark)}`, title: nameOf(mark), "data-place": mark.place, text: cut(points, start, end) });
    part.addEventListener("click", () => goToField(mark.element));
    parts.push(cut(points, at, start), part);
    at = end;
  }
  return [...parts, cut(points, at, to)];
}

function written(page, marks) {
  const points = [...(page.t ?? "")];
  const pre = make("pre", { class: "written" });
  pre.append(...markedText(points, 0, points.length, apart(marks, points.length)));
  return pre;
}

// An HTML document: elements of this list, made one by one, without attributes of the document but the spans of cells.
const ELEMENTS = new Set("address article aside b blockquote br caption code dd div dl dt em figcaption figure footer header hr i li main nav ol p pre s section small strong sub sup table tbody td tfoot th thead tr u ul".split(" "));
const NEUTRAL = new Set("address article aside figcaption figure footer header main nav section".split(" ")); // no landmarks

function rendered(page, marks) {
  const points = [...page.t];
  const own = apart(marks, points.length);
  const build = ([name, columns, rows, ...content]) => {
    const heading = /^h[1-6]$/.test(name);
    const tag = heading || NEUTRAL.has(name) || !ELEMENTS.has(name) ? "div" : name;
    const element = make(tag, { class: heading ? `heading ${name}` : null, colspan: columns > 1 ? Number(columns) : null, rowspan: rows > 1 ? Number(rows) : null });
    for (const part of content) {
      if (typeof part[0] === "number") element.append(...markedText(points, part[0], part[1], own));
      else element.append(build(part));
    }
    return element;
  };
  return make("div", { class: "rendered" }, build(page.h));
}

const rank = (mark) => ["gold", "extracted", "match"].indexOf(mark.kind);
const boxesOf = (places) => [...controls.view.querySelectorAll(".mark[data-place]")].filter((box) => places.includes(Number(box.dataset.place)));

function highlight(places) {
  for (const box of controls.view.querySelectorAll(".mark.on")) box.classList.remove("on");
  for (const box of boxesOf(places)) box.classList.add("on");
}

function goTo(places, focus = true) {
  view.pinned = places; // stays when the pointer leaves the field, which scrolling makes it do
  highlight(places);
  const box = boxesOf(places)[0];
  if (!box) return;
  box.scrollIntoView({ block: "center", inline: "nearest" });
  if (focus) box.focus({ preventScroll: true });
}

function goToField(element) {
  const hiding = element.closest("details:not([open])");
  if (hiding) hiding.open = true;
  element.scrollIntoView({ block: "nearest" });
  element.focus({ preventScroll: true });
  element.classList.add("flash");
  setTimeout(() => element.classList.remove("flash"), 1200);
}

// heat map

let heatShown = HEAT_AT_ONCE;
let heatSort = null; // column, or null: as in the list
const SIGNS = { x: ["≠", "wrong"], o: ["−", "missing"], h: ["+", "invented"], j: ["?", "not decided"], m: ["·", "right"], "!": ["!", "output not usable"], ".": ["", "not compared"] };
const WEIGHT = "!XOHJxohjm.";

const tail = (name) => (name.length > 25 ? `…${name.slice(-24)}` : name);

function drawHeat() {
  const table = $("heat-table");
  if (!table) return;
  const failing = matches.filter((row) => /[^m.]/i.test(row.heat));
  const ranked = heatSort === null ? failing : [...failing].sort((one, other) => WEIGHT.indexOf(one.heat[heatSort]) - WEIGHT.indexOf(other.heat[heatSort]));
  const columns = data.patterns.map((_, index) => index).filter((index) => matches.some((row) => !".!".includes(row.heat[index])));
  const head = make("tr", { role: "row" }, make("th", { scope: "col", role: "columnheader" }, "case"),
    columns.map((index) => [index, data.patterns[index]]).map(([index, name]) => make("th", { scope: "col", role: "columnheader", class: "field", "aria-sort": index === heatSort ? "ascending" : null },
      make("button", { type: "button", title: name, on: { click: () => { heatSort = heatSort === index ? null : index; drawHeat(); } } }, make("span", { text: tail(name) })))));
  const body = ranked.slice(0, heatShown).map((row) => make("tr", { role: "row" },
    make("th", { scope: "row", role: "rowheader" }, make("a", { href: `#${row.anchor}` }, make("bdi", { text: row.name })), data.variants.length > 1 ? make("span", { class: "variant", text: data.variants[row.variant] }) : null),
    columns.map((index) => {
      const letter = row.heat[index];
      const small = letter.toLowerCase();
      const [sign, name] = SIGNS[small];
      const partly = small === letter && "xohj".includes(small);
      const meaning = `${data.patterns[index]}: ${name}${partly ? " in part" : ""}`;
      const kind = small === "!" ? "u" : small === "." ? "" : small;
      const cell = make("td", { role: "gridcell", tabindex: -1, class: `cell ${kind}${partly ? " partly" : ""}`, text: sign, title: `${row.name}, ${meaning}`, "aria-label": meaning });
      cell.row = row;
      cell.field = index;
      return cell;
    })));
  table.replaceChildren(make("thead", {}, head), make("tbody", {}, body));
  table.querySelector("td")?.setAttribute("tabindex", "0");
  const left = ranked.length - body.length;
  const more = $("heat-more");
  more.hidden = left <= 0;
  more.textContent = `Show ${count(Math.min(left, HEAT_AT_ONCE))} more rows${left > HEAT_AT_ONCE ? ` of ${count(left)}` : ""}`;
}

function openAtField(cell) {
  show(cell.row, true);
  const pattern = data.patterns[cell.field];
  const wanted = [...controls.view.querySelectorAll("[data-path]")].find((item) => item.dataset.path.replace(/\[-?\d+\]/g, "[]") === pattern);
  if (wanted) goToField(wanted);
}

function heatKeys(event) {
  const cell = event.target.closest("td");
  if (!cell || event.ctrlKey || event.metaKey || event.altKey) return;
  const move = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
  if (event.key === "Enter" || event.key === " ") openAtField(cell);
  else if (move) {
    const line = cell.parentElement.parentElement.children[cell.parentElement.sectionRowIndex + move[0]];
    const next = line?.children[cell.cellIndex + move[1]];
    if (next?.tagName === "TD") {
      cell.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    }
  } else return;
  event.preventDefault();
}

// navigation

function show(row, focus) {
  history.replaceState(null, "", `#${row.anchor}`);
  open(row, focus);
}

function follow() {
  const row = byAnchor.get(location.hash.slice(1));
  if (!row) return;
  if (!matches.includes(row)) reset();
  if (![...controls.list.children].some((item) => item.row === row)) choose({ row }, `case ${row.name}`);
  open(row, true);
}

function stepCase(by) {
  const at = matches.indexOf(shownCase);
  const next = matches[at + by];
  if (!next) return;
  while (![...controls.list.children].some((item) => item.row === next)) showMore();
  show(next, false);
  [...controls.list.children].find((item) => item.row === next)?.firstElementChild.focus();
}

function stepField(by) {
  const fields = [...controls.view.querySelectorAll(".f")];
  const at = fields.indexOf(document.activeElement.closest(".f"));
  const next = fields[at < 0 ? (by > 0 ? 0 : fields.length - 1) : at + by];
  if (next) goToField(next);
}

function showMore() {
  const from = controls.list.children.length;
  controls.list.append(...matches.slice(from, from + LIST_AT_ONCE).map(listItem));
  describeList();
}

function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
  const inList = controls.list.contains(event.target);
  const act = {
    j: () => stepCase(1),
    k: () => stepCase(-1),
    n: () => stepField(1),
    p: () => stepField(-1),
    d: () => controls.view.querySelector(".pages")?.focus(),
    "/": () => controls.find.focus(),
    Escape: () => [...controls.list.children].find((item) => item.row === shownCase)?.firstElementChild.focus(),
    ...(inList ? { ArrowDown: () => stepCase(1), ArrowUp: () => stepCase(-1) } : {}),
  }[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}

// paper shows the cases themselves, not the tools

function print() {
  const failing = matches.filter((row) => data.outcomes[row.outcome][0] !== "passed");
  const shown = failing.slice(0, PRINTED);
  const kept = view;
  const parts = shown.map((row) => {
    const body = read("body", bodies, row.index);
    view = viewOf(sourceOf(body));
    return make("section", {}, make("h3", { text: `${data.outcomes[row.outcome][2]} ${row.name}` }), caseDetails(body));
  });
  view = kept;
  const left = failing.length - shown.length;
  $("print").replaceChildren(...parts, left ? make("p", { text: `Not printed: ${count(left)} more that did not pass.` }) : "");
}

for (const part of document.querySelectorAll(".scripted")) part.hidden = false;
tools.addEventListener("submit", (event) => event.preventDefault());
tools.addEventListener("reset", () => { earlier = null; }); // which empties the box of the file
tools.addEventListener("input", () => { heatShown = HEAT_AT_ONCE; filter(); });
$("earlier").addEventListener("change", (event) => {
  const [file] = event.target.files;
  if (!file) return;
  controls.sort.value = "earlier";
  compareWith(file);
});
controls.all.addEventListener("click", reset); // no id "reset": it would hide the method of the form
controls.only.addEventListener("click", () => { choose(null, ""); controls.find.focus(); });
controls.more.addEventListener("click", () => {
  const from = controls.list.children.length;
  showMore();
  controls.list.children[from].firstElementChild.focus();
});
controls.list.addEventListener("click", (event) => {
  const item = event.target.closest("li");
  if (!item) return;
  event.preventDefault();
  show(item.row, matchMedia("(max-width: 60rem)").matches);
});
$("heat-table")?.addEventListener("keydown", heatKeys);
$("heat-table")?.addEventListener("click", (event) => {
  const cell = event.target.closest("td");
  if (cell) openAtField(cell);
});
$("heat-more")?.addEventListener("click", () => { heatShown += HEAT_AT_ONCE; drawHeat(); });
$("cases").addEventListener("keydown", keys);
addEventListener("hashchange", follow);
addEventListener("beforeprint", print);
filter();
if (byAnchor.has(location.hash.slice(1))) follow();
else if (rows.length) open(rows[0], false);
