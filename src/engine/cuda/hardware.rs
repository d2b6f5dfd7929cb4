//! A GPU, through the CUDA driver and cuBLAS. Both are loaded when the first device is opened, so that a program with
//! this module starts on any machine and says what is missing. The kernels were compiled at build time.

use std::collections::HashMap;
use std::ffi::{CString, c_int, c_void};
use std::fmt;
use std::sync::{Mutex, PoisonError};

use cudarc::cublas::{result as cublas, sys as cublas_sys};
use cudarc::driver::result::{self as cuda, DriverError};
use cudarc::driver::sys::{self, CUresult};

use crate::engine::driver::{Argument, DeviceError, Driver, Kind, Launch, Pointer, Product, Recording, Result};

/// The kernels for the processors that the build named, and in a form that the driver can compile for later ones.
static KERNELS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/kernels.fatbin"));
/// What products may use beside their factors.
const WORKSPACE_BYTES: usize = 64 << 20;
/// The version of CUDA that the kernels were compiled with, as the driver counts.
const BUILT_WITH: c_int = 13_000;
/// Shared memory that a kernel gets without asking.
const PLAIN_SHARED_BYTES: u32 = 48 << 10;

/// One GPU with its context, stream, kernels and cuBLAS.
pub struct Gpu {
    device: sys::CUdevice,
    context: sys::CUcontext,
    stream: sys::CUstream,
    module: sys::CUmodule,
    /// Kernels by name, with the shared memory that each may have.
    functions: Mutex<HashMap<String, (Function, u32)>>,
    cublas: cublas_sys::cublasHandle_t,
    workspace: Pointer,
    #[cfg(feature = "nccl")]
    ranks: Mutex<Option<super::nccl::Ranks>>,
}

#[derive(Clone, Copy)]
struct Function(sys::CUfunction);

// Safety: the driver's handles may be used from any thread once its context is current there, which every function
// here sees to; cuBLAS' handle is used by one thread at a time, because the engine is one thread.
unsafe impl Send for Gpu {}
unsafe impl Sync for Gpu {}
unsafe impl Send for Function {}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gpu({:?})", self.device)
    }
}

fn failed(what: &'static str) -> impl Fn(DriverError) -> DeviceError {
    move |error| DeviceError::Failed { what, detail: explain(error) }
}

fn explain(error: DriverError) -> String {
    let text = |text: std::result::Result<&std::ffi::CStr, DriverError>| {
        text.map_or_else(|_| String::from("unknown"), |text| text.to_string_lossy().into_owned())
    };
    format!("{}: {}", text(error.error_name()), text(error.error_string()))
}

/// Whether the libraries are there; a program without them must not touch them.
fn check_libraries() -> Result<()> {
    // Safety: only looks for files and loads them.
    let (driver, products) = unsafe { (sys::is_culib_present(), cublas_sys::is_culib_present()) };
    if !driver {
        return Err(DeviceError::Unusable(String::from(
            "the NVIDIA driver is not installed (libcuda.so.1 was not found); install it, or use `--devices cpu`",
        )));
    }
    if !products {
        return Err(DeviceError::Unusable(String::from(
            "cuBLAS 13 was not found (libcublas.so.13); install the CUDA 13 runtime libraries and name their folder in \
             LD_LIBRARY_PATH, or use `--devices cpu`",
        )));
    }
    Ok(())
}

impl Gpu {
    /// Opens the device with the given number among those that the process sees.
    pub fn open(ordinal: usize) -> Result<Self> {
        check_libraries()?;
        cuda::init().map_err(|error| {
            DeviceError::Unusable(format!("the NVIDIA driver cannot be used ({}); use `--devices cpu`", explain(error)))
        })?;
        check_version()?;
        let count = cuda::device::get_count().map_err(failed("counting devices"))?;
        if ordinal >= count as usize {
            let detail = format!("there is no device cuda:{ordinal}; this process sees {count}");
            return Err(DeviceError::Unusable(detail));
        }
        let device = cuda::device::get(ordinal as c_int).map_err(failed("opening the device"))?;
        // Safety: handles come from the calls before them and live as long as the value that is returned.
        unsafe {
            let context = cuda::primary_ctx::retain(device).map_err(failed("opening the device"))?;
            cuda::ctx::set_current(context).map_err(failed("opening the device"))?;
            let module = load_kernels()?;
            let stream = cuda::stream::create(cuda::stream::StreamKind::NonBlocking).map_err(failed("a stream"))?;
            let workspace = cuda::malloc_sync(WORKSPACE_BYTES).map_err(failed("taking memory"))?;
            let cublas = cublas::create_handle().map_err(products)?;
            cublas::set_stream(cublas, stream.cast()).map_err(products)?;
            // Sums are f32, also where a product is cut along its inner dimension.
            let strict = cublas_sys::cublasMath_t::CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
            cublas_sys::cublasSetMathMode(cublas, strict).result().map_err(products)?;
            // Memory of our own, so that products can be recorded and repeat bit for bit.
            cublas_sys::cublasSetWorkspace_v2(cublas, workspace as *mut c_void, WORKSPACE_BYTES)
                .result()
                .map_err(products)?;
            Ok(Self {
                device,
                context,
                stream,
                module,
                functions: Mutex::default(),
                cublas,
                workspace,
                #[cfg(feature = "nccl")]
                ranks: Mutex::default(),
            })
        }
    }

