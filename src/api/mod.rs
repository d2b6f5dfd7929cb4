//! The REST API: every route on this page, and for each endpoint a file with its request, response and description.
//! Handlers read the request, ask the store and shape the answer; they meet the workers only in the database, and, for
//! completions, on an idle worker's socket.

mod access;
mod agents;
mod archive;
mod audit;
mod audit_log;
mod blocking;
mod browser;
mod caller;
pub mod checkpoints;
mod compress;
mod connections;
mod credential;
pub mod datasets;
mod deleted;
mod devices;
mod docs;
mod download;
pub mod error;
mod etag;
pub mod evaluations;
mod events;
pub mod exports;
mod extract;
mod feed;
mod health;
mod host;
mod hosts;
mod idempotency;
pub mod imports;
mod inference;
pub mod jobs;
mod keys;
mod labels;
mod launches;
mod limits;
mod lines;
mod metrics;
mod metrics_catalog;
mod mlflow;
pub mod models;
mod objectives;
pub mod openai;
mod openapi;
mod page;
mod places;
mod projects;
mod queue;
mod resolve;
mod resources;
pub mod rollout_sets;
mod route;
mod row_source;
pub mod sandbox;
mod scan;
mod sessions;
mod signing_keys;
mod strangers;
mod suites;
mod sweeps;
mod table;
mod tail;
pub mod teacher;
pub mod templates;
mod trace;
mod unread;
mod verifiable;
pub mod verifiers;
mod webhook_deliveries;
mod webhook_endpoints;

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderName, StatusCode};
use axum::middleware;
use axum::response::IntoResponse;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::request_id::{MakeRequestUuid, PropagateRequestIdLayer, SetRequestIdLayer};
use tower_http::timeout::RequestBodyTimeoutLayer;
use tower_http::trace::TraceLayer;
use utoipa_axum::routes;

use crate::hub::PushTargets;
use crate::job::ApiKeyId;
use crate::outbound::Guard;
use crate::store::Store;
use crate::verifier::Outside;
use access::AnonymousAccess;
use datasets::pulls::Pulls;
use datasets::rows::RowIndexes;
use error::Problem;
use etag::Answers;
use feed::Feed;
use imports::{Finder, Pull, Sources};
use limits::Limits;
use places::Places;
use route::{Kind, Routes};

pub use openapi::document;

/// How long a client may pause within the body of a request.
const BODY_SILENCE: Duration = Duration::from_secs(60);

/// What handlers work with.
#[derive(Clone)]
pub struct App {
    pub store: Store,
    /// The key of the request, if it has one.
    caller: Option<ApiKeyId>,
    /// Whether whoever makes the request may have programs run.
    runs_code: bool,
    shared: Arc<Shared>,
}

impl Deref for App {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl App {
    /// Where models that a request names are looked for.
    fn finder(&self, pull: Pull) -> Finder<'_> {
        Finder { store: &self.store, sources: &self.settings.sources, pull }
    }
}

/// What all requests have in common.
pub struct Shared {
    pub settings: ApiSettings,
    feed: Feed,
    anonymous: AnonymousAccess,
    limits: Limits,
    dispatcher: inference::dispatch::Dispatcher,
    answers: Answers,
    keyed: idempotency::Keyed,
    row_indexes: RowIndexes,
    readable: agents::Readable,
    attendance: agents::attendance::Attendance,
    openings: agents::openings::Openings,
    agent_counts: agents::counts::Counts,
    calls: agents::calls::Calls,
    pulls: Pulls,
    /// For open event streams.
    streams: Places,
    /// Becomes true when the server is about to end; streams and waits then end too.
    shutdown: watch::Receiver<bool>,
}

/// The operator's choices.
#[derive(Clone, Debug)]
pub struct ApiSettings {
    /// Where models may come from.
    pub sources: Sources,
    pub max_upload_bytes: u64,
    /// For how long a worker may be silent.
    pub lease: Duration,
    /// Host names besides the loopback ones under which the server is reached.
    pub allowed_hosts: Vec<String>,
    /// Whether requests need no key as long as there is none.
    pub open_without_keys: bool,
    /// Where webhooks may be sent.
    pub webhook_guard: Guard,
    /// Where exports may be pushed.
    pub push_to: PushTargets,
    /// What verifiers may use beyond the program.
    pub verifiers: Outside,
    /// Becomes true when the server is to end and still serves for a while.
    pub leaving: watch::Receiver<bool>,
}

