// Tells when the agent whose key was just made has called for the first time.
"use strict";

const seen = document.querySelector("[data-watch]");
const EVERY_MS = 3000;

async function look() {
  if (document.hidden) return;
  const response = await fetch(seen.dataset.watch);
  if (!response.ok) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const told = page.getElementById("last-call");
  if (!told || !told.querySelector("time")) return;
  seen.replaceChildren("It has called: ", document.adoptNode(told.querySelector("time")), ".");
  clearInterval(timer);
}

const timer = setInterval(look, EVERY_MS);
