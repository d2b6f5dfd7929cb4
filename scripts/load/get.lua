-- Asks for one path again and again.
done = function(summary, latency, requests)
  local refused = summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.timeout
  io.write(string.format("LOAD %f %f %d\n", summary.requests / summary.duration * 1e6,
    latency:percentile(99) / 1e3, refused))
end