/// Every route with its description, and what kind it is where its method does not say.
fn routes() -> Routes {
    jobs()
        .merge(suites())
        .merge(sweeps())
        .merge(trackers())
        .merge(inputs_and_artifacts())
        .merge(openai())
        .merge(operations())
        .merge(agents())
}

/// Jobs and what is done with them.
fn jobs() -> Routes {
    Routes::default()
        .of(Kind::MakesJob, routes!(jobs::create::create_job, jobs::list::list_jobs))
        .routes(routes!(jobs::get::get_job, jobs::update::update_job, jobs::delete::delete_job))
        .routes(routes!(jobs::pause::pause_job))
        .routes(routes!(jobs::resume::resume_job))
        .of(Kind::MakesJob, routes!(jobs::fork::fork_job))
        .of(Kind::MakesJob, routes!(jobs::verify_resume::verify_resume))
        .routes(routes!(jobs::attempts::job_attempts))
        .routes(routes!(jobs::report::job_report))
        .routes(routes!(jobs::cancel::cancel_job))
        .routes(routes!(jobs::wait::wait_for_job))
        .routes(routes!(jobs::events::job_events))
        .routes(routes!(jobs::diagnoses::diagnose_job))
        .routes(routes!(jobs::metrics::job_metrics))
        .routes(routes!(jobs::metric_tables::get_metrics))
        .routes(routes!(jobs::checkpoints::job_checkpoints))
        .of(Kind::Downloads, routes!(jobs::rollouts::job_rollouts))
        .of(Kind::Asks, routes!(jobs::rollouts::judge::judge_rollouts))
}

/// Evaluations that are made and read together.
fn suites() -> Routes {
    Routes::default()
        .routes(routes!(suites::create::create_suite, suites::list::list_suites))
        .routes(routes!(suites::get::get_suite, suites::delete::delete_suite))
        .routes(routes!(suites::run::run_suite, suites::runs::list_suite_runs))
        .routes(routes!(suites::run::get_suite_run))
}

/// Jobs that are made and read together.
fn sweeps() -> Routes {
    Routes::default()
        .routes(routes!(sweeps::create::create_sweep, sweeps::list::list_sweeps))
        .routes(routes!(sweeps::get::get_sweep, sweeps::update::update_sweep))
        .routes(routes!(sweeps::cancel::cancel_sweep))
        .routes(routes!(sweeps::report::sweep_report))
}

/// What MLflow's clients know.
fn trackers() -> Routes {
    Routes::default()
        .of(Kind::Asks, routes!(mlflow::experiments::search_mlflow_experiments))
        .routes(routes!(mlflow::experiments::get_mlflow_experiment))
        .routes(routes!(mlflow::experiments::get_mlflow_experiment_by_name))
        .of(Kind::Asks, routes!(mlflow::runs::search_mlflow_runs))
        .routes(routes!(mlflow::runs::get_mlflow_run))
        .routes(routes!(mlflow::metrics::get_mlflow_history))
        .routes(routes!(mlflow::artifacts::list_mlflow_artifacts))
        .of(Kind::Downloads, routes!(mlflow::artifacts::download_mlflow_artifact))
}