    /// Lets go of the other processes of a job.
    #[cfg(feature = "nccl")]
    fn leave(&self) {
        drop(self.ranks.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Makes the device the calling thread's.
    fn enter(&self) -> Result<()> {
        // Safety: the context lives as long as `self`.
        unsafe { cuda::ctx::set_current(self.context) }.map_err(failed("using the device"))
    }

    /// A kernel that may take so much shared memory.
    fn function(&self, name: &str, shared: u32) -> Result<sys::CUfunction> {
        let mut functions = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((function, most)) = functions.get(name)
            && shared <= *most
        {
            return Ok(function.0);
        }
        let no_kernel = |detail: String| DeviceError::Failed { what: "finding a kernel", detail };
        let text = CString::new(name).map_err(|error| no_kernel(error.to_string()))?;
        // Safety: the module lives as long as `self`.
        let function = unsafe { cuda::module::get_function(self.module, text) }
            .map_err(|error| no_kernel(format!("{name}: {}", explain(error))))?;
        if shared > PLAIN_SHARED_BYTES {
            use sys::CUfunction_attribute as Attribute;
            let most = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            let carveout = Attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
            // As much of the cache as shared memory as there is, so that several blocks fit.
            for (attribute, value) in [(most, shared as c_int), (carveout, 100)] {
                // Safety: the function was found above.
                unsafe { cuda::function::set_function_attribute(function, attribute, value) }
                    .map_err(failed("asking for shared memory"))?;
            }
        }
        functions.insert(name.to_owned(), (Function(function), shared.max(PLAIN_SHARED_BYTES)));
        Ok(function)
    }
}

/// The driver takes programs of its own version and older ones.
fn check_version() -> Result<()> {
    let mut version = 0;
    // Safety: the number is written before it is read.
    unsafe { sys::cuDriverGetVersion(&raw mut version) }.result().map_err(failed("asking for the driver's version"))?;
    if version < BUILT_WITH {
        let [major, minor] = [version / 1000, version % 1000 / 10];
        return Err(DeviceError::Unusable(format!(
            "the NVIDIA driver knows CUDA {major}.{minor}, and the kernels in this program are of CUDA 13.0; update the \
             driver to 580 or later, or use `--devices cpu`"
        )));
    }
    Ok(())
}

/// Safety: a context must be current.
unsafe fn load_kernels() -> Result<sys::CUmodule> {
    // The driver wants the image aligned.
    let words: Vec<u64> = KERNELS
        .chunks(8)
        .map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_ne_bytes(word)
        })
        .collect();
    // Safety: the image is whole and is not needed after loading.
    unsafe { cuda::module::load_data(words.as_ptr().cast()) }.map_err(|error| match error.0 {
        CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION => DeviceError::Unusable(String::from(
            "the NVIDIA driver is older than the kernels in this program (CUDA 13.0); update it to 580 or later, or use \
             `--devices cpu`",
        )),
        CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU | CUresult::CUDA_ERROR_INVALID_PTX => DeviceError::Unusable(
            String::from("this GPU is older than compute capability 8.0 (Ampere), which the kernels need"),
        ),
        _ => failed("loading the kernels")(error),
    })
}

fn products(error: cublas::CublasError) -> DeviceError {
    DeviceError::Failed { what: "cuBLAS", detail: format!("{error:?}") }
}

fn data_type(kind: Kind) -> cublas_sys::cudaDataType {
    match kind {
        Kind::Bf16 => cublas_sys::cudaDataType::CUDA_R_16BF,
        Kind::F64 => cublas_sys::cudaDataType::CUDA_R_64F,
        Kind::F32 | Kind::U32 => cublas_sys::cudaDataType::CUDA_R_32F,
    }
}

