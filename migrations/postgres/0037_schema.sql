-- The tables as SQLite has them after its change of the same number, and what the statements use of SQLite's functions.

create function json_each(document text) returns table (key text, value text) language sql immutable strict as $$
    select m.key, m.value #>> '{}'
    from jsonb_each(case jsonb_typeof(document::jsonb) when 'object' then document::jsonb else '{}' end) as m
    union all
    select (e.number - 1)::text, e.value #>> '{}'
    from jsonb_array_elements(case jsonb_typeof(document::jsonb) when 'array' then document::jsonb else '[]' end)
         with ordinality as e (value, number)
$$;

create function json_item(document text, number integer) returns text language sql immutable strict as $$
    select document::jsonb ->> number
$$;

create operator ->> (leftarg = text, rightarg = integer, function = json_item);

-- Of paths as in `$.a.b`.
create function json_extract(document text, path text) returns text language sql immutable strict as $$
    select document::jsonb #>> string_to_array(substr(path, 3), '.')
$$;

create function json_array_length(document text) returns bigint language sql immutable strict as $$
    select jsonb_array_length(document::jsonb)::bigint
$$;

create function json_group_step(so_far jsonb, item text) returns jsonb language sql immutable as $$
    select so_far || jsonb_build_array(item)
$$;

create function json_group_text(whole jsonb) returns text language sql immutable strict as $$
    select whole::text
$$;

create aggregate json_group_array(text) (
    sfunc = json_group_step, stype = jsonb, initcond = '[]', finalfunc = json_group_text
);

create function instr(whole text, part text) returns bigint language sql immutable strict as $$
    select strpos(whole, part)::bigint
$$;

-- Of two numbers, and null where one of them is.
create function max(a bigint, b bigint) returns bigint language sql immutable strict as $$
    select greatest(a, b)
$$;

create function max(a bigint, b bigint, c bigint) returns bigint language sql immutable strict as $$
    select greatest(a, b, c)
$$;

CREATE TABLE dataset (
    id          text primary key,
    name        text,
    metadata    text not null,
    created_at  bigint not null
, project text not null default 'default');

CREATE TABLE dataset_version (
    id              text primary key,
    dataset_id      text not null references dataset (id),
    number          bigint not null check (number >= 1),
    sha256          text not null,
    row_count       bigint not null check (row_count >= 1),
    bytes           bigint not null,
    answers         bigint not null,
    completions     bigint not null,
    duplicates      bigint not null,
    columns         text not null,
    created_at      bigint not null, filled text, origin text, split text, held_out bigint not null default 0, parent_id text, made text,
    unique (dataset_id, number)
);

CREATE TABLE model (
    id                text primary key,
    name              text,
    source            text not null,
    format            text not null,
    architecture      text not null,
    parameters        bigint not null,
    context_length    bigint not null,
    vocab_size        bigint not null,
    weights_sha256    text not null,
    tokenizer_sha256  text not null,
    bytes             bigint not null,
    created_at        bigint not null
, project text, status text not null default 'ready'
    check (status in ('pending', 'importing', 'ready', 'failed')), bytes_done bigint not null default 0, failure text, warnings text not null default '[]', plan text, base text, adapter text);

CREATE TABLE verifier (
    id          text primary key,
    name        text,
    config      text not null,
    digest      text not null,
    created_at  bigint not null
, project text not null default 'default', metadata text not null default '{}');

CREATE TABLE worker (
    id           text primary key,
    device       text not null,
    description  text not null,
    pid          bigint not null,
    started_at   bigint not null,
    seen_at      bigint not null,
    ended_at     bigint
, beats bigint not null default 0);

