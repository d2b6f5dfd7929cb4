//! A device that is emulated on the CPU: it runs the kernels' own sources, thread by thread, and checks what they do.
//! Memory is guarded and poisoned, deadlocks are found, the number of arguments is checked. It is a test instrument
//! (feature `cuda-emulated`) and slow.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use half::bf16;

use crate::engine::driver::{Argument, DeviceError, Driver, Kind, Launch, Pointer, Product, Recording, Result};

/// What an emulated device says it has.
const MEMORY_BYTES: u64 = 8 << 30;

unsafe extern "C" {
    fn emu_launch(
        name: *const c_char,
        gx: u32,
        gy: u32,
        gz: u32,
        threads: u32,
        shared: u32,
        arguments: *mut *mut c_void,
    ) -> *const c_char;
    fn emu_parameters(name: *const c_char) -> c_int;
    fn emu_allocate(bytes: usize) -> *mut c_void;
    fn emu_free(at: *mut c_void) -> *const c_char;
    fn emu_check() -> *const c_char;
}

/// An emulated device.
#[derive(Debug, Default)]
pub struct Emulated {
    /// What is being recorded.
    recording: Mutex<Option<Vec<Command>>>,
}

/// Something that was asked for, to be done again.
#[derive(Clone)]
enum Command {
    Launch { kernel: String, grid: [u32; 3], threads: u32, shared: u32, arguments: Vec<Argument> },
    Product(Product),
    Copy(Pointer, Pointer, usize),
    Clear(Pointer, usize),
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Launch { kernel, .. } => f.write_str(kernel),
            Self::Product(_) => f.write_str("product"),
            Self::Copy(..) => f.write_str("copy"),
            Self::Clear(..) => f.write_str("clear"),
        }
    }
}

fn failed(what: &'static str, detail: impl Into<String>) -> DeviceError {
    DeviceError::Failed { what, detail: detail.into() }
}

/// The emulator's answer: nothing, or what went wrong.
fn answer(what: &'static str, text: *const c_char) -> Result<()> {
    if text.is_null() {
        return Ok(());
    }
    // Safety: the emulator answers with a text that lives until its next call.
    Err(failed(what, unsafe { CStr::from_ptr(text) }.to_string_lossy()))
}

impl Emulated {
    /// Does something now, or notes it for later.
    fn ask(&self, command: Command) -> Result<()> {
        let mut recording = self.recording.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(commands) = &mut *recording {
            commands.push(command);
            return Ok(());
        }
        drop(recording);
        command.run()
    }

    fn is_recording(&self) -> bool {
        self.recording.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn refuse_in_recording(&self, what: &'static str) -> Result<()> {
        if self.is_recording() { Err(failed(what, "not allowed while a pass is recorded")) } else { Ok(()) }
    }
}

impl Command {
    fn run(&self) -> Result<()> {
        match self {
            Self::Launch { kernel, grid, threads, shared, arguments } => {
                launch(kernel, *grid, *threads, *shared, arguments)
            }
            Self::Product(product) => {
                multiply(product);
                Ok(())
            }
            Self::Copy(to, from, bytes) => {
                // Safety: both ranges were allocated; they may overlap.
                unsafe { std::ptr::copy(*from as *const u8, *to as *mut u8, *bytes) };
                Ok(())
            }
            Self::Clear(at, bytes) => {
                // Safety: the range was allocated.
                unsafe { std::ptr::write_bytes(*at as *mut u8, 0, *bytes) };
                Ok(())
            }
        }
    }
}

fn launch(kernel: &str, [gx, gy, gz]: [u32; 3], threads: u32, shared: u32, arguments: &[Argument]) -> Result<()> {
    let name = CString::new(kernel).map_err(|error| failed("finding a kernel", error.to_string()))?;
    // Safety: the name ends with a zero.
    let declared = unsafe { emu_parameters(name.as_ptr()) };
    if declared != arguments.len() as c_int {
        let detail = format!("{kernel} declares {declared} arguments and was given {}", arguments.len());
        return Err(failed("starting a kernel", detail));
    }
    let mut values: Vec<[u8; 8]> = arguments
        .iter()
        .map(|argument| {
            let mut bytes = [0; 8];
            match argument {
                Argument::Pointer(x) | Argument::U64(x) => bytes.copy_from_slice(&x.to_ne_bytes()),
                Argument::U32(x) => bytes[..4].copy_from_slice(&x.to_ne_bytes()),
                Argument::F32(x) => bytes[..4].copy_from_slice(&x.to_ne_bytes()),
            }
            bytes
        })
        .collect();
    let mut pointers: Vec<*mut c_void> = values.iter_mut().map(|value| value.as_mut_ptr().cast()).collect();
    // Safety: the arguments are as many as the kernel declares, and the emulator guards memory.
    answer("running a kernel", unsafe { emu_launch(name.as_ptr(), gx, gy, gz, threads, shared, pointers.as_mut_ptr()) })
        .map_err(|error| match error {
            DeviceError::Failed { what, detail } => failed(what, format!("{kernel}: {detail}")),
            other => other,
        })
}

/// One factor's numbers as f32, `rows x columns`, columns first.
fn factor((pointer, stride, transposed): (Pointer, usize, bool), kind: Kind, rows: usize, columns: usize) -> Vec<f32> {
    let element = |index: usize| -> f32 {
        // Safety: the matrix was allocated with these sizes.
        unsafe {
            match kind {
                Kind::Bf16 => bf16::from_bits(*(pointer as *const u16).add(index)).to_f32(),
                _ => *(pointer as *const f32).add(index),
            }
        }
    };
    let at = |row: usize, column: usize| {
        if transposed { element(column + row * stride) } else { element(row + column * stride) }
    };
    (0..columns).flat_map(|column| (0..rows).map(move |row| (row, column))).map(|(r, c)| at(r, c)).collect()
}

fn multiply(product: &Product) {
    let Product { m, n, k, a, b, c, factors, result, add } = *product;
    let (a, b) = (factor(a, factors, m, k), factor(b, factors, k, n));
    let mut sums = vec![0.0_f32; m];
    for column in 0..n {
        sums.fill(0.0);
        for inner in 0..k {
            let by = b[column * k + inner];
            for (sum, a) in sums.iter_mut().zip(&a[inner * m..][..m]) {
                *sum += a * by;
            }
        }
        for (row, sum) in sums.iter().enumerate() {
            let index = row + column * c.1;
            // Safety: the matrix was allocated with these sizes.
            unsafe {
                if result == Kind::Bf16 {
                    let to = (c.0 as *mut u16).add(index);
                    let before = if add { bf16::from_bits(*to).to_f32() } else { 0.0 };
                    *to = bf16::from_f32(before + sum).to_bits();
                } else {
                    let to = (c.0 as *mut f32).add(index);
                    *to = if add { *to + sum } else { *sum };
                }
            }
        }
    }
}

impl Driver for Emulated {
    fn name(&self) -> String {
        String::from("emulated on the CPU")
    }

