// Renews a page while somebody looks at it, and keeps the chosen colours; pages work without.
"use strict";
const scheme = localStorage.getItem("scheme");
if (scheme) document.documentElement.dataset.scheme = scheme;

function signed(text) {
  const sign = document.getElementById("sign");
  if (sign && sign.textContent !== text) sign.textContent = text;
}

async function renew() {
  const shown = document.getElementById("live");
  if (document.hidden || getSelection().type === "Range") return;
  if (shown.contains(document.activeElement) && document.activeElement.matches("input, select")) return;
  // A token that has ended is told on the page, which a question of the browser would cover.
  const headers = { Accept: "text/html; renewed" };
  const answer = await fetch(location.href, { headers }).catch(() => null);
  if (!answer || !answer.ok) {
    const why = !answer ? "the node does not answer" : answer.status === 401
      ? "your token has ended, load the page again" : "this page fails now";
    signed(`Not renewed since ${renewed}: ${why}.`);
    document.body.classList.add("stale");
    return;
  }
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (page.title !== document.title) {
    // It could not be shown before, and now it can.
    location.reload();
    return;
  }
  const fresh = page.getElementById("live");
  document.body.classList.remove("stale");
  // What has not changed stays: places in tables, the focus, what is opened.
  const same = !fresh || fresh.innerHTML === shown.innerHTML;
  const used = shown.contains(document.activeElement) || shown.querySelector("details[open]");
  if (!same && used) {
    signed(`As of ${renewed}: it is not renewed while something here is opened or has the focus.`);
    return;
  }
  signed("");
  renewed = new Date().toLocaleTimeString();
  if (same) return;
  const places = [...shown.querySelectorAll(".wide")].map((each) => each.scrollLeft);
  shown.replaceChildren(...fresh.childNodes);
  shown.querySelectorAll(".wide").forEach((each, place) => { each.scrollLeft = places[place] || 0; });
}

function chosen() {
  const button = document.createElement("button");
  const next = { "": "dark", dark: "light", light: "" };
  const named = () => { button.textContent = `Colours: ${document.documentElement.dataset.scheme || "system"}`; };
  button.type = "button";
  button.addEventListener("click", () => {
    const now = next[document.documentElement.dataset.scheme || ""];
    if (now) localStorage.setItem("scheme", now); else localStorage.removeItem("scheme");
    if (now) document.documentElement.dataset.scheme = now; else delete document.documentElement.dataset.scheme;
    named();
  });
  named();
  document.querySelector("header").append(button);
}

let renewed = new Date().toLocaleTimeString();
document.addEventListener("DOMContentLoaded", () => {
  chosen();
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.matches("input, select, textarea")) return;
    event.preventDefault();
    document.getElementById("q").focus();
  });
  if (document.querySelector("#live[data-renewed]")) setInterval(renew, 3000);
});
