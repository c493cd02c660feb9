"use strict";
// Sorting and filtering of the list of suppressed cells.
for (const table of document.querySelectorAll("table.intervals")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const key = (row, place) => {
    const cell = row.cells[place];
    const given = cell.dataset.sort;
    return given === undefined ? cell.textContent : given === "" ? NaN : Number(given);
  };
  const compare = (a, b) => {
    if (typeof a === "string") return a.localeCompare(b, "en", { numeric: true });
    if (Number.isNaN(a)) return Number.isNaN(b) ? 0 : 1;
    return Number.isNaN(b) ? -1 : a - b || 0;
  };
  heads.forEach((head, place) => {
    const button = head.querySelector("button");
    if (!button) return;
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].map((row) => [key(row, place), row]);
      rows.sort((a, b) => (down ? -1 : 1) * compare(a[0], b[0]));
      body.append(...rows.map((pair) => pair[1]));
    });
  });
  const box = document.getElementById("filter");
  if (!box) continue; // a page of several lists has no filter
  const shown = document.getElementById("shown");
  const texts = new Map([...body.rows].map((row) => [row, row.textContent.toLowerCase()]));
  box.addEventListener("input", () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const [row, text] of texts) {
      row.hidden = !words.every((word) => text.includes(word));
      count += !row.hidden;
    }
    shown.textContent = `${count} of ${texts.size} shown`;
  });
}

// Folding: a row that others lie below gets a button; what lies below a folded row is hidden.
const folded = new WeakSet();
const depth = (row) => Number(row.dataset.depth);
function arrange(table) {
  let limit = Infinity;
  for (const row of table.rows) {
    if (row.dataset.depth === undefined) continue;
    if (depth(row) <= limit) limit = Infinity;
    row.hidden = depth(row) > limit;
    if (!row.hidden && folded.has(row)) limit = depth(row);
  }
}
function fold(row, closed) {
  const button = row.querySelector("button.fold");
  if (!button) return;
  if (closed) folded.add(row);
  else folded.delete(row);
  button.setAttribute("aria-expanded", String(!closed));
  button.textContent = closed ? "▸" : "▾";
}
for (const table of document.querySelectorAll("table.panel")) {
  const rows = [...table.rows].filter((row) => row.dataset.depth !== undefined);
  rows.forEach((row, place) => {
    const next = rows[place + 1];
    if (!next || depth(next) <= depth(row)) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "fold";
    button.textContent = "▾";
    button.setAttribute("aria-expanded", "true");
    button.setAttribute("aria-label", `rows below ${row.cells[0].textContent}`);
    button.addEventListener("click", () => {
      fold(row, !folded.has(row));
      arrange(table);
    });
    row.cells[0].prepend(button);
  });
}
for (const button of document.querySelectorAll("button[data-fold]")) {
  button.addEventListener("click", () => {
    const closed = button.dataset.fold === "all";
    for (const table of document.querySelectorAll("table.panel")) {
      for (const row of table.rows) fold(row, closed);
      arrange(table);
    }
    for (const panel of document.querySelectorAll("details.part")) panel.open = !closed;
  });
}
// Everything is printed, folded or not.
addEventListener("beforeprint", () => {
  for (const panel of document.querySelectorAll("details")) panel.open = true;
});
