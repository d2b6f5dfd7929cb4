-- Requests that are under way are known to their server; here is only what was answered.

delete from idempotency where resource is null and status is null;