/// What jobs need, and what they make.
fn inputs_and_artifacts() -> Routes {
    Routes::default()
        .routes(routes!(datasets::create::create_dataset, datasets::list::list_datasets))
        .routes(routes!(datasets::builtins::list_builtin_datasets))
        .routes(routes!(datasets::get::get_dataset, datasets::update::update_dataset))
        .routes(routes!(datasets::delete::delete_dataset))
        .routes(routes!(datasets::append::append_to_dataset))
        .routes(routes!(datasets::pulls::list_dataset_pulls))
        .routes(routes!(datasets::version::get_dataset_version))
        .of(Kind::Downloads, routes!(datasets::content::download_dataset_version))
        .of(Kind::Downloads, routes!(datasets::rows::list_dataset_rows))
        .of(Kind::Downloads, routes!(datasets::prompts::list_row_prompts))
        .of(Kind::Asks, routes!(datasets::check::check_dataset_version))
        .routes(routes!(datasets::filter::filter_dataset_version))
        .routes(routes!(datasets::versions::create_dataset_version, datasets::list_versions::list_dataset_versions))
        .routes(routes!(models::import::import_model, models::list::list_models))
        .routes(routes!(models::get::get_model, models::delete::delete_model))
        .routes(routes!(verifiers::create::create_verifier, verifiers::list::list_verifiers))
        .routes(routes!(verifiers::get::get_verifier, verifiers::update::update_verifier))
        .routes(routes!(verifiers::delete::delete_verifier))
        .of(Kind::Asks, routes!(verifiers::audit::audit_verifier))
        .of(Kind::Asks, routes!(verifiers::test::test_verifier))
        .of(Kind::Asks, routes!(verifiers::test::try_verifier))
        .routes(routes!(checkpoints::list::list_checkpoints))
        .routes(routes!(checkpoints::get::get_checkpoint, checkpoints::delete::delete_checkpoint))
        .routes(routes!(checkpoints::get::get_checkpoint_manifest))
        .routes(routes!(checkpoints::provenance::get_checkpoint_provenance))
        .of(Kind::Downloads, routes!(checkpoints::file::download_checkpoint_file))
        .routes(routes!(exports::create::create_export))
        .routes(routes!(exports::list::list_exports))
        .routes(routes!(exports::get::get_export, exports::delete::delete_export))
        .routes(routes!(exports::push::push_export))
        .routes(routes!(exports::get::get_export_manifest))
        .routes(routes!(exports::get::get_export_provenance))
        .of(Kind::Downloads, routes!(exports::file::download_export_file))
        .of(Kind::Downloads, routes!(exports::archive::download_export_archive))
        .of(Kind::MakesJob, routes!(rollout_sets::create::create_rollout_set, rollout_sets::list::list_rollout_sets))
        .routes(routes!(rollout_sets::get::get_rollout_set, rollout_sets::delete::delete_rollout_set))
        .routes(routes!(rollout_sets::get::get_rollout_set_manifest))
        .of(Kind::Downloads, routes!(rollout_sets::rollouts::list_rollouts))
        .of(Kind::Downloads, routes!(rollout_sets::file::download_rollout_set_file))
        .of(Kind::Asks, routes!(rollout_sets::frontier::frontier))
        .of(Kind::Asks, routes!(rollout_sets::advice::advice))
        .of(Kind::MakesJob, routes!(rollout_sets::regrade::regrade_rollout_set))
        .of(Kind::Downloads, routes!(checkpoints::archive::download_checkpoint_archive))
        .of(Kind::Downloads, routes!(rollout_sets::archive::download_rollout_set_archive))
        .of(Kind::Downloads, routes!(rollout_sets::table::download_rollout_set_table))
        .of(Kind::MakesJob, routes!(evaluations::create::create_evaluation, evaluations::list::list_evaluations))
        .routes(routes!(evaluations::get::get_evaluation))
        .of(Kind::Downloads, routes!(evaluations::results::list_evaluation_results))
        .of(Kind::Downloads, routes!(evaluations::table::download_evaluation_table))
        .of(Kind::Downloads, routes!(evaluations::breakdown::break_evaluation_down))
        .of(Kind::Asks, routes!(evaluations::compare::compare_evaluations))
}

/// What OpenAI's clients know.
fn openai() -> Routes {
    Routes::default()
        .of(Kind::Completes, routes!(inference::chat::create_chat_completion))
        .of(Kind::Completes, routes!(inference::completions::create_completion))
        .routes(routes!(openai::files::create::create_file, openai::files::list::list_files))
        .routes(routes!(openai::files::get::get_file, openai::files::delete::delete_file))
        .of(Kind::Downloads, routes!(openai::files::content::download_file))
        .routes(routes!(openai::uploads::create::create_upload))
        .routes(routes!(openai::uploads::part::create_upload_part))
        .routes(routes!(openai::uploads::direct::create_direct_part))
        .routes(routes!(openai::uploads::complete::complete_upload))
        .routes(routes!(openai::uploads::cancel::cancel_upload))
        .of(
            Kind::MakesJob,
            routes!(
                openai::fine_tuning::create::create_fine_tuning_job,
                openai::fine_tuning::list::list_fine_tuning_jobs
            ),
        )
        .routes(routes!(openai::fine_tuning::get::get_fine_tuning_job))
        .routes(routes!(openai::fine_tuning::cancel::cancel_fine_tuning_job))
        .routes(routes!(openai::fine_tuning::pause::pause_fine_tuning_job))
        .routes(routes!(openai::fine_tuning::resume::resume_fine_tuning_job))
        .routes(routes!(openai::fine_tuning::events::list_fine_tuning_events))
        .routes(routes!(openai::fine_tuning::checkpoints::list_fine_tuning_checkpoints))
        .of(Kind::Asks, routes!(openai::graders::validate::validate_grader))
        .of(Kind::Asks, routes!(openai::graders::run::run_grader))
}

