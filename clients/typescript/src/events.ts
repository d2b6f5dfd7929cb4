/** A job's events, from the first to the last, whatever happens to the connection. */
import { ApiError, Interrupted, Patience, TRANSIENT } from "./errors.js";
import type { Anneal, Schemas } from "./index.js";

/** The server sends a comment every 15 seconds; after this long without a byte the connection is dead. */
const SILENCE_MS = 45_000;

export interface FollowOptions {
  /** Only events with a greater `seq`. */
  after?: number;
  /** Attempts in a row without a new event before giving up; 10 by default. */
  retries?: number;
}

/** The status that a job has ended with, if this is its last event. */
export function finalStatus(event: Schemas["JobEvent"]): Schemas["JobStatus"] | undefined {
  if (event.type !== "status") return undefined;
  const { status } = event.data;
  return status === "succeeded" || status === "failed" || status === "cancelled" ? status : undefined;
}

export async function* follow(
  anneal: Anneal,
  job: string,
  options: FollowOptions,
): AsyncGenerator<Schemas["JobEvent"], Schemas["JobStatus"] | undefined> {
  let after = options.after ?? 0;
  const patience = new Patience(options.retries ?? 10);
  for (;;) {
    const abort = new AbortController();
    try {
      for await (const data of stream(anneal, job, after, abort)) {
        const event = JSON.parse(data) as Schemas["JobEvent"];
        if (event.seq <= after) continue;
        if (event.seq > after + 1) throw new Interrupted(`event ${event.seq} came after event ${after}`);
        after = event.seq;
        patience.progress();
        yield event;
        const status = finalStatus(event);
        if (status !== undefined) return status;
      }
      return undefined;
    } catch (error) {
      if (!(error instanceof Interrupted)) throw error;
      await patience.wait(error);
    } finally {
      abort.abort();
    }
  }
}

/** The data of every complete server-sent event; ends only when the server has nothing more to tell. */
async function* stream(anneal: Anneal, job: string, after: number, abort: AbortController): AsyncGenerator<string> {
  let timer = setTimeout(() => abort.abort(), SILENCE_MS);
  try {
    const headers = { Accept: "text/event-stream", "Last-Event-ID": String(after) };
    const path = `/v1/jobs/${encodeURIComponent(job)}/events`;
    const response = await anneal.request(path, { headers, signal: abort.signal }).catch((cause: unknown) => {
      throw new Interrupted(cause);
    });
    if (response.status === 204) return;
    if (response.status !== 200 || response.body === null) {
      const error = await ApiError.of(response);
      throw TRANSIENT.has(response.status) ? new Interrupted(error, response.headers.get("retry-after")) : error;
    }
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    let data: string[] = [];
    for (;;) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        throw new Interrupted(cause);
      });
      if (done) throw new Interrupted("the stream ended before the job");
      clearTimeout(timer);
      timer = setTimeout(() => abort.abort(), SILENCE_MS);
      const lines = (rest + value).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
        else if (line === "" && data.length > 0) {
          yield data.join("\n");
          data = [];
        }
      }
    }
  } finally {
    clearTimeout(timer);
  }
}
