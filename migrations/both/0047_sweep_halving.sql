-- Sweeps that give configurations up at some steps, and that may use so much of the devices. Who does not know of it would have trials
-- begin again that wait at such a step, and would spend beyond the budget.

-- By what and when, as JSON; none of sweeps that give nothing up.
alter table sweep add column halving text;
-- How often it was decided.
alter table sweep add column rung bigint not null default 0;
-- All jobs together; none where there is no limit.
alter table sweep add column budget_seconds bigint;
-- The step of the last decision that it has reached, and what it was worth there.
alter table sweep_trial add column held_at bigint;
alter table sweep_trial add column held_value double precision;
-- 1 of a configuration that was given up.
alter table sweep_trial add column dropped bigint not null default 0;

update compatibility set oldest = 47;
