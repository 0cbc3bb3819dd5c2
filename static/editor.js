// The editor without this file is a text area with buttons. This colours what is typed, and asks the server what it says of it.
"use strict";

const form = document.querySelector("[data-editor]");
const text = document.getElementById("text");
const marks = document.getElementById("marks");
const WAIT_MS = 400;
const SWAPPED = ["problems", "outline", "simulate"];
let timer = 0;
let asked = 0;
let isChanged = false;

form.classList.add("is-live");

const JSON_PIECE = /("(?:[^"\\]|\\.)*")(\s*:)?|(\b(?:true|false|null)\b|-?\b\d[\d.eE+-]*)/g;
const KEY_LINE = /^(\s*(?:- )?)([A-Za-z_$][\w.$-]*(?:\[\d*[^\]]*\])?)(:)(.*)$/;

function pieces(line, kind) {
  const found = [];
  if (kind === "plain") return [["", line]];
  if (kind === "keys") {
    const parts = KEY_LINE.exec(line);
    return parts ? [["", parts[1]], ["t-k", parts[2]], ["", parts[3]], ["t-s", parts[4]]] : [["", line]];
  }
  let at = 0;
  for (const match of line.matchAll(JSON_PIECE)) {
    found.push(["", line.slice(at, match.index)]);
    if (match[1]) found.push([match[2] ? "t-k" : "t-s", match[1]], ["", match[2] ?? ""]);
    else found.push(["t-n", match[3]]);
    at = match.index + match[0].length;
  }
  found.push(["", line.slice(at)]);
  return found;
}

function row(line, number) {
  const item = document.createElement("li");
  item.id = `L${number}`;
  const no = document.createElement("span");
  no.className = "no";
  no.textContent = number;
  const source = document.createElement("span");
  source.className = "src";
  for (const [kind, words] of pieces(line, text.dataset.kind)) {
    if (!words) continue;
    if (!kind) source.append(words);
    else {
      const piece = document.createElement("span");
      piece.className = kind;
      piece.textContent = words;
      source.append(piece);
    }
  }
  item.append(no, source);
  return item;
}

// Only the lines that are no longer the same are drawn again; the marks of the others stay where they are.
function draw() {
  const list = marks.querySelector("ol");
  const lines = text.value.split("\n");
  const shown = [...list.children];
  const same = (index, from) => shown[from]?.querySelector(".src").textContent === lines[index];
  let head = 0;
  while (head < lines.length && head < shown.length && same(head, head)) head += 1;
  let tail = 0;
  while (tail < lines.length - head && tail < shown.length - head && same(lines.length - 1 - tail, shown.length - 1 - tail)) tail += 1;
  for (const old of shown.slice(head, shown.length - tail)) old.remove();
  const before = list.children[head] ?? null;
  for (let index = head; index < lines.length - tail; index += 1) list.insertBefore(row(lines[index], index + 1), before);
  [...list.children].forEach((item, index) => {
    if (item.id !== `L${index + 1}`) {
      item.id = `L${index + 1}`;
      item.querySelector(".no").textContent = index + 1;
    }
  });
}

async function look(action) {
  const number = (asked += 1);
  const body = new FormData(form);
  body.set("do", action);
  const response = await fetch(form.action, { method: "POST", body: new URLSearchParams(body), headers: { "X-Requested-With": "fetch" } });
  if (!response.ok || number !== asked) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  if (number !== asked) return;
  take(page);
}

function take(page) {
  const active = document.activeElement?.id;
  for (const id of SWAPPED) {
    if (id === "simulate" && document.getElementById(id).contains(document.activeElement)) continue;
    document.getElementById(id).replaceWith(document.adoptNode(page.getElementById(id)));
  }
  document.getElementById("why-not").textContent = page.getElementById("why-not").textContent;
  document.getElementById("saved").textContent = page.getElementById("saved").textContent;
  form.querySelector(".acts").replaceWith(document.adoptNode(page.querySelector(".edit-form .acts")));
  marks.querySelector("ol").replaceWith(document.adoptNode(page.querySelector("#marks ol")));
  draw();
  if (active && document.activeElement?.id !== active) document.getElementById(active)?.focus();
}

function changed() {
  isChanged = true;
  draw();
  clearTimeout(timer);
  timer = setTimeout(() => look("check"), WAIT_MS);
}

function lineStart(number) {
  return text.value.split("\n").slice(0, number - 1).join("\n").length + (number > 1 ? 1 : 0);
}

function goTo(number) {
  const at = lineStart(number);
  text.focus();
  text.setSelectionRange(at, at);
  document.getElementById(`L${number}`)?.scrollIntoView({ block: "center" });
}

function changeWord(button) {
  const { changeLine, wrong, right } = button.dataset;
  const from = text.value.indexOf(wrong, lineStart(Number(changeLine)));
  if (from < 0) return false;
  text.focus();
  text.setSelectionRange(from, from + wrong.length);
  // Through the browser's own way of typing, so that it can be undone.
  if (!document.execCommand("insertText", false, right)) text.setRangeText(right, from, from + wrong.length, "end");
  changed();
  return true;
}

function indent(event) {
  event.preventDefault();
  if (!document.execCommand("insertText", false, "  ")) text.setRangeText("  ", text.selectionStart, text.selectionEnd, "end");
}

function nextProblem() {
  const here = text.value.slice(0, text.selectionStart).split("\n").length;
  const lines = [...document.querySelectorAll("#problems [data-line]")].map((link) => Number(link.dataset.line)).sort((a, b) => a - b);
  if (lines.length) goTo(lines.find((line) => line > here) ?? lines[0]);
}

let isLeaving = false;

text.addEventListener("input", changed);
text.addEventListener("keydown", (event) => {
  // Esc, then Tab: the keyboard is not caught in the text.
  if (event.key === "Escape") isLeaving = true;
  else if (event.key === "Tab" && !event.shiftKey && !isLeaving) indent(event);
  else if (event.key !== "Tab") isLeaving = false;
});
text.addEventListener("focus", () => { isLeaving = false; });
document.addEventListener("keydown", (event) => {
  if (event.key === "F8") {
    event.preventDefault();
    nextProblem();
  }
  if ((event.ctrlKey || event.metaKey) && event.key === "s") {
    event.preventDefault();
    form.requestSubmit(form.querySelector("[data-save]"));
  }
});
document.addEventListener("click", (event) => {
  const link = event.target.closest("[data-line]");
  if (link && form.contains(link)) {
    event.preventDefault();
    goTo(Number(link.dataset.line));
  }
  const button = event.target.closest("button[data-wrong]");
  if (button && changeWord(button)) event.preventDefault();
  const walk = event.target.closest("button[value=walk]");
  if (walk) {
    event.preventDefault();
    walk.blur();
    look("walk");
  }
});
form.addEventListener("submit", () => { isChanged = false; });
addEventListener("beforeunload", (event) => { if (isChanged) event.preventDefault(); });
draw();
