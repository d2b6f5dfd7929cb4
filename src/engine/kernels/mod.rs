//! Loops over plain numbers, in the processor's widest instructions. They know no model and no tensor; `ops` builds
//! the operations of the decoder from them. This is the only place with `unsafe`: the functions that other modules
//! call check every length.
//!
//! A kernel's result for one row never depends on the other rows, on the number of threads, or on where blocks begin:
//! each number is one chain of additions in a fixed order. So sampler and trainer agree bit for bit.

pub mod attention;
pub mod attention_backward;
pub mod buffer;
pub mod codes;
mod factors;
pub mod form;
pub mod gemm;
mod lanes;
pub mod narrow;
mod packing;
pub mod pages;
mod precision;
pub mod rows;
pub mod tiles;
pub mod trial;
pub mod update;
mod words;

use std::sync::atomic::{AtomicU8, Ordering};

/// What the processor can do, from less to more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Instructions {
    Portable = 1,
    /// AVX2 and fused multiply-add.
    Avx2 = 2,
    Avx512 = 3,
    /// With products of bf16 pairs.
    Avx512Bf16 = 4,
}

/// The variable by whose value, a set's name, a process takes no wider instructions than that, and no tiles: for tests, and to find
/// out whether they are why something differs.
const VARIABLE: &str = "ANNEAL_INSTRUCTIONS";

impl Instructions {
    const ALL: [Self; 4] = [Self::Portable, Self::Avx2, Self::Avx512, Self::Avx512Bf16];

    /// What `ANNEAL_INSTRUCTIONS` allows, if it is set; or what it may be.
    pub fn allowed() -> Result<Option<Self>, String> {
        let Some(name) = std::env::var_os(VARIABLE) else { return Ok(None) };
        let found = Self::ALL.into_iter().find(|set| name == set.name());
        let known = Self::ALL.map(Self::name).join(", ");
        found.map(Some).ok_or_else(|| format!("{VARIABLE} is {name:?}, and may be: {known}"))
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Avx512Bf16 => "avx512_bf16",
        }
    }
}

/// The set in use; 0 until it was asked for.
static CHOSEN: AtomicU8 = AtomicU8::new(0);

/// The instruction set in use: the processor's best, unless [`restrict`] or `ANNEAL_INSTRUCTIONS` said less.
#[inline]
pub fn instructions() -> Instructions {
    match CHOSEN.load(Ordering::Relaxed) {
        1 => Instructions::Portable,
        2 => Instructions::Avx2,
        3 => Instructions::Avx512,
        4 => Instructions::Avx512Bf16,
        _ => match Instructions::allowed() {
            Ok(most) => restrict(most.unwrap_or(Instructions::Avx512Bf16)),
            Err(_) => restrict(Instructions::Portable),
        },
    }
}

/// Uses at most the given set from now on, and returns what is used; for tests and comparisons.
pub fn restrict(most: Instructions) -> Instructions {
    let chosen = most.min(detect());
    CHOSEN.store(chosen as u8, Ordering::Relaxed);
    chosen
}

/// The best set of this processor.
pub fn detect() -> Instructions {
    #[cfg(target_arch = "x86_64")]
    {
        let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        let avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        return match (avx2, avx512, is_x86_feature_detected!("avx512bf16")) {
            (true, true, true) => Instructions::Avx512Bf16,
            (true, true, false) => Instructions::Avx512,
            (true, false, _) => Instructions::Avx2,
            (false, ..) => Instructions::Portable,
        };
    }
    #[allow(unreachable_code)]
    Instructions::Portable
}

/// Defines a function that runs `$body::<S, ..>` for the instruction set in use; it may be one for several kinds of numbers.
macro_rules! dispatched {
    (
        $(#[$doc:meta])* $vis:vis fn $name:ident $(<$kind:ident: $bound:path>)? ($($arg:ident: $type:ty),* $(,)?)
        $(-> $ret:ty)? = $body:ident
    ) => {
        $(#[$doc])*
        #[allow(clippy::too_many_arguments)]
        $vis unsafe fn $name $(<$kind: $bound>)? ($($arg: $type),*) $(-> $ret)? {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
            #[allow(clippy::too_many_arguments)]
            unsafe fn avx512 $(<$kind: $bound>)? ($($arg: $type),*) $(-> $ret)? {
                unsafe { $body::<$crate::engine::kernels::lanes::Avx512 $(, $kind)?>($($arg),*) }
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            #[allow(clippy::too_many_arguments)]
            unsafe fn avx2 $(<$kind: $bound>)? ($($arg: $type),*) $(-> $ret)? {
                unsafe { $body::<$crate::engine::kernels::lanes::Avx2 $(, $kind)?>($($arg),*) }
            }
            match $crate::engine::kernels::instructions() {
                #[cfg(target_arch = "x86_64")]
                $crate::engine::kernels::Instructions::Avx512 | $crate::engine::kernels::Instructions::Avx512Bf16 => unsafe {
                    avx512($($arg),*)
                },
                #[cfg(target_arch = "x86_64")]
                $crate::engine::kernels::Instructions::Avx2 => unsafe { avx2($($arg),*) },
                _ => unsafe { $body::<$crate::engine::kernels::lanes::Portable $(, $kind)?>($($arg),*) },
            }
        }
    };
}
pub(crate) use dispatched;