fn operation(transposed: bool) -> cublas_sys::cublasOperation_t {
    if transposed { cublas_sys::cublasOperation_t::CUBLAS_OP_T } else { cublas_sys::cublasOperation_t::CUBLAS_OP_N }
}

impl Driver for Gpu {
    fn name(&self) -> String {
        cuda::device::get_name(self.device).unwrap_or_else(explain)
    }

    fn memory(&self) -> Result<(u64, u64)> {
        self.enter()?;
        let (free, total) = cuda::mem_get_info().map_err(failed("asking for free memory"))?;
        Ok((free as u64, total as u64))
    }

    fn allocate(&self, bytes: usize) -> Result<Pointer> {
        self.enter()?;
        // Safety: whoever reads the memory writes it first.
        match unsafe { cuda::malloc_sync(bytes) } {
            Ok(pointer) => Ok(pointer),
            Err(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => {
                let (free, total) = self.memory()?;
                Err(DeviceError::OutOfMemory { bytes, free, total })
            }
            Err(error) => Err(failed("taking memory")(error)),
        }
    }

    fn release(&self, at: Pointer) {
        if self.enter().is_err() {
            return;
        }
        // Safety: the pointer came from `allocate`; freeing waits for work that uses it.
        if let Err(error) = unsafe { cuda::free_sync(at) } {
            tracing::warn!(error = explain(error), "memory of the device could not be given back");
        }
    }

    fn upload(&self, to: Pointer, bytes: &[u8]) -> Result<()> {
        self.enter()?;
        // Safety: the range was allocated; pageable memory is read before the call returns.
        unsafe { cuda::memcpy_htod_async(to, bytes, self.stream) }.map_err(failed("writing to the device"))
    }

    fn download(&self, from: Pointer, bytes: &mut [u8]) -> Result<()> {
        self.enter()?;
        // Safety: the range was allocated, and the copy has ended when `synchronize` returns.
        unsafe { cuda::memcpy_dtoh_async(bytes, from, self.stream) }.map_err(failed("reading from the device"))?;
        self.synchronize()
    }

    fn copy(&self, to: Pointer, from: Pointer, bytes: usize) -> Result<()> {
        self.enter()?;
        // Safety: both ranges were allocated.
        unsafe { cuda::memcpy_dtod_async(to, from, bytes, self.stream) }.map_err(failed("copying"))
    }

    fn clear(&self, at: Pointer, bytes: usize) -> Result<()> {
        self.enter()?;
        // Safety: the range was allocated.
        unsafe { cuda::memset_d8_async(at, 0, bytes, self.stream) }.map_err(failed("clearing"))
    }

    fn launch(&self, launch: &Launch<'_>) -> Result<()> {
        self.enter()?;
        let function = self.function(launch.kernel, launch.shared)?;
        let mut parameters: Vec<*mut c_void> =
            launch.arguments.iter().map(|argument| argument.address().cast_mut()).collect();
        let ([x, y, z], threads) = (launch.grid, launch.threads);
        // Safety: the arguments are those that the kernel declares (the emulated device checks their number), and the
        // driver reads them before the call returns.
        unsafe {
            cuda::launch_kernel(function, (x, y, z), (threads, 1, 1), launch.shared, self.stream, &mut parameters)
        }
        .map_err(|error| DeviceError::Failed {
            what: "starting a kernel",
            detail: format!("{}: {}", launch.kernel, explain(error)),
        })
    }

    fn product(&self, product: &Product) -> Result<()> {
        self.enter()?;
        let Product { m, n, k, a, b, c, factors, result, add } = *product;
        let (one, beta) = (1.0_f32, if add { 1.0_f32 } else { 0.0 });
        // Safety: the matrices were allocated with these sizes; the two numbers are read before the call returns.
        unsafe {
            cublas::gemm_ex(
                self.cublas,
                operation(a.2),
                operation(b.2),
                m as c_int,
                n as c_int,
                k as c_int,
                (&raw const one).cast(),
                a.0 as *const c_void,
                data_type(factors),
                a.1 as c_int,
                b.0 as *const c_void,
                data_type(factors),
                b.1 as c_int,
                (&raw const beta).cast(),
                c.0 as *mut c_void,
                data_type(result),
                c.1 as c_int,
                cublas_sys::cublasComputeType_t::CUBLAS_COMPUTE_32F,
                cublas_sys::cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT,
            )
        }
        .map_err(products)
    }

    fn record(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Box<dyn Recording>> {
        self.enter()?;
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // Safety: the stream lives as long as `self`; the graph is destroyed here, its executable form with the
        // recording.
        unsafe {
            cuda::stream::begin_capture(self.stream, mode).map_err(failed("recording"))?;
            let done = work();
            let graph = cuda::stream::end_capture(self.stream).map_err(failed("recording"));
            done?;
            let graph = graph?;
            let executable = cuda::graph::instantiate(graph, sys::CUgraphInstantiate_flags(0));
            cuda::graph::destroy(graph).map_err(failed("recording"))?;
            let executable = executable.map_err(failed("recording"))?;
            Ok(Box::new(Graph { executable, stream: self.stream, context: self.context }))
        }
    }

    fn synchronize(&self) -> Result<()> {
        self.enter()?;
        // Safety: the stream lives as long as `self`.
        unsafe { cuda::stream::synchronize(self.stream) }.map_err(failed("waiting for the device"))
    }

    #[cfg(feature = "nccl")]
    fn join(&self, rank: usize, size: usize, exchange: &mut dyn FnMut(Vec<u8>) -> Result<Vec<u8>>) -> Result<bool> {
        self.enter()?;
        // Each job has other ranks.
        self.leave();
        let ranks = super::nccl::Ranks::join(rank, size, exchange)?;
        *self.ranks.lock().unwrap_or_else(PoisonError::into_inner) = Some(ranks);
        Ok(true)
    }

    #[cfg(not(feature = "nccl"))]
    fn join(&self, _rank: usize, _size: usize, _exchange: &mut dyn FnMut(Vec<u8>) -> Result<Vec<u8>>) -> Result<bool> {
        Err(DeviceError::Unusable(String::from(
            "this program was built without NCCL, which a job on several GPUs needs; build it with the feature `nccl`, \
             or set `resources.devices` to 1",
        )))
    }

    #[cfg(feature = "nccl")]
    fn broadcast(&self, at: Pointer, bytes: usize, rank: usize) -> Result<()> {
        self.enter()?;
        match &*self.ranks.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(ranks) => ranks.broadcast(at, bytes, rank, self.stream),
            None => Err(DeviceError::Unusable(String::from("the device has not joined others"))),
        }
    }

    #[cfg(feature = "nccl")]
    fn sum_parts_over_ranks(&self, parts: &[(Pointer, usize)]) -> Result<()> {
        self.enter()?;
        match &*self.ranks.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(ranks) => ranks.sum_parts(parts, self.stream),
            None => Err(DeviceError::Unusable(String::from("the device has not joined others"))),
        }
    }

