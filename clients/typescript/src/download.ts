/** A checkpoint's files, whole and right, whatever happens to the connection. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, rename, rm, type FileHandle } from "node:fs/promises";
import { join } from "node:path";

import { ApiError, DigestMismatch, Interrupted, Patience, TRANSIENT, unwrap } from "./errors.js";
import type { Anneal, Schemas } from "./index.js";

export interface DownloadOptions {
  /** Attempts in a row without a new byte before giving up; 10 by default. */
  retries?: number;
}

export async function downloadCheckpoint(
  anneal: Anneal,
  checkpoint: string,
  target: string,
  options: DownloadOptions,
): Promise<string[]> {
  await mkdir(target, { recursive: true });
  const manifest = await unwrap(
    anneal.api.GET("/v1/checkpoints/{id}/manifest", { params: { path: { id: checkpoint } } }),
  );
  const paths: string[] = [];
  for (const file of manifest.files) {
    paths.push(await fetchFile(anneal, checkpoint, file, target, options.retries ?? 10));
  }
  return paths;
}

async function fetchFile(
  anneal: Anneal,
  checkpoint: string,
  file: Schemas["CheckpointFile"],
  folder: string,
  retries: number,
): Promise<string> {
  if (["", ".", ".."].includes(file.path) || /[/\\]/.test(file.path)) {
    throw new DigestMismatch(`the manifest names a file ${JSON.stringify(file.path)}, which is no plain name`);
  }
  const final = join(folder, file.path);
  if ((await sha256(final).catch(() => "")) === file.sha256) return final;
  // The digest in the name keeps parts of different files of the same name apart.
  const part = join(folder, `.${file.path}.${file.sha256.slice(0, 16)}.part`);
  const url = `/v1/checkpoints/${encodeURIComponent(checkpoint)}/files/${encodeURIComponent(file.path)}`;
  const patience = new Patience(retries);
  const out = await open(part, "a+");
  let size: number;
  try {
    for (size = (await out.stat()).size; size < file.size; ) {
      try {
        await receive(anneal, url, file, out, size);
      } catch (error) {
        if (!(error instanceof Interrupted)) throw error;
        if ((await out.stat()).size > size) patience.progress();
        await patience.wait(error);
      }
      size = (await out.stat()).size;
    }
    await out.sync();
  } finally {
    await out.close();
  }
  let detail = "is longer than the manifest says";
  if (size === file.size) {
    if ((await sha256(part)) === file.sha256) {
      await rename(part, final);
      return final;
    }
    detail = "has not the sha256 that the manifest lists";
  }
  await rm(part);
  throw new DigestMismatch(`${file.path} ${detail}`);
}

/** Appends what is missing, until the end, more than there should be, or an interruption. */
async function receive(
  anneal: Anneal,
  url: string,
  file: Schemas["CheckpointFile"],
  out: FileHandle,
  offset: number,
): Promise<void> {
  const headers: Record<string, string> = { "Accept-Encoding": "identity" };
  if (offset > 0) {
    headers["Range"] = `bytes=${offset}-`;
    headers["If-Range"] = `"${file.sha256}"`;
  }
  const response = await anneal.request(url, { headers }).catch((cause: unknown) => {
    throw new Interrupted(cause);
  });
  if ((response.status !== 200 && response.status !== 206) || response.body === null) {
    const error = await ApiError.of(response);
    throw TRANSIENT.has(response.status) ? new Interrupted(error, response.headers.get("retry-after")) : error;
  }
  let size = offset;
  if (response.status === 200 && offset > 0) {
    await out.truncate(0);
    size = 0;
  } else if (response.status === 206 && !response.headers.get("content-range")?.startsWith(`bytes ${offset}-`)) {
    throw new Interrupted("the server sent another range than asked for");
  }
  const reader = response.body.getReader();
  while (size <= file.size) {
    const { done, value } = await reader.read().catch((cause: unknown) => {
      throw new Interrupted(cause);
    });
    if (done) {
      // A proxy may end what it got of a cut answer as if it were whole.
      if (size < file.size) throw new Interrupted("the answer ended before the file");
      return;
    }
    size += value.length;
    await out.appendFile(value);
  }
  await reader.cancel().catch(() => undefined);
}

async function sha256(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest("hex");
}
