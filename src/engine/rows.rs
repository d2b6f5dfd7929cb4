//! The rows that a pass of the decoder takes: tokens, with what they need to know of their sequences.

/// Tokens of whole sequences side by side.
#[derive(Clone, Copy, Debug)]
pub struct Packed<'a> {
    pub tokens: &'a [u32],
    /// Places within the tokens' sequences.
    pub positions: &'a [u32],
    /// Start of every sequence and, last, the number of tokens.
    pub boundaries: &'a [usize],
}

/// One token to run through the decoder, continuing a cached sequence.
#[derive(Clone, Copy, Debug)]
pub struct CachedRow<'a> {
    pub token: u32,
    pub position: u32,
    /// The sequence's blocks; `blocks[position / BLOCK]` will hold this token.
    pub blocks: &'a [u32],
}
