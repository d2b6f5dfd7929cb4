-- What the last audit of a verifier on some rows has said. It belongs to the configuration, not to the name of a verifier:
-- a job may bring the same one along.

create table verifier_audit (
    project        text not null,
    -- Of the configuration with all defaults.
    digest         text not null,
    -- A version (`dsv_...`) or a built-in.
    dataset        text not null,
    trusted        integer not null check (trusted in (0, 1)),
    -- JSON: why not, in sentences.
    reasons        text not null,
    created_at     bigint not null,
    primary key (project, digest, dataset)
) without rowid;
