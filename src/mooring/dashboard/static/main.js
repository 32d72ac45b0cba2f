// Starts the page: logs in, follows the feed, shows the view that the address names.

import { enter, follow, get_json, log_in_with, log_out, logged_in } from "./api.js";
import { chain } from "./chain.js";
import { claims } from "./claims.js";
import { h, show } from "./dom.js";
import { overview } from "./overview.js";
import { panel } from "./panel.js";
import { store, take, take_usage } from "./store.js";

const USAGE_EVERY = 30000; // ms; kubelets measure once a minute
const main = document.getElementById("main");
const live = document.getElementById("live");
const list_state = {};
let parts = {};
let leave = () => {};
let is_in = false;

const say = (text) => { document.getElementById("said").textContent = text; };
const path_of = (id) => id.split("/").map(encodeURIComponent).join("/");

function route() {
  if (!is_in) return;
  leave();
  leave = () => {};
  const [view, ...rest] = location.hash.replace(/^#\/?/, "").split("/");
  const words = rest.map(decodeURIComponent);
  for (const link of document.querySelectorAll("header nav a")) {
    if (link.dataset.view === (view || "overview")) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (view === "claims") leave = claims(main, { open: (id) => { location.hash = `#/claim/${path_of(id)}`; }, state: list_state });
  else if (view === "claim" && words.length === 2) leave = chain(main, { id: words.join("/"), parts, say });
  else if (view === "look" && words.length >= 2) look(words[0], words.slice(1).join("/"));
  else leave = overview(main, { parts });
  document.title = `${words.length ? words.join("/") : view || "overview"} · Mooring`;
}

function look(kind, id) {
  const side = panel(parts);
  show(main, h("h1", {}, id), side.root);
  side.look(kind, id);
  leave = side.close;
}

function login(message) {
  is_in = false;
  leave();
  leave = () => {};
  const token = h("input", { type: "password", autocomplete: "off", "aria-label": "Token", required: true });
  const form = h("form", {
    onsubmit: async (event) => {
      event.preventDefault();
      log_in_with(token.value.trim());
      await start();
    },
  }, token, h("button", { type: "submit" }, "Log in"));
  show(main, h("section", { class: "card login" }, h("h1", {}, "Log in"),
    h("p", {}, "Show a token of this API server: that of your kubeconfig, or ", h("code", {}, "kubectl create token NAME"), ". The page reads with its rights and changes nothing; the token stays in this tab."),
    message ? h("p", { class: "bad", role: "alert" }, message) : null, form));
  token.focus();
}

async function start() {
  const following = keep_following(); // lists take longest, so they are asked for first
  try {
    const told = await get_json("info");
    parts = told.parts;
    document.getElementById("cluster").textContent = `${told.server} · ${told.version}`;
  } catch (error) {
    if (error.status === 401) refuse(error);
    else show(main, h("p", { class: "bad", role: "alert" }, error.message));
    return;
  }
  is_in = true;
  route();
  measure();
  await following;
}

function refuse(error) {
  if (!logged_in()) return; // said already
  log_out();
  login(error.message);
}

async function measure() {
  if (document.hidden || !is_in) return;
  try {
    take_usage(await get_json("usage"));
  } catch (error) {
    store.usage_trouble = error.message;
  }
}

async function keep_following() {
  for (let wait = 500; ; wait = Math.min(wait * 2, 15000)) {
    try {
      await follow((line) => {
        wait = 500;
        state("good", "live");
        take(line);
      });
    } catch (error) {
      if (error.status === 401) {
        refuse(error);
        return;
      }
    }
    state("bad", "not connected, trying again");
    await new Promise((done) => setTimeout(done, wait));
  }
}

function state(name, text) {
  if (live.dataset.state === name) return;
  live.dataset.state = name;
  live.textContent = text;
}

function help() {
  const keys = [["1", "overview"], ["2", "claims"], ["/", "filter the claims"], ["↑ ↓ Enter", "choose and open a claim"], ["Tab", "from station to station"], ["← →", "between tabs"], ["Esc", "back"], ["t", "dark or light"], ["?", "this list"]];
  const box = h("dialog", { "aria-label": "Keys" }, h("h2", {}, "Keys"), h("table", {}, keys.map(([key, text]) => h("tr", {}, h("td", {}, h("kbd", {}, key)), h("td", {}, text)))),
    h("button", { type: "button", onclick: () => box.close() }, "Close"));
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
}

function switch_theme() {
  const root = document.documentElement;
  const is_dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = is_dark ? "light" : "dark";
  localStorage.setItem("mooring-theme", root.dataset.theme);
}

function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, dialog *")) return;
  const actions = {
    1: () => { location.hash = "#/"; },
    2: () => { location.hash = "#/claims"; },
    "/": () => { location.hash = "#/claims"; setTimeout(() => main.querySelector("input")?.focus()); },
    "?": help,
    t: switch_theme,
    Escape: () => { if (location.hash.length > 2) history.back(); },
  };
  if (event.key in actions) {
    event.preventDefault();
    actions[event.key]();
  }
}

async function boot() {
  const theme = localStorage.getItem("mooring-theme");
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
  document.getElementById("theme").addEventListener("click", switch_theme);
  document.getElementById("help").addEventListener("click", help);
  document.addEventListener("keydown", keys);
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
  });
  window.addEventListener("hashchange", route);
  setInterval(measure, USAGE_EVERY);
  const given = location.hash.match(/^#token=([\w-]+)$/);
  if (given) {
    history.replaceState(null, "", "/ui/");
    try {
      await enter(given[1]);
    } catch (error) {
      login(error.message);
      return;
    }
  }
  if (logged_in()) await start();
  else login("");
}

boot();
