/**
 * A client of Anneal. `anneal.api` has a typed function for every operation; beside it is what a generator cannot
 * write: errors as exceptions, the event stream, the resumable download.
 */
import createClient, { type Client } from "openapi-fetch";

import { downloadCheckpoint, type DownloadOptions } from "./download.js";
import { follow, type FollowOptions } from "./events.js";
import type { components, paths } from "./schema.js";

export type { components, operations, paths } from "./schema.js";
export { ApiError, ConnectionLost, DigestMismatch, unwrap } from "./errors.js";
export { finalStatus } from "./events.js";

/** The schemas of the API by their names. */
export type Schemas = components["schemas"];

export interface Options {
  /** Sent as a bearer token. */
  apiKey?: string;
  /** Instead of the global one. */
  fetch?: typeof fetch;
}

export class Anneal {
  /** `await anneal.api.GET("/v1/jobs/{id}", { params: { path: { id } } })` */
  readonly api: Client<paths>;
  private readonly baseUrl: string;
  private readonly headers: Record<string, string>;
  private readonly fetch: typeof fetch;

  constructor(baseUrl: string, options: Options = {}) {
    this.baseUrl = baseUrl.replace(/\/+$/, "");
    this.headers = options.apiKey === undefined ? {} : { Authorization: `Bearer ${options.apiKey}` };
    this.fetch = options.fetch ?? globalThis.fetch;
    this.api = createClient<paths>({ baseUrl: this.baseUrl, headers: this.headers, fetch: this.fetch });
  }

  /** A request of one's own, with the key. */
  request(path: string, init: { headers?: Record<string, string>; signal?: AbortSignal } = {}): Promise<Response> {
    return this.fetch(this.baseUrl + path, { ...init, headers: { ...this.headers, ...init.headers } });
  }

  /**
   * Yields every event of a job once and in order, ends with the job, and returns its final status (undefined when
   * the job had ended and there was nothing more to tell). A broken stream is taken up again behind the last event.
   */
  follow(job: string, options: FollowOptions = {}): AsyncGenerator<Schemas["JobEvent"], Schemas["JobStatus"] | undefined> {
    return follow(this, job, options);
  }

  /**
   * Downloads all files of a checkpoint into a folder and checks each against the manifest; what an interrupted
   * download left behind is continued. Returns the paths.
   */
  downloadCheckpoint(checkpoint: string, target: string, options: DownloadOptions = {}): Promise<string[]> {
    return downloadCheckpoint(this, checkpoint, target, options);
  }
}
