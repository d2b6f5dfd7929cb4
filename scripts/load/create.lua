-- Submits jobs, each the same small spec.
wrk.method = "POST"
wrk.headers["content-type"] = "application/json"
wrk.body = [[{"model": "builtin:arith-tiny", "dataset": {"train": "builtin:arithmetic"},
  "verifier": {"type": "numeric"}, "objective": {"type": "bolt", "group_size": 4}, "train": {"steps": 10}}]]

done = function(summary, latency, requests)
  local refused = summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.timeout
  io.write(string.format("LOAD %f %f %d\n", summary.requests / summary.duration * 1e6,
    latency:percentile(99) / 1e3, refused))
end
