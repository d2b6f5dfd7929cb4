//! The instructions of AMX that the engine uses, for processors without them: these raise SIGILL, and the handler here does what
//! Intel's "Architecture Instruction Set Extensions" says of each (LDTILECFG, TILEZERO, TILELOADD, TILESTORED, TDPBF16PS, TILERELEASE) and goes
//! on behind it. So the machine code of the kernels runs, operands and all, a thousand times slower.

use std::cell::UnsafeCell;

/// Registers in the order of their numbers in machine code.
const REGISTERS: [libc::c_int; 16] = [
    libc::REG_RAX,
    libc::REG_RCX,
    libc::REG_RDX,
    libc::REG_RBX,
    libc::REG_RSP,
    libc::REG_RBP,
    libc::REG_RSI,
    libc::REG_RDI,
    libc::REG_R8,
    libc::REG_R9,
    libc::REG_R10,
    libc::REG_R11,
    libc::REG_R12,
    libc::REG_R13,
    libc::REG_R14,
    libc::REG_R15,
];

/// What a thread has of tiles.
struct Tiles {
    configured: bool,
    rows: [usize; 8],
    row_bytes: [usize; 8],
    data: [[[u8; 64]; 16]; 8],
}

thread_local! {
    static TILES: UnsafeCell<Tiles> = const {
        UnsafeCell::new(Tiles { configured: false, rows: [0; 8], row_bytes: [0; 8], data: [[[0; 64]; 16]; 8] })
    };
}

/// Emulates them from now on, in all threads.
pub fn emulate() {
    // Safety: the handler touches its thread's tiles, and the memory that the instructions name.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
        assert_eq!(libc::sigaction(libc::SIGILL, &raw const action, std::ptr::null_mut()), 0);
    }
}

/// Ends the process for real when the instruction is another one.
fn unknown() -> ! {
    // Safety: restores what happens without a handler.
    unsafe { libc::signal(libc::SIGILL, libc::SIG_DFL) };
    std::process::abort()
}

extern "C" fn handle(_signal: libc::c_int, _info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // Safety: the kernel gives the context of the thread.
    unsafe {
        let registers = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        let at = registers[libc::REG_RIP as usize] as *const u8;
        let length = TILES.with(|tiles| run(&mut *tiles.get(), at, &|number| registers[REGISTERS[number] as usize]));
        registers[libc::REG_RIP as usize] += length as i64;
    }
}

/// Runs the instruction at an address and returns its length.
unsafe fn run(tiles: &mut Tiles, at: *const u8, register: &dyn Fn(usize) -> i64) -> usize {
    unsafe {
        // VEX of three bytes: R X B and the map, W vvvv L and the prefix, and the opcode.
        let [vex, first, second, opcode, modrm] = at.cast::<[u8; 5]>().read();
        if vex != 0xc4 || first & 0x1f != 2 {
            unknown();
        }
        let extended = |bit: u8| usize::from(first >> bit & 1 ^ 1) << 3;
        let (prefix, other) = (second & 3, usize::from(!second >> 3 & 15));
        let (mode, own, rm) = (modrm >> 6, usize::from(modrm >> 3 & 7), usize::from(modrm & 7));
        // No prefix is 0, F3 is 2, F2 is 3.
        match (opcode, prefix, mode) {
            (0x49, 0, 3) => {
                tiles.configured = false;
                return 5;
            }
            (0x49, 3, 3) => {
                tiles.shape(own);
                tiles.data[own] = [[0; 64]; 16];
                return 5;
            }
            (0x5c, 2, 3) => {
                multiply(tiles, own, rm, other);
                return 5;
            }
            (0x49 | 0x4b, ..) => {}
            _ => unknown(),
        }
        // The address: a base, an index and a distance.
        let (sib, mut length) = if rm == 4 { (Some(*at.add(5)), 6) } else { (None, 5) };
        let base = sib.map_or(rm, |sib| usize::from(sib & 7)) + extended(5);
        let index = sib.map_or(4, |sib| usize::from(sib >> 3 & 7) + extended(6));
        let distance = match mode {
            0 => 0,
            1 => i64::from(*at.add(length).cast::<i8>()),
            _ => i64::from(at.add(length).cast::<i32>().read_unaligned()),
        };
        length += [0, 1, 4][usize::from(mode)];
        let start = (register(base) + distance) as *mut u8;
        let stride = if index == 4 { 0 } else { register(index) << (sib.unwrap_or(0) >> 6) };
        match (opcode, prefix) {
            (0x49, 0) => configure(tiles, &*start.cast::<[u8; 64]>()),
            (0x4b, 3) => {
                let (rows, bytes) = tiles.shape(own);
                tiles.data[own] = [[0; 64]; 16];
                for (row, data) in tiles.data[own].iter_mut().enumerate().take(rows) {
                    let from = start.offset(row as isize * stride as isize);
                    std::ptr::copy_nonoverlapping(from, data.as_mut_ptr(), bytes);
                }
            }
            (0x4b, 2) => {
                let (rows, bytes) = tiles.shape(own);
                for (row, data) in tiles.data[own].iter().enumerate().take(rows) {
                    let to = start.offset(row as isize * stride as isize);
                    std::ptr::copy_nonoverlapping(data.as_ptr(), to, bytes);
                }
            }
            _ => unknown(),
        }
        length
    }
}

