/** Downloads from a server that ends its answers early and cleanly, or not at all where they should. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, readFile, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { Anneal, ConnectionLost, DigestMismatch } from "../src/index.js";

const content = Buffer.from(Array.from({ length: 1024 }, (_, index) => index % 256));
const name = "step 1 #50%.bin";
const folder = (): Promise<string> => mkdtemp(join(tmpdir(), "anneal-"));

/** Ends each answer cleanly after `most` bytes, and sends `tail` behind the end of the file. */
function server(most: number, tail = ""): { anneal: Anneal; downloads: () => number } {
  let downloads = 0;
  const answer = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init);
    const path = new URL(request.url).pathname;
    if (path.endsWith("/manifest")) {
      const file = { path: name, size: content.length, sha256: createHash("sha256").update(content).digest("hex") };
      return Response.json({ files: [file] });
    }
    assert.equal(path, `/v1/checkpoints/ck_1/files/${encodeURIComponent(name)}`);
    downloads += 1;
    const offset = Number(/\d+/.exec(request.headers.get("range") ?? "0")![0]);
    const headers = { "Content-Range": `bytes ${offset}-${content.length - 1}/${content.length}` };
    const body = Buffer.concat([content, Buffer.from(tail)]).subarray(offset, offset + most);
    return new Response(body, { status: offset > 0 ? 206 : 200, headers });
  };
  return { anneal: new Anneal("http://server", { fetch: answer }), downloads: () => downloads };
}

test("answers that end early are continued", async () => {
  const { anneal, downloads } = server(400);
  const [path] = await anneal.downloadCheckpoint("ck_1", await folder());
  assert.deepEqual(await readFile(path!), content);
  assert.equal(downloads(), 3);
});

test("answers without a byte exhaust the patience", async () => {
  const { anneal, downloads } = server(0);
  await assert.rejects(anneal.downloadCheckpoint("ck_1", await folder(), { retries: 2 }), ConnectionLost);
  assert.equal(downloads(), 3);
});

test("a file that is too long leaves nothing", async () => {
  const { anneal } = server(2000, "more");
  const target = await folder();
  await assert.rejects(anneal.downloadCheckpoint("ck_1", target), DigestMismatch);
  assert.deepEqual(await readdir(target), []);
});
