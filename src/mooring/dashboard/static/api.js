// Talks to the server that served this page, and to no other. The session lives in this tab.

const KEY = "mooring-session";
let session = sessionStorage.getItem(KEY) ?? "";

export class Refused extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

export function logged_in() {
  return session !== "";
}

export function log_in_with(token) {
  session = token;
  sessionStorage.setItem(KEY, token);
}

export function log_out() {
  session = "";
  sessionStorage.removeItem(KEY);
}

// The token of the printed URL, which is good for one session.
export async function enter(one_time) {
  const answer = await fetch("/ui/login", { method: "POST", body: JSON.stringify({ token: one_time }) });
  const told = await answer.json();
  if (!answer.ok) throw new Refused(answer.status, told.error);
  log_in_with(told.session);
}

async function ask(path, query = {}, signal = undefined) {
  const search = new URLSearchParams(query).toString();
  const answer = await fetch(`/ui/${path}${search ? `?${search}` : ""}`, {
    headers: { Authorization: `Bearer ${session}` }, signal, cache: "no-store",
  });
  if (answer.ok) return answer;
  let text = `${answer.status} ${answer.statusText}`;
  try {
    const told = await answer.json();
    text = told.error ?? told.message ?? text;
  } catch { /* no JSON: the status has to do */ }
  throw new Refused(answer.status, text);
}

export const get_json = async (path, query) => (await ask(path, query)).json();
export const get_text = async (path, query) => (await ask(path, query)).text();

// Calls `take` with every line of the feed until it ends; raises what ends it.
export async function follow(take, signal) {
  const answer = await ask("feed", {}, signal);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = [];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    let start = 0;
    for (let end = value.indexOf("\n"); end >= 0; end = value.indexOf("\n", start)) {
      rest.push(value.slice(start, end));
      take(JSON.parse(rest.join("")));
      rest = [];
      start = end + 1;
    }
    if (start < value.length) rest.push(value.slice(start));
  }
}
