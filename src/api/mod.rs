//! The REST API. Handlers read the request, ask the store and shape the answer; they meet the workers only in the
//! database. Every route is on this page; each endpoint has a file with its request, response and description.

mod access;
pub mod checkpoints;
pub mod datasets;
mod devices;
mod download;
pub mod error;
mod extract;
mod feed;
mod health;
mod host;
mod idempotency;
pub mod jobs;
mod metrics;
mod metrics_catalog;
pub mod models;
mod objectives;
pub mod openai;
mod openapi;
mod queue;
mod resolve;
mod resources;
pub mod rollout_sets;
mod verifiers;

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderName, StatusCode};
use axum::middleware;
use axum::response::IntoResponse;
use tokio::sync::watch;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::request_id::{MakeRequestUuid, PropagateRequestIdLayer, SetRequestIdLayer};
use tower_http::trace::TraceLayer;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::store::Store;
use error::Problem;
use feed::Feed;

pub use openapi::document;

/// What handlers work with.
#[derive(Clone)]
pub struct App {
    pub store: Store,
    pub settings: Arc<ApiSettings>,
    feed: Feed,
    /// Becomes true when the server is about to end; streams and waits then end too.
    shutdown: watch::Receiver<bool>,
}

/// The operator's choices.
#[derive(Clone, Debug)]
pub struct ApiSettings {
    /// Folders below which models may be imported.
    pub import_roots: Vec<PathBuf>,
    pub max_upload_bytes: u64,
    /// Host names besides the loopback ones under which the server is reached.
    pub allowed_hosts: Vec<String>,
}

/// Every route, with its description.
fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(jobs::create::create_job, jobs::list::list_jobs))
        .routes(routes!(jobs::get::get_job))
        .routes(routes!(jobs::cancel::cancel_job))
        .routes(routes!(jobs::wait::wait_for_job))
        .routes(routes!(jobs::events::job_events))
        .routes(routes!(jobs::metrics::job_metrics))
        .routes(routes!(jobs::checkpoints::job_checkpoints))
        .routes(routes!(datasets::create::create_dataset, datasets::list::list_datasets))
        .routes(routes!(datasets::get::get_dataset))
        .routes(routes!(datasets::versions::create_dataset_version))
        .routes(routes!(models::import::import_model, models::list::list_models))
        .routes(routes!(models::get::get_model, models::delete::delete_model))
        .routes(routes!(verifiers::create::create_verifier, verifiers::list::list_verifiers))
        .routes(routes!(verifiers::get::get_verifier))
        .routes(routes!(verifiers::test::test_verifier))
        .routes(routes!(checkpoints::list::list_checkpoints))
        .routes(routes!(checkpoints::get::get_checkpoint))
        .routes(routes!(checkpoints::get::get_checkpoint_manifest))
        .routes(routes!(checkpoints::file::download_checkpoint_file))
        .routes(routes!(rollout_sets::create::create_rollout_set, rollout_sets::list::list_rollout_sets))
        .routes(routes!(rollout_sets::get::get_rollout_set))
        .routes(routes!(rollout_sets::get::get_rollout_set_manifest))
        .routes(routes!(rollout_sets::rollouts::list_rollouts))
        .routes(routes!(rollout_sets::file::download_rollout_set_file))
        .routes(routes!(rollout_sets::frontier::frontier))
        .routes(routes!(openai::files::create::create_file, openai::files::list::list_files))
        .routes(routes!(openai::files::get::get_file, openai::files::delete::delete_file))
        .routes(routes!(openai::files::content::download_file))
        .routes(routes!(openai::uploads::create::create_upload))
        .routes(routes!(openai::uploads::part::create_upload_part))
        .routes(routes!(openai::uploads::complete::complete_upload))
        .routes(routes!(openai::uploads::cancel::cancel_upload))
        .routes(routes!(
            openai::fine_tuning::create::create_fine_tuning_job,
            openai::fine_tuning::list::list_fine_tuning_jobs
        ))
        .routes(routes!(openai::fine_tuning::get::get_fine_tuning_job))
        .routes(routes!(openai::fine_tuning::cancel::cancel_fine_tuning_job))
        .routes(routes!(openai::fine_tuning::pause::pause_fine_tuning_job))
        .routes(routes!(openai::fine_tuning::resume::resume_fine_tuning_job))
        .routes(routes!(openai::fine_tuning::events::list_fine_tuning_events))
        .routes(routes!(openai::fine_tuning::checkpoints::list_fine_tuning_checkpoints))
        .routes(routes!(openai::graders::validate::validate_grader))
        .routes(routes!(openai::graders::run::run_grader))
        .routes(routes!(objectives::list_objectives))
        .routes(routes!(metrics_catalog::list_metrics))
        .routes(routes!(devices::list_devices))
        .routes(routes!(queue::get_queue))
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .routes(routes!(metrics::metrics))
}

/// The whole service. Must be called within a tokio runtime.
pub fn service(store: Store, settings: ApiSettings, shutdown: watch::Receiver<bool>) -> Router {
    let feed = Feed::start(store.clone(), shutdown.clone());
    openai::sweep::start(store.clone(), shutdown.clone());
    let hosts: Arc<[String]> = settings.allowed_hosts.clone().into();
    let app = App { store, settings: Arc::new(settings), feed, shutdown };
    let (router, _) = routes().split_for_parts();
    let request_id = HeaderName::from_static("x-request-id");
    openapi::mount(router)
        .fallback(|| async { Problem::new(StatusCode::NOT_FOUND, "no_such_route", "there is nothing here; see /docs") })
        .method_not_allowed_fallback(|| async {
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "this path has other methods; see /docs")
        })
        .with_state(app)
        .layer(CatchPanicLayer::custom(|_panic| {
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "something went wrong on the server")
                .into_response()
        }))
        .layer(middleware::from_fn_with_state(hosts, host::check))
        .layer(middleware::from_fn(error::finish))
        .layer(TraceLayer::new_for_http())
        .layer(PropagateRequestIdLayer::new(request_id.clone()))
        .layer(SetRequestIdLayer::new(request_id, MakeRequestUuid))
}

/// The service, ready to be given connections.
pub type Service = Router;

/// Serves connections until `shutdown` is ready.
pub async fn serve(
    listener: tokio::net::TcpListener,
    service: Service,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    axum::serve(listener, service).with_graceful_shutdown(shutdown).await
}