impl Tiles {
    /// Rows and bytes of a row; a processor refuses tiles without any.
    fn shape(&self, tile: usize) -> (usize, usize) {
        if !self.configured || self.rows[tile] == 0 {
            unknown();
        }
        (self.rows[tile], self.row_bytes[tile])
    }
}

fn configure(tiles: &mut Tiles, shapes: &[u8; 64]) {
    let reserved = shapes[1..16].iter().chain(&shapes[32..48]).chain(&shapes[56..]);
    if shapes[0] != 1 || reserved.into_iter().any(|byte| *byte != 0) {
        unknown();
    }
    tiles.configured = true;
    tiles.data = [[[0; 64]; 16]; 8];
    for tile in 0..8 {
        tiles.rows[tile] = usize::from(shapes[48 + tile]);
        tiles.row_bytes[tile] = usize::from(u16::from_le_bytes([shapes[16 + 2 * tile], shapes[17 + 2 * tile]]));
        let (rows, bytes) = (tiles.rows[tile], tiles.row_bytes[tile]);
        if rows > 16 || bytes > 64 || (rows == 0) != (bytes == 0) {
            unknown();
        }
    }
}

/// Numbers below 2^-126 are zero.
fn flushed(x: f32) -> f32 {
    if x.is_subnormal() { 0.0_f32.copysign(x) } else { x }
}

fn multiply(tiles: &mut Tiles, sum: usize, left: usize, right: usize) {
    let ((rows, wide), (of_left, deep), (steps, of_right)) = (tiles.shape(sum), tiles.shape(left), tiles.shape(right));
    if rows != of_left || deep != 4 * steps || wide != of_right || sum == left || sum == right || left == right {
        unknown();
    }
    let number = |bytes: &[u8], at: usize| {
        flushed(f32::from_bits(u32::from(u16::from_le_bytes([bytes[2 * at], bytes[2 * at + 1]])) << 16))
    };
    for row in 0..rows {
        for column in 0..wide / 4 {
            let mut parts = [0.0_f32; 2];
            for step in 0..steps {
                for (half, part) in parts.iter_mut().enumerate() {
                    let a = number(&tiles.data[left][row], 2 * step + half);
                    let b = number(&tiles.data[right][step], 2 * column + half);
                    *part = flushed(a.mul_add(b, *part));
                }
            }
            let own = &mut tiles.data[sum][row][4 * column..4 * column + 4];
            let before = flushed(f32::from_le_bytes([own[0], own[1], own[2], own[3]]));
            own.copy_from_slice(&flushed(before + flushed(parts[0] + parts[1])).to_le_bytes());
        }
    }
}
