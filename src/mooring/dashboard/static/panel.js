// One object from close up: its text, its events, and what explains it.

import { get_json, get_text } from "./api.js";
import { h, s, show, table } from "./dom.js";
import { age } from "./format.js";

const TABS = [["why", "Why"], ["object", "Object"], ["events", "Events"], ["timeline", "Timeline"], ["trace", "Trace"]];
const MARKS = { done: "✓", waiting: "…", broken: "✗", unknown: "?", skipped: "–" };
const COLOURS = { done: "good", waiting: "warn", broken: "bad", unknown: "warn", skipped: "dim" };

export function panel(parts) {
  const tabs = h("div", { class: "tabs", role: "tablist", "aria-label": "About the object" });
  const body = h("div", { role: "tabpanel", id: "tab-body", tabindex: 0 });
  const title = h("h2", {});
  const root = h("section", { class: "card", "aria-label": "Object" }, title, tabs, body);
  let subject = null;
  let chosen = parts.why ? "why" : "object";
  let asked = 0;

  const load = async () => {
    if (!subject) return;
    asked += 1;
    const mine = asked;
    let content;
    try {
      content = chosen in parts && !parts[chosen] ? h("p", { class: "dim" }, `${chosen} is not available here`) : await VIEWS[chosen](subject);
    } catch (error) {
      content = h("p", { class: error.status === 501 ? "dim" : "bad" }, error.message);
    }
    if (mine === asked) show(body, content);
  };

  const choose = (name, focus) => {
    chosen = name;
    show(tabs, TABS.map(([id, text]) => h("button", {
      type: "button", role: "tab", id: `tab-${id}`, "aria-selected": id === chosen ? "true" : "false", "aria-controls": "tab-body",
      tabindex: id === chosen ? 0 : -1, onclick: () => choose(id, true),
    }, text)));
    body.setAttribute("aria-labelledby", `tab-${chosen}`);
    if (focus) tabs.querySelector('[aria-selected="true"]').focus();
    load();
  };

  tabs.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    const at = TABS.findIndex(([id]) => id === chosen);
    choose(TABS[(at + by + TABS.length) % TABS.length][0], true);
    event.preventDefault();
  });

  let later = 0;
  return {
    root,
    look(kind, id) {
      subject = { kind, id };
      title.textContent = `${kind.replace(/s$/, "").replace(/sse$/, "ss")} ${id}`;
      show(body, h("p", { class: "dim" }, "Loading…"));
      choose(chosen, false);
    },
    // The object has changed: what is shown is read again, soon, and not for every change.
    again() {
      clearTimeout(later);
      later = setTimeout(load, 300);
    },
    close: () => clearTimeout(later),
  };
}

const VIEWS = {
  object: async (subject) => h("pre", {}, await get_text("object", subject)),
  events: async (subject) => {
    const found = await get_json("events", subject);
    const rows = found.map((one) => [h("span", { class: one.type === "Normal" ? "" : "warn" }, one.reason), one.message, age(one.last), one.count || 1, one.from]);
    return table(["Reason", "Message", "#Ago", "#Times", "From"], rows, "There are no events about it.");
  },
  why: async (subject) => why_view(await get_json("why", subject)),
  timeline: async (subject) => timeline_view(await get_json("timeline", subject)),
  trace: async (subject) => trace_view(await get_json("trace", subject)),
};

const name_of = (ref) => `${ref.kind} ${ref.namespace ? `${ref.namespace}/` : ""}${ref.name}`;

function why_view(told) {
  const colour = { fine: "good", waiting: "warn", broken: "bad", unknown: "warn" }[told.verdict] ?? "";
  const links = told.links.map((link) => h("li", {},
    h("span", { class: COLOURS[link.state] ?? "", "aria-label": link.state }, `${MARKS[link.state] ?? "?"} `),
    h("b", {}, `${link.step}: `), link.says,
    h("span", { class: "dim" }, ` (${name_of(link.source)}${link.since ? `, for ${age(link.since)}` : ""}${link.until ? `, until ${link.until}` : ""}${link.who ? `; ${link.who} must act` : ""})`)));
  const fixes = told.fixes.map((fix) => h("li", {}, h("code", {}, fix.command), h("div", { class: "dim" }, fix.whatItDoes)));
  const candidates = told.candidates.map((one) => h("li", {}, `${one.count} × ${one.kind}: ${one.reason}`));
  const part = (title, rows) => (rows.length ? [h("h2", {}, title), h("ul", { class: "links" }, rows)] : []);
  return h("div", {}, h("p", {}, h("span", { class: `tag ${colour}` }, told.verdict), ` ${told.summary}`),
    h("ol", { class: "links" }, links), part("To heal it", fixes), part("What does not fit", candidates),
    part("Not seen", told.unseen.map((text) => h("li", { class: "warn" }, text))));
}

const unseen = (told) => (told.unseen ?? []).map((text) => h("p", { class: "warn" }, text));

function timeline_view(told) {
  const start = Date.parse(told.start ?? "");
  const whole = Math.max(0.001, told.seconds);
  const rows = told.steps.map((step) => {
    const moment = step.ended ?? step.began;
    const since = step.before ? "before" : moment ? `${moment.exact ? "" : "~"}${((Date.parse(moment.at) - start) / 1000).toFixed(moment.exact ? 3 : 0)} s` : "–";
    const colour = { done: "good", "in flight": "warn", failing: "bad", waiting: "warn" }[step.state] ?? "dim";
    return [step.step, step.object, h("span", { class: colour }, step.code ? `${step.state} (${step.code})` : step.state), since, span(step, start, whole), moment?.source ?? "–"];
  });
  return h("div", {}, h("p", { class: "dim" }, `${told.end ? "It took" : "Until now it takes"} ${told.seconds.toFixed(3)} s.`),
    table(["Step", "Object", "State", "#Since the start", "Took", "Known from"], rows, "Nothing is known of its steps."), unseen(told));
}

// When a step began and ended, as a bar in the whole time; its figures are text beside it.
function span(step, start, whole) {
  if (!step.counts || !step.began || !step.ended) return "–";
  const at = (moment) => (Date.parse(moment.at) - start) / 1000 / whole;
  const svg = s("svg", { viewBox: "0 0 100 6", class: "span", preserveAspectRatio: "none", "aria-hidden": "true" });
  const from = Math.min(99, Math.max(0, at(step.began) * 100));
  svg.append(s("rect", { x: 0, y: 0, width: 100, height: 6, class: "track" }), s("rect", { x: from, y: 0, width: Math.max(1, at(step.ended) * 100 - from), height: 6 }));
  const took = step.seconds === null ? "" : `${(step.seconds * 1000).toFixed(0)} ms`;
  return h("span", { class: "bar" }, svg, h("span", {}, step.tries > 1 ? `${took}, ${step.tries} tries` : took));
}

function trace_view(told) {
  const rows = told.calls.map((call) => [call.method, call.driver ?? "", call.inFlight ? h("span", { class: "warn" }, "in flight") : h("span", { class: call.code === "OK" ? "good" : "bad" }, call.code), `${(call.seconds * 1000).toFixed(0)} ms`, age(call.started), `${call.askedBy ?? ""}${call.because ? ` for ${name_of(call.because)}` : ""}`]);
  return h("div", {}, table(["Call", "Driver", "Code", "#Took", "#Ago", "Asked by"], rows, "No CSI call about it is remembered."), unseen(told));
}