CREATE TABLE job (
    id             text primary key,
    kind           text not null default 'train' check (kind in ('train', 'rollouts', 'evaluation')),
    project        text not null default 'default',
    name           text,
    status         text not null check (status in
                     ('queued', 'starting', 'running', 'pausing', 'paused', 'cancelling', 'succeeded', 'failed',
                      'cancelled')),
    phase          text,
    priority       bigint not null,
    objective      text not null,
    spec           text not null,
    spec_resolved  text not null,
    spec_digest    text not null,
    created_at     bigint not null,
    updated_at     bigint not null,
    started_at     bigint,
    finished_at    bigint,
    -- The right to run is the pair (id, attempt), held by `worker` until `lease_until`.
    attempt        bigint not null default 0,
    crashes        bigint not null default 0,
    worker         text,
    step           bigint not null default 0,
    steps          bigint not null,
    last_seq       bigint not null default 0,
    devices        bigint not null default 1 check (devices >= 1),
    -- Bytes that the job needs on each of its devices, as estimated when it was submitted.
    memory_bytes   bigint not null default 0,
    result         text,
    failure        text
, stop_reason text, stop_failure text, forked_from text, metadata text not null default '{}', budget text, storage_full_at bigint, storage_failure text, base bigint, base_bytes bigint not null default 0);

CREATE TABLE verification (
    job_id                   text primary key references job (id),
    source_job               text not null,
    checkpoint_id            text not null,
    directory                text not null,
    from_step                bigint not null check (from_step >= 0),
    expected_weights_sha256  text not null
);

CREATE TABLE file (
    id               text primary key,
    project          text not null default 'default',
    filename         text not null,
    purpose          text not null,
    bytes            bigint not null check (bytes >= 0),
    sha256           text not null,
    created_at       bigint not null,
    -- When it is removed by itself; null: never.
    expires_at       bigint,
    -- What the first job that used the file made of it; the next ones share it.
    dataset_version  text references dataset_version (id) on delete set null
);

CREATE TABLE upload (
    id               text primary key,
    project          text not null default 'default',
    filename         text not null,
    purpose          text not null,
    mime_type        text not null,
    -- Of the whole file, as announced.
    bytes            bigint not null check (bytes >= 1),
    status           text not null check (status in ('pending', 'completed', 'cancelled', 'expired')),
    created_at       bigint not null,
    expires_at       bigint not null,
    -- How long the finished file lives; null: for ever.
    file_seconds     bigint,
    file_id          text references file (id) on delete set null
);

CREATE TABLE upload_part (
    id          text primary key,
    upload_id   text not null references upload (id),
    bytes       bigint not null check (bytes >= 1),
    created_at  bigint not null
);

CREATE TABLE fine_tuning (
    job_id      text primary key,
    project     text not null default 'default',
    -- The request in OpenAI's words.
    request     text not null,
    created_at  bigint not null
);

CREATE TABLE webhook_endpoint (
    id                text primary key,
    project           text not null default 'default',
    url               text not null,
    description       text,
    -- A list of types of events, or ["*"].
    events            text not null,
    enabled           bigint not null check (enabled in (0, 1)),
    -- Why the server has disabled it.
    disabled_reason   text,
    -- Signatures need the secret itself, so that a digest of it would not do.
    secret            text not null,
    -- Signs beside the secret until then.
    old_secret        text,
    old_secret_until  bigint,
    metadata          text not null,
    created_at        bigint not null,
    -- Events up to this one are from before it was made or enabled.
    from_position     bigint not null,
    -- The first failure since the last success.
    failing_since     bigint,
    check ((old_secret is null) = (old_secret_until is null))
);

CREATE TABLE webhook_delivery (
    id               text primary key,
    endpoint_id      text not null references webhook_endpoint (id) on delete cascade,
    -- Null for a test. Not a reference: what was told stays when a job is deleted.
    event_id         text,
    type             text not null,
    -- As it is sent and signed, the same in every try.
    body             text not null,
    status           text not null check (status in ('pending', 'succeeded', 'failed')),
    attempts         bigint not null default 0,
    -- Tries since it was made or last asked for: its place in the schedule.
    tries            bigint not null default 0,
    next_attempt_at  bigint,
    created_at       bigint not null,
    unique (endpoint_id, event_id),
    check ((status = 'pending') = (next_attempt_at is not null))
);

