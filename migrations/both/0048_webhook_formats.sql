-- How messages are written that an endpoint gets: standard, slack or discord. Who does not know it sends what such a channel does not take.
alter table webhook_endpoint add column format text not null default 'standard';

update compatibility set oldest = 48;
