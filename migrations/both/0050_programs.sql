-- What program an attempt is by: the version that its host has said. None of attempts before this change.
alter table attempt add column program text;
