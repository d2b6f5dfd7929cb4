//! Blocks of GGUF tensors whose numbers share their scales: what is stored in each kind, without computing the numbers.

use half::f16;

/// Numbers of the largest block.
pub const LARGEST: usize = 256;
/// Fewest numbers that share a factor.
const FEWEST: usize = 16;

/// A kind of blocks that products can read as they are. A number is `scale factor code`, less `min offset` where the kind
/// has offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    Q4_0,
    Q8_0,
    Q4K,
    Q5K,
    Q6K,
}

/// The parts of a block.
#[derive(Clone, Debug)]
pub struct Block {
    pub codes: [i8; LARGEST],
    pub scale: f32,
    /// For each [`BlockKind::shared`] numbers; 1 where the kind has none.
    pub factors: [i8; LARGEST / FEWEST],
    pub min: f32,
    pub offsets: [i8; LARGEST / FEWEST],
}

impl Default for Block {
    fn default() -> Self {
        let none = [0; LARGEST / FEWEST];
        Self { codes: [0; LARGEST], scale: 0.0, factors: [1; LARGEST / FEWEST], min: 0.0, offsets: none }
    }
}

impl BlockKind {
    pub const ALL: [Self; 5] = [Self::Q4_0, Self::Q8_0, Self::Q4K, Self::Q5K, Self::Q6K];

    /// By its number in the file (ggml's `enum ggml_type`).
    pub fn of(ggml_type: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.ggml_type() == ggml_type)
    }

    pub fn ggml_type(self) -> u32 {
        match self {
            Self::Q4_0 => 2,
            Self::Q8_0 => 8,
            Self::Q4K => 12,
            Self::Q5K => 13,
            Self::Q6K => 14,
        }
    }

    /// Bits of a code.
    pub fn bits(self) -> u32 {
        match self {
            Self::Q4_0 | Self::Q4K => 4,
            Self::Q5K => 5,
            Self::Q6K => 6,
            Self::Q8_0 => 8,
        }
    }

    /// The smallest code.
    pub fn least(self) -> i8 {
        match self {
            Self::Q4_0 => -8,
            Self::Q4K | Self::Q5K => 0,
            Self::Q6K => -32,
            Self::Q8_0 => -128,
        }
    }

    /// Numbers of a block.
    pub fn size(self) -> usize {
        match self {
            Self::Q4_0 | Self::Q8_0 => 32,
            Self::Q4K | Self::Q5K | Self::Q6K => LARGEST,
        }
    }

    /// Numbers that share a factor and an offset.
    pub fn shared(self) -> usize {
        if self == Self::Q6K { FEWEST } else { 32 }
    }

    pub fn has_offsets(self) -> bool {
        matches!(self, Self::Q4K | Self::Q5K)
    }

    /// Bytes of a block in a file.
    pub fn bytes(self) -> usize {
        match self {
            Self::Q4_0 => 18,
            Self::Q8_0 => 34,
            Self::Q4K => 144,
            Self::Q5K => 176,
            Self::Q6K => 210,
        }
    }

    /// Bytes of a block in memory, where codes lie side by side for products: its codes, factors and offsets, and in f32
    /// its scale and, where it has offsets, what these are multiplied by.
    pub fn kept(self) -> usize {
        let parts = self.size() / self.shared();
        let factors = if parts > 1 { parts } else { 0 };
        let offsets = if self.has_offsets() { parts + 4 } else { 0 };
        self.size() * self.bits() as usize / 8 + 4 + factors + offsets
    }

    /// Reads a block of [`Self::bytes`] bytes.
    pub fn read(self, bytes: &[u8], block: &mut Block) {
        let half = |at: usize| f16::from_le_bytes([bytes[at], bytes[at + 1]]).to_f32();
        match self {
            Self::Q8_0 => {
                block.scale = half(0);
                block.codes.iter_mut().zip(&bytes[2..34]).for_each(|(code, byte)| *code = *byte as i8);
            }
            Self::Q4_0 => {
                block.scale = half(0);
                for (at, byte) in bytes[2..18].iter().enumerate() {
                    block.codes[at] = (byte & 15) as i8 - 8;
                    block.codes[at + 16] = (byte >> 4) as i8 - 8;
                }
            }
            Self::Q4K => {
                (block.scale, block.min) = (half(0), half(2));
                read_factors(&bytes[4..16], block);
                read_nibbles(&bytes[16..144], &mut block.codes);
            }
            Self::Q5K => {
                (block.scale, block.min) = (half(0), half(2));
                read_factors(&bytes[4..16], block);
                read_nibbles(&bytes[48..176], &mut block.codes);
                for (part, codes) in block.codes.chunks_exact_mut(32).enumerate() {
                    codes
                        .iter_mut()
                        .zip(&bytes[16..48])
                        .for_each(|(code, byte)| *code |= ((byte >> part & 1) << 4) as i8);
                }
            }
            Self::Q6K => {
                block.scale = half(208);
                block.factors.iter_mut().zip(&bytes[192..208]).for_each(|(factor, byte)| *factor = *byte as i8);
                for (at, code) in block.codes.iter_mut().enumerate() {
                    // In each half of a block, the low bits of its last two quarters lie above those of the first two.
                    let (part, quarter, place) = (at / 128, at % 128 / 32, at % 32);
                    let low = bytes[part * 64 + quarter % 2 * 32 + place] >> (quarter / 2 * 4) & 15;
                    let high = bytes[128 + part * 32 + place] >> (quarter * 2) & 3;
                    *code = (low | high << 4) as i8 - 32;
                }
            }
        }
    }
}

/// Eight factors and eight offsets of 6 bits.
fn read_factors(bytes: &[u8], block: &mut Block) {
    for part in 0..8 {
        let (factor, offset) = if part < 4 {
            (bytes[part] & 63, bytes[part + 4] & 63)
        } else {
            let both = bytes[part + 4];
            (both & 15 | bytes[part - 4] >> 6 << 4, both >> 4 | bytes[part] >> 6 << 4)
        };
        (block.factors[part], block.offsets[part]) = (factor as i8, offset as i8);
    }
}

/// Of each 64 numbers the first half lies in the low bits of 32 bytes, the other in the high ones.
fn read_nibbles(bytes: &[u8], codes: &mut [i8; LARGEST]) {
    for (bytes, codes) in bytes.chunks_exact(32).zip(codes.chunks_exact_mut(64)) {
        let (low, high) = codes.split_at_mut(32);
        for ((low, high), byte) in low.iter_mut().zip(high).zip(bytes) {
            (*low, *high) = ((byte & 15) as i8, (byte >> 4) as i8);
        }
    }
}