CREATE TABLE webhook_attempt (
    delivery_id   text not null references webhook_delivery (id) on delete cascade,
    number        bigint not null,
    started_at    bigint not null,
    milliseconds  bigint not null,
    -- Null when there was no answer.
    http_status   bigint,
    -- The begin of the answer's body.
    answer        text,
    error         text,
    primary key (delivery_id, number)
);

CREATE TABLE webhook_cursor (
    only_row  bigint primary key check (only_row = 1),
    position  bigint not null
);

CREATE TABLE api_key (
    id            text primary key,
    project       text not null,
    name          text not null,
    -- SHA-256 of the key, in hexadecimal digits; the key itself is nowhere.
    digest        text not null unique,
    -- The first characters of the key, by which people recognise it.
    prefix        text not null,
    scopes        text not null,
    metadata      text not null,
    created_at    bigint not null,
    expires_at    bigint,
    revoked_at    bigint,
    last_used_at  bigint
);

CREATE TABLE project (
    name                 text primary key,
    -- Null: no limit.
    requests_per_minute  bigint check (requests_per_minute >= 1),
    max_unfinished_jobs  bigint check (max_unfinished_jobs >= 0),
    max_devices          bigint check (max_devices >= 0),
    max_storage_bytes    bigint check (max_storage_bytes >= 0),
    created_at           bigint not null,
    updated_at           bigint not null
, share bigint not null default 1, turn bigint not null default 0, next_turn bigint not null default 0, waiting bigint not null default 0);

CREATE TABLE audit_entry (
    id          text primary key,
    project     text not null,
    -- Null: without a key, or with one that is not known.
    key_id      text,
    method      text not null,
    path        text not null,
    status      bigint not null,
    code        text,
    request_id  text not null,
    created_at  bigint not null
, requests bigint not null default 1, number bigint, previous text, hash text);

CREATE TABLE idempotency (
    project     text not null,
    key         text not null,
    -- Of the request: path and body.
    digest      text not null,
    -- The job that was made; null for other requests.
    resource    text,
    -- The answer to other requests; null while they are under way.
    status      bigint,
    answer      text,
    created_at  bigint not null,
    primary key (project, key)
);

CREATE TABLE job_input (
    job_id  text not null references job (id),
    -- model, teacher, rows, held_out, rollouts, verifier, resume.
    role    text not null,
    -- builtin, model, checkpoint, dataset_version, rollout_set, verifier, path.
    kind    text not null,
    id      text not null,
    -- Of what it was at submission, where the id alone does not say so.
    digest  text,
    primary key (job_id, role, id)
);

CREATE TABLE artifact (
    -- ckpt_..., rs_... or ev_...
    id            text primary key,
    job_id        text not null references job (id),
    -- training, inference, rollouts, evaluation; without a check, because more will come.
    kind          text not null,
    -- Optimizer steps that the job had taken.
    step          bigint not null,
    -- Below the folder of all jobs.
    directory     text not null unique,
    bytes         bigint not null,
    manifest      text not null,
    -- Of a checkpoint: mean pass@k, for the first k, of the evaluation at its step, if there was one.
    score         double precision,
    -- What a rollout set or an evaluation holds, in numbers.
    summary       text,
    completed_at  bigint not null
, provenance text);

CREATE TABLE rollout_set (
    id                text primary key,
    job_id            text not null references job (id),
    name              text,
    -- As in the resolved spec, with digests of the weights and of the tokenizer that it stood for.
    model             text not null,
    model_digest      text not null,
    tokenizer_digest  text not null,
    -- The resolved spec; null when a training job keeps what it samples.
    spec              text,
    metadata          text not null,
    created_at        bigint not null
);

CREATE TABLE deleted_event (
    id        text primary key,
    position  bigint not null unique,
    project   text not null
);

