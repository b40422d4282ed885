// Questions to the server: JSON, errors as one sentence, the share token of this address sent along.
export class ApiError extends Error {
  constructor(message, status, query) {
    super(message);
    this.status = status;
    this.query = query; // {text, position} of a query that cannot be read
  }
}

const share = new URLSearchParams(location.search).get("share");

export function address(noun, parameters = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined || value === null) continue;
    query.set(name, typeof value === "object" ? JSON.stringify(value) : String(value));
  }
  if (share) query.set("share", share);
  const text = query.toString();
  return `/api/v1/${noun}${text ? "?" + text : ""}`;
}

export async function get(noun, parameters, signal) {
  return answerOf(await reach(address(noun, parameters), { signal }));
}

export async function send(method, noun, body, parameters) {
  const options = { method, headers: { "Content-Type": "application/json" } };
  if (body !== undefined) options.body = JSON.stringify(body);
  return answerOf(await reach(address(noun, parameters), options));
}

async function reach(url, options) {
  try {
    return await fetch(url, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("The server does not answer: is `seamount track ui` still running?", 0);
  }
}

async function answerOf(answer) {
  if (answer.status === 401 && !share) location.assign("/login" + location.search);
  const body = await answer.json().catch((error) => {
    if (error.name === "AbortError") throw error; // taken back while its body came in
    return null;
  });
  if (!answer.ok || !body) throw new ApiError(body?.error ?? `The server answered ${answer.status}.`, answer.status, body?.query);
  return body;
}
