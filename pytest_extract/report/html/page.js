// Filters the list of cases, opens the one that the address names, and moves through the list by keys.
const list = document.getElementById("list");
const tools = document.getElementById("tools");
const cases = [...list.children];
const find = document.getElementById("find");
const arm = document.getElementById("arm");
const worse = tools.querySelector("[name=worse]");
const outcomes = [...tools.querySelectorAll("[name=outcome]")];
const field = document.getElementById("field");
const fold = document.getElementById("fold");
const shown = document.getElementById("shown");
const none = document.getElementById("none");
let texts; // of all cases, lower case: read when first asked for
let row = null; // of the table of fields: only cases in which that field fails

const visible = () => cases.filter((item) => !item.hidden);
const summaryOf = (item) => item.querySelector("summary");

function filter() {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length) texts ??= cases.map((item) => item.textContent.toLowerCase());
  const wanted = new Set(outcomes.filter((box) => box.checked).map((box) => box.value));
  let count = 0;
  cases.forEach((item, index) => {
    const data = item.dataset;
    const fits =
      wanted.has(data.outcome) &&
      (!arm?.value || data.arm === arm.value) &&
      (!worse?.checked || "worse" in data) &&
      (row === null || (data.rows ?? "").split(" ").includes(row)) &&
      words.every((word) => texts[index].includes(word));
    item.hidden = !fits;
    count += fits;
  });
  const all = cases.length.toLocaleString("en");
  shown.value = count === cases.length ? `${all} cases` : `${count.toLocaleString("en")} of ${all} cases`;
  none.hidden = count > 0 || !cases.length;
  name();
}

function name() {
  const some = visible().some((item) => item.firstElementChild.open);
  fold.textContent = some ? "Close all" : "Open all";
}

function only(number, text) {
  row = number;
  field.hidden = number === null;
  field.textContent = `Field ${text} ✕`;
  field.setAttribute("aria-label", `Only cases in which ${text} fails; press to show all`);
  filter();
}

function show() {
  const id = decodeURIComponent(location.hash.slice(1));
  const item = id && document.getElementById(id);
  if (!item || !cases.includes(item)) return;
  if (item.hidden) tools.reset();
  item.firstElementChild.open = true;
  item.scrollIntoView({ block: "start" });
  summaryOf(item).focus({ preventScroll: true });
}

function step(item, by) {
  const there = visible();
  const next = there[there.indexOf(item) + by];
  if (!next) return;
  summaryOf(next).focus();
  next.scrollIntoView({ block: "nearest" });
}

function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.localName !== "summary") return;
  const item = event.target.closest(".case");
  const act = {
    j: () => step(item, 1), ArrowDown: () => step(item, 1),
    k: () => step(item, -1), ArrowUp: () => step(item, -1),
    "/": () => find.focus(),
  }[event.key];
  if (!act || summaryOf(item) !== event.target) return;
  event.preventDefault();
  act();
}

tools.hidden = false;
tools.addEventListener("submit", (event) => event.preventDefault());
tools.addEventListener("input", filter);
tools.addEventListener("reset", () => setTimeout(() => only(null, ""))); // after the inputs have their values back
field.addEventListener("click", () => { only(null, ""); find.focus(); });
fold.addEventListener("click", () => {
  const there = visible();
  const open = !there.some((item) => item.firstElementChild.open);
  for (const item of there) item.firstElementChild.open = open;
  name();
});
for (const link of document.querySelectorAll("[data-field]")) {
  link.addEventListener("click", () => {
    tools.reset();
    setTimeout(() => only(link.dataset.field, link.closest("tr").querySelector("code").textContent));
  });
}
list.addEventListener("keydown", keys);
list.addEventListener("toggle", name, true);
addEventListener("hashchange", show);
name();
show();