CREATE TABLE metric_rollup (
    job_id       text not null references job (id),
    -- Steps that a point stands for.
    width        bigint not null,
    name         text not null,
    -- Of the steps from bucket * width on.
    bucket       bigint not null,
    value_count  bigint not null check (value_count >= 1),
    value_sum    double precision not null,
    value_min    double precision not null,
    value_max    double precision not null,
    last_step    bigint not null,
    primary key (job_id, width, name, bucket)
);

CREATE TABLE rollout_sample (
    job_id  text primary key references job (id),
    bytes   bigint not null
);

CREATE TABLE session (
    digest text primary key,
    -- A link is used once, for a session of the same key.
    kind text not null check (kind in ('session', 'link')),
    key_id text not null references api_key (id),
    created_at bigint not null,
    expires_at bigint not null
);

CREATE TABLE export (
    id             text primary key,
    job_id         text not null references job (id),
    -- It may be deleted when the export is ready.
    checkpoint_id  text not null,
    format         text not null,
    dtype          text,
    status         text not null check (status in ('pending', 'running', 'ready', 'failed')),
    -- What it takes; before it is ready, what it is expected to.
    bytes          bigint not null,
    bytes_done     bigint not null default 0,
    failure        text,
    manifest       text,
    created_at     bigint not null,
    completed_at   bigint
, provenance text);

CREATE TABLE device (
    -- cpu, cuda:N, simulated:N.
    name                text primary key,
    number              bigint not null,
    description         text not null,
    uuid                text,
    memory_total        bigint not null,
    -- As of the last look; what an idle worker of ours holds counts as free.
    memory_free         bigint not null,
    compute_capability  text,
    driver_version      text,
    -- A list of {pid, memory_used, ours}.
    processes           text not null default '[]',
    status              text not null check (status in ('idle', 'busy', 'faulted', 'checking', 'foreign')),
    -- Why it takes no jobs; stays until a check finds it well.
    fault               text,
    faulted_at          bigint,
    -- How often it has failed.
    faults              bigint not null default 0,
    changed_at          bigint not null,
    seen_at             bigint not null
);

CREATE TABLE holding (
    device text not null references device (name) on delete cascade,
    job_id text not null references job (id),
    primary key (device, job_id)
);

CREATE TABLE push (
    export_id      text primary key references export (id) on delete cascade,
    -- `hf:owner/name@branch`.
    destination    text not null,
    private        bigint not null check (private in (0, 1)),
    status         text not null check (status in ('pending', 'running', 'succeeded', 'failed')),
    -- Of all files, and of these those that are on the hub.
    bytes          bigint not null,
    bytes_done     bigint not null default 0,
    commit_id      text,
    url            text,
    failure        text,
    created_at     bigint not null,
    completed_at   bigint
);

CREATE TABLE verifier_audit (
    project        text not null,
    -- Of the configuration with all defaults.
    digest         text not null,
    -- A version (`dsv_...`) or a built-in.
    dataset        text not null,
    trusted        bigint not null check (trusted in (0, 1)),
    -- JSON: why not, in sentences.
    reasons        text not null,
    created_at     bigint not null,
    primary key (project, digest, dataset)
);

CREATE TABLE attempt (
    job_id      text not null references job (id),
    number      bigint not null,
    worker      text not null,
    device      text not null,
    started_at  bigint not null,
    ended_at    bigint,
    outcome     text, devices text not null default '[]', first_step bigint not null default 0, held_milliseconds bigint not null default 0,
    primary key (job_id, number)
);

CREATE TABLE event (
    -- The order of all events of all jobs, for those who follow everything.
    position    bigint generated by default as identity primary key,
    id          text not null unique,
    job_id      text not null references job (id),
    seq         bigint not null,
    type        text not null,
    level       text not null,
    message     text not null,
    data        text not null,
    created_at  bigint not null,
    unique (job_id, seq)
);