/// What happens, on which devices, and who may see it.
fn operations() -> Routes {
    Routes::default()
        .routes(routes!(events::list_events))
        .routes(routes!(
            webhook_endpoints::create::create_webhook_endpoint,
            webhook_endpoints::list::list_webhook_endpoints
        ))
        .routes(routes!(
            webhook_endpoints::get::get_webhook_endpoint,
            webhook_endpoints::update::update_webhook_endpoint,
            webhook_endpoints::delete::delete_webhook_endpoint
        ))
        .routes(routes!(webhook_endpoints::rotate_secret::rotate_webhook_secret))
        .routes(routes!(webhook_endpoints::test::test_webhook_endpoint))
        .routes(routes!(webhook_endpoints::deliveries::list_webhook_deliveries))
        .routes(routes!(webhook_deliveries::get::get_webhook_delivery))
        .routes(routes!(webhook_deliveries::redeliver::redeliver_webhook))
        .routes(routes!(objectives::list_objectives))
        .routes(routes!(metrics_catalog::list_metrics))
        .routes(routes!(devices::list_devices))
        .of(Kind::Operates, routes!(hosts::list::list_hosts))
        .of(Kind::Operates, routes!(hosts::change::cordon_host))
        .of(Kind::Operates, routes!(hosts::change::uncordon_host))
        .of(Kind::Operates, routes!(hosts::change::drain_host))
        .of(Kind::Operates, routes!(launches::list::list_launches))
        .of(Kind::Operates, routes!(launches::get::get_launch))
        .routes(routes!(queue::get_queue))
        .of(Kind::Administers, routes!(keys::create::create_api_key, keys::list::list_api_keys))
        .of(Kind::Administers, routes!(keys::get::get_api_key))
        .of(Kind::Administers, routes!(keys::revoke::revoke_api_key))
        .of(Kind::Administers, routes!(projects::list::list_projects))
        .of(Kind::Operates, routes!(projects::get::get_project, projects::set::set_project))
        .of(Kind::Administers, routes!(audit_log::list_audit_log))
        .of(Kind::SignsIn, routes!(sessions::create::create_session))
        .of(Kind::Asks, routes!(sessions::current::get_session, sessions::end::end_session))
        .of(Kind::Asks, routes!(sessions::link::create_session_link))
        .of(Kind::Public, routes!(health::healthz))
        .of(Kind::Public, routes!(health::readyz))
        .of(Kind::Public, routes!(signing_keys::signing_keys))
        .routes(routes!(metrics::metrics))
}

/// What agents ask, which are machines without the database.
fn agents() -> Routes {
    let files = routes!(agents::files::read_worker_file, agents::upload::write_worker_file);
    Routes::default()
        .of(Kind::Joins, routes!(agents::host::register_host))
        .of(Kind::Serves, routes!(agents::device::tell_device))
        .of(Kind::Serves, routes!(agents::worker::start_worker))
        .of(Kind::Serves, routes!(agents::beat::worker_beat))
        .of(Kind::Serves, routes!(agents::claim::claim_job))
        .of(Kind::Serves, routes!(agents::calls::wait_for_call))
        .of(Kind::Serves, routes!(agents::calls::answer_call))
        .of(Kind::Serves, routes!(agents::end::end_worker))
        .of(Kind::Serves, routes!(agents::files::list_worker_files))
        .of(Kind::Serves, files)
        .of(Kind::Serves, routes!(agents::lease::get_lease))
        .of(Kind::Serves, routes!(agents::heed::heed_lease))
        .of(Kind::Serves, routes!(agents::rendezvous::open_rendezvous))
        .of(Kind::Serves, routes!(agents::events::report_events))
        .of(Kind::Serves, routes!(agents::artifact::add_artifact))
        .of(Kind::Serves, routes!(agents::end::end_attempt))
}

