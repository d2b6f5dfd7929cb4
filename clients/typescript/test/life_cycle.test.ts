/** The whole life of a job against the server at ANNEAL_URL, through the proxy at ANNEAL_CUT_URL that breaks connections. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, readFile, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { Anneal, ApiError, DigestMismatch, finalStatus, unwrap, type Schemas } from "../src/index.js";

const environment = (name: string): string => {
  const value = process.env[name];
  assert.ok(value, `${name} is not set`);
  return value;
};
const options = process.env["ANNEAL_API_KEY"] ? { apiKey: process.env["ANNEAL_API_KEY"] } : {};
const anneal = new Anneal(environment("ANNEAL_URL"), options);
const cutting = new Anneal(environment("ANNEAL_CUT_URL"), options);
const cuts = async (): Promise<number> => Number(await (await cutting.request("/cuts")).text());
const folder = (): Promise<string> => mkdtemp(join(tmpdir(), "anneal-"));
const digest = async (path: string): Promise<string> => createHash("sha256").update(await readFile(path)).digest("hex");

const spec = (dataset: string, steps = 12): Schemas["JobSpec"] => ({
  name: "typescript",
  model: "builtin:arith-tiny",
  dataset: { train: dataset },
  verifier: { type: "numeric" },
  objective: { type: "bolt", group_size: 4, rounds: 2 },
  sampling: { max_new_tokens: 5, batch_size: 64 },
  optimizer: { learning_rate: 3e-4 },
  train: { steps, prompts_per_step: 16 },
  checkpoints: { every_steps: 6 },
});

const create = async (body: Schemas["JobSpec"], key?: string): Promise<Schemas["Job"]> => {
  const header = key === undefined ? {} : { header: { "Idempotency-Key": key } };
  const made = await unwrap(anneal.api.POST("/v1/jobs", { body, params: header }));
  assert.ok(made.object === "job");
  return made;
};

const eventsOf = async (client: Anneal, job: string, after = 0): Promise<Schemas["JobEvent"][]> => {
  const events = [];
  for await (const event of client.follow(job, { after })) events.push(event);
  return events;
};

test("a job is followed through cuts and its checkpoint arrives whole", async () => {
  const rows = Array.from({ length: 100 }, (_, i) =>
    JSON.stringify({ prompt: `${Math.floor(i / 10)}+${i % 10}=`, answer: String(Math.floor(i / 10) + (i % 10)) }),
  );
  const dataset = await unwrap(
    anneal.api.POST("/v1/datasets", {
      params: { query: { name: "sums" } },
      body: rows.join("\n"),
      bodySerializer: (body) => body,
      headers: { "Content-Type": "application/jsonl" },
    }),
  );
  assert.ok(dataset.object === "dataset");
  assert.equal(dataset.latest.rows, 100);
  const body = spec(dataset.id);
  const plan = await unwrap(anneal.api.POST("/v1/jobs", { body, params: { query: { dry_run: "preflight" } } }));
  assert.equal(plan.object, "preflight");
  const first = await create(body, `typescript-${dataset.id}`);
  const second = await create(body, `typescript-${dataset.id}`);
  assert.equal(first.id, second.id);

  let before = await cuts();
  const events = await eventsOf(cutting, first.id);
  assert.ok((await cuts()) > before, "the stream was never cut");
  assert.deepEqual(events.map((event) => event.seq), events.map((_, index) => index + 1));
  assert.equal(finalStatus(events.at(-1)!), "succeeded");
  const losses = events.flatMap((event) => (event.type === "metrics" ? [event.data.values["loss"]] : []));
  assert.equal(losses.filter((loss) => typeof loss === "number").length, 12);
  assert.deepEqual((await eventsOf(anneal, first.id, events.length - 2)).length, 2);
  assert.deepEqual(await eventsOf(anneal, first.id, events.length), []);

  const path = { id: first.id };
  const metrics = await unwrap(
    anneal.api.GET("/v1/jobs/{id}/metrics", { params: { path, query: { keys: "reward/mean" } } }),
  );
  assert.ok(typeof metrics === "object");
  assert.equal(metrics.series[0]?.steps.length, 12);
  const checkpoints = await unwrap(anneal.api.GET("/v1/jobs/{id}/checkpoints", { params: { path } }));
  const result = checkpoints.data.find((checkpoint) => checkpoint.kind === "inference");
  assert.ok(result);
  const target = await folder();
  before = await cuts();
  await cutting.downloadCheckpoint(result.id, target);
  assert.ok((await cuts()) > before, "the download was never cut");
  for (const file of result.files) assert.equal(await digest(join(target, file.path)), file.sha256);
  assert.deepEqual((await readdir(target)).sort(), result.files.map((file) => file.path).sort());
});

test("a download continues what an earlier process left, and refuses what is spoilt", async () => {
  const job = await create(spec("builtin:arithmetic", 2));
  await eventsOf(anneal, job.id);
  const checkpoints = await unwrap(
    anneal.api.GET("/v1/jobs/{id}/checkpoints", { params: { path: { id: job.id } } }),
  );
  const result = checkpoints.data[0]!;
  const file = result.files.reduce((a, b) => (a.size > b.size ? a : b));
  const whole = Buffer.from(await (await anneal.request(`/v1/checkpoints/${result.id}/files/${file.path}`)).arrayBuffer());
  const part = `.${file.path}.${file.sha256.slice(0, 16)}.part`;
  let target = await folder();
  await writeFile(join(target, part), whole.subarray(0, 1000));
  await anneal.downloadCheckpoint(result.id, target);
  assert.equal(await digest(join(target, file.path)), file.sha256);
  target = await folder();
  await writeFile(join(target, part), "spoilt");
  await assert.rejects(anneal.downloadCheckpoint(result.id, target), DigestMismatch);
  assert.ok(!(await readdir(target)).includes(file.path));
});

test("a job is cancelled and errors have codes", async () => {
  const job = await create(spec("builtin:arithmetic", 400));
  const cancel = () => unwrap(anneal.api.POST("/v1/jobs/{id}/cancel", { params: { path: { id: job.id } } }));
  await cancel();
  assert.equal(finalStatus((await eventsOf(anneal, job.id)).at(-1)!), "cancelled");
  const refusal = (code: string, status: number) => (error: unknown) =>
    error instanceof ApiError && error.code === code && error.status === status;
  await assert.rejects(cancel(), refusal("conflict", 409));
  await assert.rejects(eventsOf(anneal, "job_nothing"), refusal("not_found", 404));
  const wrong = spec("builtin:arithmetic");
  wrong.objective = { type: "bolt", group_size: 0 };
  await assert.rejects(create(wrong), (error: unknown) => {
    assert.ok(error instanceof ApiError && error.code === "invalid_spec");
    return error.problem?.errors[0]?.pointer === "/objective/group_size";
  });
});
