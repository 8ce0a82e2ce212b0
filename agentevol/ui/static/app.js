// Live progress and keys. Every page works without this file.
"use strict";

const all = (selector, root = document) => [...root.querySelectorAll(selector)];

// --- parts that the server renders again while a run goes on

function remembered(part) {
  return {
    focus: document.activeElement && part.contains(document.activeElement) ? document.activeElement.id : "",
    marks: all("input:checked", part).map((one) => one.value),
    current: current(part)?.querySelector("[data-open]")?.id,
  };
}

function restore(part, state) {
  all("input[type=checkbox]", part).forEach((one) => { one.checked = state.marks.includes(one.value); });
  if (state.current) document.getElementById(state.current)?.closest("[data-item]")?.classList.add("current");
  if (state.focus) document.getElementById(state.focus)?.focus({ preventScroll: true });
}

function replace(part, html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  const state = remembered(part);
  part.replaceChildren(template.content);
  restore(part, state);
}

function tellLost(part, lost) {
  part.parentElement.querySelector(".stale")?.remove();
  if (!lost) return;
  const note = document.createElement("p");
  note.className = "stale";
  note.textContent = "The server does not answer: these figures are old.";
  part.before(note);
}

function watch(part) {
  let latest = "", failures = 0, version = "";
  async function look() {
    if (!document.hidden) {
      try {
        const reply = await fetch(part.dataset.live, { cache: "no-store" });
        if (!reply.ok) throw new Error(reply.status);
        const html = await reply.text();
        const now = reply.headers.get("x-version") ?? "";
        if (html !== latest) replace(part, html);
        if ("reload" in part.dataset && version && now !== version) location.reload();
        latest = html;
        version = now;
        if (failures) tellLost(part, false);
        failures = 0;
      } catch {
        failures += 1;
        if (failures === 2) tellLost(part, true);
      }
    }
    setTimeout(look, Math.min(2000 * 2 ** failures, 30000));
  }
  look();
}

// a search goes on until it has filled a page
async function searchOn(part) {
  while (part.hasAttribute("data-more")) {
    if (document.hidden) {
      await new Promise((go) => { document.addEventListener("visibilitychange", go, { once: true }); });
      continue;
    }
    try {
      const reply = await fetch(location.href, { cache: "no-store" });
      if (!reply.ok) return;
      const found = new DOMParser().parseFromString(await reply.text(), "text/html").getElementById("results");
      if (!found) return;
      replace(part, found.innerHTML);
      part.toggleAttribute("data-more", found.hasAttribute("data-more"));
    } catch {
      return;
    }
  }
}

// --- rows, turns and tokens

const current = (root = document) => root.querySelector("[data-item].current");

function step(items, here, by) {
  const place = items.indexOf(here);
  return items[place < 0 ? (by > 0 ? 0 : items.length - 1) : Math.max(0, Math.min(items.length - 1, place + by))];
}

function moveRow(by) {
  const next = step(all("[data-item]"), current(), by);
  if (!next) return false;
  current()?.classList.remove("current");
  next.classList.add("current");
  const link = next.querySelector("[data-open]");
  link.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
  return true;
}

function visibleTurn(turns) {
  const focused = document.activeElement?.closest("[data-turn]");
  if (focused) return focused;
  return turns.find((one) => one.getBoundingClientRect().bottom > 80) ?? null;
}

function moveTurn(by) {
  const token = document.activeElement?.classList.contains("token") ? document.activeElement : null;
  const items = token ? all(".token", token.closest(".strip")) : all("[data-turn]");
  const isFocused = token || document.activeElement?.closest("[data-turn]");
  const next = isFocused ? step(items, token ?? visibleTurn(items), by) : visibleTurn(items);
  if (!next) return false;
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: token ? "nearest" : "start" });
  return true;
}

function toggleTokens() {
  const details = visibleTurn(all("[data-turn]"))?.querySelector("details.tokens");
  if (!details) return false;
  details.open = !details.open;
  if (details.open) details.querySelector(".token")?.focus();
  else details.querySelector("summary").focus();
  return true;
}

// --- keys

function toggleHelp() {
  const help = document.getElementById("help");
  if (help.open) help.close();
  else help.showModal();
  return true;
}