/// The whole service. Must be called within a tokio runtime.
pub fn service(store: Store, settings: ApiSettings, shutdown: watch::Receiver<bool>) -> Service {
    let feed = Feed::start(store.clone(), shutdown.clone());
    openai::sweep::start(store.clone(), shutdown.clone());
    let hosts: Arc<[String]> = settings.allowed_hosts.clone().into();
    let anonymous = AnonymousAccess::start(store.clone(), settings.open_without_keys, shutdown.clone());
    let attendance = agents::attendance::Attendance::start(store.clone(), shutdown.clone());
    let (log, audit) = audit::start(store.clone());
    let (limits, dispatcher) = (Limits::default(), inference::dispatch::Dispatcher::default());
    let (answers, row_indexes, keyed) = (Answers::default(), RowIndexes::default(), idempotency::Keyed::default());
    let shared = Shared {
        settings,
        feed,
        anonymous,
        limits,
        dispatcher,
        answers,
        keyed,
        row_indexes,
        readable: agents::Readable::default(),
        attendance,
        openings: agents::openings::Openings::default(),
        agent_counts: agents::counts::Counts::default(),
        calls: agents::calls::Calls::default(),
        pulls: Pulls::default(),
        streams: Places::new(tail::MOST_STREAMS),
        shutdown,
    };
    let app = App { store, caller: None, runs_code: false, shared: Arc::new(shared) };
    suites::after::start(app.clone(), app.shutdown.clone());
    let (router, document, kinds) = routes().into_parts();
    let parameters = Arc::new(route::parameters(&document));
    let handlers = router.clone().with_state(app.clone());
    let request_id = HeaderName::from_static("x-request-id");
    let router = router
        .fallback(|| async { Problem::new(StatusCode::NOT_FOUND, "no_such_route", "there is nothing here; see /docs") })
        .method_not_allowed_fallback(other_methods)
        .layer(middleware::from_fn_with_state((app.clone(), handlers), idempotency::replay))
        .layer(middleware::from_fn_with_state(parameters, route::know_parameters))
        .layer(middleware::from_fn_with_state(app.clone(), limits::check))
        .layer(middleware::from_fn_with_state(app.clone(), access::check))
        // What describes the service is for everybody, and behind none of these.
        .merge(openapi::pages().merge(docs::pages()).merge(page::pages()).method_not_allowed_fallback(other_methods))
        .with_state(app)
        .layer(CatchPanicLayer::custom(|_panic| {
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "something went wrong on the server")
                .into_response()
        }))
        .layer(RequestBodyTimeoutLayer::new(BODY_SILENCE))
        .layer(middleware::from_fn_with_state(hosts, host::check))
        .layer(middleware::from_fn_with_state(log, audit::record))
        .layer(middleware::from_fn_with_state(Arc::new(kinds), route::mark))
        .layer(middleware::from_fn(error::finish))
        .layer(compress::layer())
        .layer(middleware::map_request(compress::only_what_is_read))
        .layer(middleware::from_fn(browser::protect))
        .layer(middleware::from_fn(unread::read_on))
        .layer(TraceLayer::new_for_http().make_span_with(trace::begin).on_response(trace::end))
        .layer(PropagateRequestIdLayer::new(request_id.clone()))
        .layer(SetRequestIdLayer::new(request_id, MakeRequestUuid));
    Service { router, audit }
}

async fn other_methods() -> Problem {
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "this path has other methods; see /docs")
}

/// The service, ready to be given connections.
pub struct Service {
    router: Router,
    /// Ends when the router is gone and all entries are written.
    audit: JoinHandle<()>,
}

/// Serves connections until `shutdown` is ready.
pub async fn serve(listener: tokio::net::TcpListener, service: Service, shutdown: impl Future<Output = ()>) {
    connections::serve(listener, service.router, shutdown).await;
    if service.audit.await.is_err() {
        tracing::error!("the audit log ended early");
    }
}