CREATE TABLE metric (
    job_id  text not null references job (id),
    name    text not null,
    step    bigint not null,
    value   double precision not null,
    primary key (job_id, name, step)
);

CREATE INDEX job_project on job (project, id);
CREATE INDEX verification_source on verification (source_job);
CREATE INDEX event_notable on event (job_id, seq) where level <> 'info';
CREATE INDEX file_project on file (project, id);
CREATE INDEX file_expiry on file (expires_at) where expires_at is not null;
CREATE INDEX file_dataset_version on file (dataset_version) where dataset_version is not null;
CREATE INDEX upload_pending on upload (expires_at) where status = 'pending';
CREATE INDEX upload_file on upload (file_id) where file_id is not null;
CREATE INDEX upload_part_upload on upload_part (upload_id);
CREATE INDEX webhook_endpoint_project on webhook_endpoint (project, id);
CREATE INDEX webhook_delivery_endpoint on webhook_delivery (endpoint_id, id);
CREATE INDEX webhook_delivery_due on webhook_delivery (endpoint_id, next_attempt_at, id) where status = 'pending';
CREATE INDEX webhook_delivery_age on webhook_delivery (created_at);
CREATE INDEX job_unfinished on job (project) where finished_at is null;
CREATE INDEX idempotency_age on idempotency (created_at);
CREATE INDEX idempotency_resource on idempotency (resource) where resource is not null;
CREATE INDEX audit_entry_key on audit_entry (key_id, id) where key_id is not null;
CREATE INDEX audit_entry_age on audit_entry (created_at);
CREATE INDEX job_kind on job (project, kind, id);
CREATE INDEX job_input_id on job_input (id);
CREATE INDEX artifact_job on artifact (job_id, kind, step);
CREATE UNIQUE INDEX rollout_set_job on rollout_set (job_id);
CREATE INDEX job_status on job (project, status, id);
CREATE INDEX job_storage on job (storage_full_at) where storage_full_at is not null;
CREATE INDEX job_waiting on job (project, priority desc, id) where status = 'queued';
CREATE INDEX job_worker on job (worker) where worker is not null;
CREATE UNIQUE INDEX audit_entry_number on audit_entry (number);
CREATE INDEX audit_entry_project on audit_entry (project, id);
CREATE INDEX job_name on job (project, name, id) where name is not null;
CREATE INDEX dataset_name on dataset (project, name, id) where name is not null;
CREATE INDEX model_name on model (project, name, id) where name is not null;
CREATE INDEX verifier_name on verifier (project, name, id) where name is not null;
CREATE INDEX session_key on session (key_id, kind, created_at);
CREATE INDEX session_expires on session (expires_at);
CREATE INDEX model_source on model (source, id) where source like 'hf:%';
CREATE INDEX model_status on model (status, id) where status <> 'ready';
CREATE INDEX export_job on export (job_id);
CREATE INDEX export_checkpoint on export (checkpoint_id, id);
CREATE INDEX export_status on export (status, id) where status in ('pending', 'running');
CREATE INDEX model_by_base on model (base) where base is not null;
CREATE INDEX holding_job on holding (job_id);
CREATE INDEX push_status on push (status, created_at) where status in ('pending', 'running');

create function audit_entry_stays_as_it_is() returns trigger language plpgsql as $$
begin raise exception 'entries of the audit log never change'; end $$;

create trigger audit_entry_stays_as_it_is before update on audit_entry
    for each row execute function audit_entry_stays_as_it_is();

create function audit_entry_stays() returns trigger language plpgsql as $$
begin
    if old.created_at > (extract(epoch from clock_timestamp())::bigint - 365 * 24 * 3600) * 1000 then
        raise exception 'entries of the audit log stay for a year';
    end if;
    return old;
end $$;

create trigger audit_entry_stays before delete on audit_entry for each row execute function audit_entry_stays();

insert into webhook_cursor (only_row, position) values (1, 0);
