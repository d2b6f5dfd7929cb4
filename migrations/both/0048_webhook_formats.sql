-- How messages are written that an endpoint gets: standard, slack or discord.
alter table webhook_endpoint add column format text not null default 'standard';