function press(key) {
  const target = all(`[data-key="${CSS.escape(key)}"]`).at(0);
  target?.click();
  return Boolean(target);
}

const KEYS = {
  "?": toggleHelp,
  "/": () => { const box = document.getElementById("search"); box?.focus(); box?.select(); return Boolean(box); },
  j: () => press("j") || moveRow(1),
  k: () => press("k") || moveRow(-1),
  o: () => { const link = current()?.querySelector("[data-open]"); link?.click(); return Boolean(link) || press("o"); },
  x: () => { const box = current()?.querySelector("input[type=checkbox]"); box?.click(); return Boolean(box); },
  t: toggleTokens,
  ArrowLeft: () => moveTurn(-1),
  ArrowRight: () => moveTurn(1),
  n: () => press("n"),
  p: () => press("p"),
  u: () => press("u"),
  c: () => press("c"),
};

// --- feedback

function reveal(field) {
  if (!field) return false;
  field.closest("details")?.setAttribute("open", "");
  field.focus();
  return true;
}

for (const key of ["1", "2", "3", "4", "5", "a", "b", "="]) KEYS[key] = () => press(key);
KEYS.e = () => reveal(visibleTurn(all("[data-turn]").filter((one) => one.querySelector("[data-correct]")))?.querySelector("[data-correct]"));
KEYS.f = () => reveal(document.querySelector('[data-focus="f"]'));

document.addEventListener("keydown", (event) => {
  const field = event.target;
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || !field.matches("[data-enter]")) return;
  event.preventDefault();
  field.form.requestSubmit(field.form.querySelector("[data-save]"));
});

// --- all keys

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input:not([type=checkbox]), select, textarea");
  if (event.key === "Escape" && isTyping) event.target.blur();
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
  const isHelpOpen = document.getElementById("help").open;
  if (isHelpOpen && event.key !== "?") return;
  if (KEYS[event.key]?.()) event.preventDefault();
});

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-submit]")) event.target.form.requestSubmit();
});

document.addEventListener("submit", (event) => {
  // empty filters do not belong into the address
  if (event.target.matches(".filters")) {
    all("input, select", event.target).forEach((one) => { if (!one.value) one.disabled = true; });
  }
});

// --- the playground: actions by typing or by their numbers

const play = document.querySelector("[data-play]");

function playByKeys() {
  const box = document.getElementById("search"), actions = all(".admissible button", play);
  let typed = "";
  const left = () => actions.filter((one) => !one.hidden);
  const filter = () => {
    const text = box.value.trim().toLowerCase();
    actions.forEach((one) => { one.hidden = Boolean(text) && !one.textContent.toLowerCase().includes(text); });
    actions.forEach((one) => one.classList.toggle("current", Boolean(text) && left().length === 1 && !one.hidden));
  };
  box.addEventListener("input", filter);
  box.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" && left().length) { event.preventDefault(); left()[0].focus(); }
    if (event.key !== "Enter" || event.isComposing || event.shiftKey) return;
    event.preventDefault();
    const only = actions.find((one) => one.classList.contains("current"));
    if (only) only.click();
    else box.form.requestSubmit();
  });
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.closest("textarea, select") || (event.target === box && box.value !== "");
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || !/^[0-9]$/.test(event.key)) {
      if (event.key !== "Enter") typed = "";
      return;
    }
    const shown = left();
    const longer = shown[Number(typed + event.key) - 1];
    const chosen = longer ?? shown[Number(event.key) - 1];
    if (!chosen) return;
    typed = longer ? typed + event.key : event.key;
    event.preventDefault();
    chosen.focus();
  });
  document.addEventListener("submit", (event) => {
    // a second click of the same turn
    if (event.defaultPrevented || !play.contains(event.target)) return;
    if (play.dataset.sent) event.preventDefault();
    play.dataset.sent = "1";
  });
  window.addEventListener("pageshow", () => { delete play.dataset.sent; });
}

if (play?.querySelector("#search")) playByKeys();

const helpButton = document.getElementById("help-button");
helpButton.hidden = false;
helpButton.addEventListener("click", toggleHelp);
all("[data-live]").forEach(watch);
all("[data-more]").forEach(searchOn);