    #[cfg(feature = "nccl")]
    fn sum_over_ranks(&self, at: Pointer, len: usize) -> Result<()> {
        self.enter()?;
        match &*self.ranks.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(ranks) => ranks.sum(at, len, self.stream),
            None => Err(DeviceError::Unusable(String::from("the device has not joined others"))),
        }
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        if self.enter().is_err() {
            return;
        }
        #[cfg(feature = "nccl")]
        self.leave();
        // Safety: nothing uses the handles any more. What fails here fails with the device, which is let go of.
        unsafe {
            let _ = cublas::destroy_handle(self.cublas);
            let _ = cuda::free_sync(self.workspace);
            let _ = cuda::stream::destroy(self.stream);
            let _ = cuda::module::unload(self.module);
            let _ = cuda::primary_ctx::release(self.device);
        }
    }
}

impl Argument {
    /// Where the value lies.
    fn address(&self) -> *const c_void {
        match self {
            Self::Pointer(value) | Self::U64(value) => (&raw const *value).cast(),
            Self::U32(value) => (&raw const *value).cast(),
            Self::F32(value) => (&raw const *value).cast(),
        }
    }
}

/// A recorded pass, as a CUDA graph.
#[derive(Debug)]
struct Graph {
    executable: sys::CUgraphExec,
    stream: sys::CUstream,
    context: sys::CUcontext,
}

// Safety: as for `Gpu`.
unsafe impl Send for Graph {}
unsafe impl Sync for Graph {}

impl Recording for Graph {
    fn replay(&self) -> Result<()> {
        // Safety: graph, stream and context live; the memory that it works on is kept beside it.
        unsafe {
            cuda::ctx::set_current(self.context).map_err(failed("using the device"))?;
            cuda::graph::launch(self.executable, self.stream).map_err(failed("starting a recorded pass"))
        }
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // Safety: no one starts it any more.
        if let Err(error) = unsafe { cuda::graph::exec_destroy(self.executable) } {
            tracing::debug!(error = explain(error), "a recorded pass could not be freed");
        }
    }
}
