-- Submits jobs: each request is the same small spec. The workers of the measured server are kept from running them by
-- a device that is too small.
wrk.method = "POST"
wrk.path = "/v1/jobs"
wrk.headers["content-type"] = "application/json"
wrk.body = [[{"model": "builtin:arith-tiny", "dataset": {"train": "builtin:arithmetic"}, "verifier": {"type": "numeric"},
 "objective": {"type": "bolt", "group_size": 4}, "train": {"steps": 10}}]]
