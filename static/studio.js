// Every page works without this file: it adds keys, copying, and a switch of the theme without a new page.
"use strict";

const root = document.documentElement;
root.classList.add("has-script");

const go = {
  h: "/studio/",
  i: "/studio/sessions_app/checkpointrequest/",
  r: "/studio/sessions_app/run/",
  s: "/studio/sessions_app/worksession/",
  w: "/studio/workflows_app/workflow/",
  t: "/studio/traces_app/traceevent/",
  k: "/studio/teams_app/agentkey/",
  a: "/studio/teams_app/auditentry/",
};

function isTyping(target) {
  return target.closest("input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable]") !== null;
}

function isDark() {
  if (root.dataset.theme) return root.dataset.theme === "dark";
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

function switchTheme(form) {
  const theme = isDark() ? "light" : "dark";
  root.dataset.theme = theme;
  fetch(form.action, { method: "POST", redirect: "manual", body: new URLSearchParams({ ...Object.fromEntries(new FormData(form)), theme }) });
}

function say(words) {
  const toast = document.createElement("p");
  toast.className = "toast";
  toast.textContent = words;
  document.querySelector(".toasts").append(toast);
  fade(toast);
}

// A toast stays while the pointer rests on it.
function fade(toast) {
  setTimeout(() => (toast.matches(":hover") ? fade(toast) : toast.remove()), 6000);
}

async function copy(button) {
  const named = button.dataset.copyFrom;
  const text = named ? document.getElementById(named).textContent : button.dataset.copy;
  if (navigator.clipboard) await navigator.clipboard.writeText(text);
  else copySelected(text, button);
  say("Copied");
}

// Browsers have a clipboard of their own only where a page comes by TLS.
function copySelected(text, button) {
  const field = document.createElement("textarea");
  field.className = "visually-hidden";
  field.value = text;
  button.after(field);
  field.select();
  document.execCommand("copy");
  field.remove();
  button.focus();
}

// The reason comes first where one is needed and none is written.
function answer(choice) {
  const reason = document.getElementById("reason");
  if ("needsReason" in choice.dataset && !reason.value.trim()) reason.focus();
  else choice.form.requestSubmit();
}

function move(by) {
  const rows = [...document.querySelectorAll("[data-rows] a.name, [data-rows] tbody th a, [data-rows] .points a")];
  if (!rows.length) return;
  const at = rows.indexOf(document.activeElement);
  rows[Math.max(0, Math.min(rows.length - 1, at + by))].focus();
}

function click(selector) {
  document.querySelector(selector)?.click();
}

document.addEventListener("submit", (event) => {
  if ("themeForm" in event.target.dataset) {
    event.preventDefault();
    switchTheme(event.target);
  }
});

document.addEventListener("click", (event) => {
  const open = event.target.closest("[data-open]");
  if (open) {
    event.preventDefault();
    document.getElementById(open.dataset.open).showModal();
  }
  const button = event.target.closest("button[data-copy], button[data-copy-from]");
  if (button) copy(button);
  for (const menu of document.querySelectorAll("details.team[open], details.account[open], details.select-menu[open], details.shapes[open], details.more-menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

let isGoing = false;

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    const form = event.target.closest("form") ?? document.querySelector(".answer form");
    form?.requestSubmit(form.querySelector("[data-submit]:not([hidden])") ?? undefined);
    return;
  }
  if (event.key === "Enter" && event.target.matches(".option input:checked")) {
    event.preventDefault();
    answer(event.target);
    return;
  }
  if (event.key === "Escape") {
    const menu = document.querySelector("details[open].team, details[open].account, details[open].select-menu, details[open].more-menu");
    if (menu) menu.open = false;
    else if (!isTyping(event.target) && !document.querySelector("dialog[open]")) click("[data-close]");
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || document.querySelector("dialog[open]")) return;
  if (isGoing && go[event.key]) location.href = go[event.key];
  isGoing = event.key === "g";
  if (event.key === "/") {
    event.preventDefault();
    document.getElementById("find")?.focus();
  }
  if (event.key === "?") document.getElementById("keys")?.showModal();
  if (event.key === "j") move(1);
  if (event.key === "k") move(-1);
  if (event.key === "n") click("[data-next]");
  if (event.key === "c") click("[data-claim]");
  if (/^[1-9]$/.test(event.key)) {
    const choice = document.querySelectorAll(".option input")[event.key - 1];
    choice?.click();
    choice?.focus();
  }
});

for (const toast of document.querySelectorAll(".toasts .toast")) fade(toast);

// Where the drawer of a node stands below the graph, whoever chose the node is brought to it.
if (matchMedia("(max-width: 1120px)").matches) document.querySelector(".drawer")?.scrollIntoView();

// The server writes absolute times in the zone that this cookie names.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "";
if (/^[\w+\/-]{1,64}$/.test(zone) && !document.cookie.includes(`workrail_zone=${zone}`)) {
  document.cookie = `workrail_zone=${zone}; path=/; max-age=31536000; samesite=lax`;
}

// How many rows of a list are ticked.
document.addEventListener("change", (event) => {
  const form = event.target.closest("[data-bulk]");
  if (!form) return;
  const count = form.querySelectorAll("input[name=rows]:checked").length;
  form.querySelector("[data-selected]").textContent = count ? `${count} selected` : `Select ${form.dataset.noun}`;
});
