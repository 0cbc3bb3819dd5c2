// Keeps an open page up to date: the server says that it has moved on, and the parts marked for it are fetched again.
// Nothing moves under a pointer or while one types, and a form that is being filled is never replaced.
"use strict";

const page = document.querySelector("[data-live]");
const POLL_MS = 5000;
let source = null;
let timer = 0;
let tag = "";
let isWaiting = false;

function tell(state, words) {
  for (const sign of document.querySelectorAll("[data-live-state]")) {
    sign.hidden = false;
    sign.className = `live${state}`;
    sign.textContent = words;
  }
}

function isBusy(part) {
  const at = document.activeElement;
  return part.matches(":hover") || (part.contains(at) && at.matches("input, textarea, select"));
}

async function refresh() {
  if (isWaiting) return;
  isWaiting = true;
  try {
    const response = await fetch(location.href, { headers: { "X-Workrail-Live": "1" } });
    if (response.ok) put(new DOMParser().parseFromString(await response.text(), "text/html"));
  } finally {
    isWaiting = false;
  }
}

// Whoever asked for it is told by the browser, also while another tab is in front.
function wantsNotices() {
  return "Notification" in window && Notification.permission === "granted" && localStorage.getItem("workrail_notices") === "yes";
}

function countIn(doc) {
  return Number(doc.querySelector(".nav .count")?.textContent ?? 0);
}

function announce(before, now) {
  if (now <= before || !wantsNotices()) return;
  const notice = new Notification("A question waits for a person", { body: `${now} in the inbox`, tag: "workrail-inbox" });
  notice.onclick = () => {
    window.focus();
    location.href = "/studio/sessions_app/checkpointrequest/";
  };
}

function put(fresh) {
  const counts = fresh.querySelector(".nav");
  announce(countIn(document), countIn(fresh));
  if (counts) document.querySelector(".nav").innerHTML = counts.innerHTML;
  for (const part of document.querySelectorAll("[data-live-part]")) {
    const next = fresh.querySelector(`[data-live-part="${part.dataset.livePart}"]`);
    if (!next || next.innerHTML === part.innerHTML) continue;
    if (isBusy(part)) part.addEventListener("pointerleave", () => swap(part, next), { once: true });
    else swap(part, next);
  }
  const now = document.querySelector("[data-live-version]");
  const then = fresh.querySelector("[data-live-version]");
  if (now && then && now.dataset.liveVersion !== then.dataset.liveVersion) warn(now);
}

function swap(part, next) {
  const keys = [...part.querySelectorAll("[data-key]")];
  if (keys.length && part.dataset.liveMode !== "whole") {
    update(part, next, new Map(keys.map((row) => [row.dataset.key, row])));
    return;
  }
  const href = part.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
  part.innerHTML = next.innerHTML;
  if (href) [...part.querySelectorAll("a")].find((link) => link.getAttribute("href") === href)?.focus();
}

// Rows that changed change in their place; new ones wait until they are asked for.
function update(part, next, known) {
  const fresh = [...next.querySelectorAll("[data-key]")];
  let added = 0;
  for (const row of fresh) {
    const old = known.get(row.dataset.key);
    if (!old) added += 1;
    else if (old.innerHTML !== row.innerHTML && !old.contains(document.activeElement)) old.innerHTML = row.innerHTML;
  }
  const gone = [...known.keys()].some((key) => !fresh.some((row) => row.dataset.key === key));
  if (added || gone) offer(part, next, added);
}

function offer(part, next, added) {
  let button = document.querySelector("[data-show-new]");
  if (!button) {
    button = document.createElement("button");
    button.type = "button";
    button.className = "tag is-accent show-new";
    button.dataset.showNew = "";
    (part.closest(".panel") ?? part).before(button);
  }
  button.textContent = added ? `${added} new, show them` : "The list has changed, show it";
  button.onclick = () => {
    part.innerHTML = next.innerHTML;
    button.remove();
  };
}

function warn(form) {
  if (document.querySelector("[data-live-warning]")) return;
  const banner = document.createElement("div");
  banner.className = "banner";
  banner.setAttribute("role", "alert");
  banner.dataset.liveWarning = "";
  const words = document.createElement("span");
  words.textContent = "This has changed since you opened it. What you typed is kept.";
  const link = document.createElement("a");
  link.className = "button is-small end";
  link.href = location.href;
  link.textContent = "See what changed";
  banner.append(words, link);
  form.prepend(banner);
}

async function poll() {
  try {
    const response = await fetch(page.dataset.watch, { headers: tag ? { "If-None-Match": tag } : {}, cache: "no-store" });
    const next = response.headers.get("ETag") ?? tag;
    if (tag && next !== tag) refresh();
    tag = next;
  } catch {
    // The server is away; the next poll asks again.
  }
}

function listen() {
  stop();
  // The page of a run is drawn once for all who look at it in the same way, and sent.
  const shared = document.querySelector("[data-live-page=run]") ? `?search=${encodeURIComponent(location.search)}` : "";
  source = new EventSource(page.dataset.live + shared);
  source.addEventListener("open", () => {
    clearInterval(timer);
    tell("", "Live");
  });
  source.addEventListener("changed", refresh);
  source.addEventListener("parts", (event) => put(new DOMParser().parseFromString(JSON.parse(event.data), "text/html")));
  source.addEventListener("error", () => {
    tell(" is-away", source.readyState === EventSource.CLOSED ? "Asks every 5 s" : "Reconnecting");
    clearInterval(timer);
    poll();
    timer = setInterval(poll, POLL_MS);
  });
}

function stop() {
  source?.close();
  clearInterval(timer);
}

const bell = document.querySelector("[data-notices]");

function label() {
  bell.textContent = wantsNotices() ? "Stop browser notices" : "Notify me in this browser";
}

if (bell && "Notification" in window) {
  bell.hidden = false;
  label();
  bell.addEventListener("click", async () => {
    const wants = !wantsNotices() && (await Notification.requestPermission()) === "granted";
    localStorage.setItem("workrail_notices", wants ? "yes" : "no");
    label();
  });
}

if (page) {
  listen();
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      if (!wantsNotices()) stop();
    } else {
      listen();
      refresh();
    }
  });
  addEventListener("pagehide", stop);
}