    fn memory(&self) -> Result<(u64, u64)> {
        Ok((MEMORY_BYTES, MEMORY_BYTES))
    }

    fn allocate(&self, bytes: usize) -> Result<Pointer> {
        self.refuse_in_recording("taking memory")?;
        // Safety: whoever reads the memory writes it first; it is poisoned until then.
        let at = unsafe { emu_allocate(bytes) };
        if at.is_null() {
            return Err(DeviceError::OutOfMemory { bytes, free: 0, total: MEMORY_BYTES });
        }
        Ok(at as Pointer)
    }

    fn release(&self, at: Pointer) {
        // Safety: the pointer came from `allocate`.
        if let Err(error) = answer("giving memory back", unsafe { emu_free(at as *mut c_void) }) {
            tracing::error!(%error, "the emulated device found damaged memory");
        }
    }

    fn upload(&self, to: Pointer, bytes: &[u8]) -> Result<()> {
        self.refuse_in_recording("writing to the device")?;
        // Safety: the range was allocated.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to as *mut u8, bytes.len()) };
        Ok(())
    }

    fn download(&self, from: Pointer, bytes: &mut [u8]) -> Result<()> {
        self.synchronize()?;
        // Safety: the range was allocated.
        unsafe { std::ptr::copy_nonoverlapping(from as *const u8, bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    fn copy(&self, to: Pointer, from: Pointer, bytes: usize) -> Result<()> {
        self.ask(Command::Copy(to, from, bytes))
    }

    fn clear(&self, at: Pointer, bytes: usize) -> Result<()> {
        self.ask(Command::Clear(at, bytes))
    }

    fn launch(&self, launch: &Launch<'_>) -> Result<()> {
        let Launch { kernel, grid, threads, shared, arguments } = *launch;
        self.ask(Command::Launch { kernel: kernel.to_owned(), grid, threads, shared, arguments: arguments.to_vec() })
    }

    fn product(&self, product: &Product) -> Result<()> {
        self.ask(Command::Product(*product))
    }

    fn record(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Box<dyn Recording>> {
        *self.recording.lock().unwrap_or_else(PoisonError::into_inner) = Some(Vec::new());
        let done = work();
        let commands = self.recording.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default();
        done?;
        Ok(Box::new(Commands(Arc::from(commands))))
    }

    fn synchronize(&self) -> Result<()> {
        self.refuse_in_recording("waiting")?;
        // Safety: only looks at the guards around allocations.
        answer("guarding memory", unsafe { emu_check() })
    }
}

/// Recorded work, in its order.
#[derive(Debug)]
struct Commands(Arc<[Command]>);

impl Recording for Commands {
    fn replay(&self) -> Result<()> {
        self.0.iter().try_for_each(Command::run)
    }
}
