// Filters the cases, opens the one that the address names, and moves through the list by keys.
// Only so many cases are in the document at once: to lay out ten thousand takes a browser too long.
const AT_ONCE = 200;
const list = document.getElementById("list");
const tools = document.getElementById("tools");
const find = document.getElementById("find");
const arm = document.getElementById("arm");
const worse = tools.querySelector("[name=worse]");
const outcomes = [...tools.querySelectorAll("[name=outcome]")];
const only = document.getElementById("only");
const fold = document.getElementById("fold");
const shown = document.getElementById("shown");
const none = document.getElementById("none");
const more = document.getElementById("more");
const cases = [...document.querySelectorAll(".case")];
const byId = new Map(cases.map((item) => [item.id, item]));
let texts; // of all cases, lower case: read when first asked for
let chosen = null; // by a link: {row} of the table of fields, or {item}, a single case
let matches = cases;
let renaming = false; // of the button is under way: many cases may open at once

const count = (number) => number.toLocaleString("en");
const summaryOf = (item) => item.querySelector("summary");
const isOpen = (item) => item.firstElementChild.open;

function filter() {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length) texts ??= cases.map((item) => item.textContent.toLowerCase());
  const wanted = new Set(outcomes.filter((box) => box.checked).map((box) => box.value));
  matches = cases.filter((item, index) => {
    const data = item.dataset;
    return (
      wanted.has(data.outcome) &&
      (!arm?.value || data.arm === arm.value) &&
      (!worse?.checked || "worse" in data) &&
      (!chosen?.item || chosen.item === item) &&
      (!chosen?.row || (data.rows ?? "").split(" ").includes(chosen.row)) &&
      words.every((word) => texts[index].includes(word))
    );
  });
  list.replaceChildren(...matches.slice(0, AT_ONCE));
  tell();
}

function tell() {
  const some = matches.length === cases.length ? "" : `${count(matches.length)} of `;
  const left = matches.length - list.children.length;
  shown.value = `${some}${count(cases.length)} case${cases.length === 1 ? "" : "s"}${left ? `, ${count(list.children.length)} in view` : ""}`;
  none.hidden = matches.length > 0 || !cases.length;
  more.hidden = !left;
  more.textContent = `Show ${count(Math.min(left, AT_ONCE))} more`;
  rename();
}

function rename() {
  renaming = false;
  fold.textContent = [...list.children].some(isOpen) ? "Close all" : "Open all";
}

function choose(what, name) {
  chosen = what;
  only.hidden = !what;
  only.textContent = `${name} ✕`;
  only.setAttribute("aria-label", `Only ${name}; press to show all`);
  filter();
}

function reset() {
  tools.reset();
  choose(null, "");
}

function show() {
  const item = byId.get(decodeURIComponent(location.hash.slice(1)));
  if (!item) return;
  if (!item.isConnected) reset();
  if (!item.isConnected) choose({ item }, `case ${item.querySelector("h3").textContent}`);
  item.firstElementChild.open = true;
  item.scrollIntoView({ block: "start" });
  summaryOf(item).focus({ preventScroll: true });
}

function step(item, by) {
  const next = by > 0 ? item.nextElementSibling : item.previousElementSibling;
  if (!next) return;
  summaryOf(next).focus();
  next.scrollIntoView({ block: "nearest" });
}

function keys(event) {
  const item = event.target.closest(".case");
  if (event.ctrlKey || event.metaKey || event.altKey || !item || summaryOf(item) !== event.target) return;
  const act = {
    j: () => step(item, 1),
    ArrowDown: () => step(item, 1),
    k: () => step(item, -1),
    ArrowUp: () => step(item, -1),
    "/": () => find.focus(),
  }[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}

for (const chunk of document.querySelectorAll(".chunk")) chunk.remove();
tools.hidden = false;
tools.addEventListener("submit", (event) => event.preventDefault());
tools.addEventListener("input", filter);
document.getElementById("all").addEventListener("click", reset); // no id "reset": it would hide the method of the form
only.addEventListener("click", () => {
  choose(null, "");
  find.focus();
});
more.addEventListener("click", () => {
  const from = list.children.length;
  list.append(...matches.slice(from, from + AT_ONCE));
  tell();
  summaryOf(list.children[from]).focus();
});
fold.addEventListener("click", () => {
  const open = ![...list.children].some(isOpen);
  for (const item of list.children) item.firstElementChild.open = open;
  rename();
});
for (const link of document.querySelectorAll("[data-field]")) {
  link.addEventListener("click", () => {
    tools.reset();
    choose({ row: link.dataset.field }, `field ${link.closest("tr").querySelector("code").textContent}`);
  });
}
list.addEventListener("keydown", keys);
list.addEventListener("toggle", () => {
  if (!renaming) requestAnimationFrame(rename);
  renaming = true;
}, true);
addEventListener("hashchange", show);
tell();
show();
