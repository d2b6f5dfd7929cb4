//! A sampling phase pass by pass: it admits requests as there is room, runs the decoder, draws, and puts down what has ended.

use std::collections::HashMap;
use std::sync::Arc;

use rayon::prelude::*;

use super::beginnings::Beginnings;
use super::guesses::{Known, Reach};
use super::schedule::{self, Group, Part, Schedule, Seat, Start, Stock};
use super::text::Text;
use super::{Completion, Observed, Request, Sampler, Statistics, UnderWay};
use crate::engine::backend::Backend;
use crate::engine::choice::{Choice, Draws};
use crate::engine::error::EngineError;
use crate::engine::kernels::attention::BLOCK;
use crate::engine::limits::Limits;
use crate::engine::model::cache::KvCache;
use crate::engine::rows::CachedRow;
use crate::job::inference::FinishReason;

impl<B: Backend> Sampler<'_, B> {
    /// Neighbouring requests with the same prompt.
    fn groups(
        &self,
        requests: &[Request],
        beginnings: &mut Beginnings,
    ) -> Result<Vec<Group<LogitsRow<B>>>, EngineError> {
        let context = self.decoder.config().max_position_embeddings;
        let mut groups = Vec::new();
        let mut start = 0;
        for same in requests.chunk_by(|a, b| a.prompt == b.prompt && a.tokens == b.tokens) {
            let prompt = same[0].tokens.len();
            if prompt == 0 {
                return Err(EngineError::Internal(String::from("a prompt has no tokens")));
            }
            let left = (self.spec.max_new_tokens as usize).saturating_sub(same[0].begun);
            let limit = left.min(context.saturating_sub(prompt));
            groups.push(Group::new(start..start + same.len(), prompt, limit, beginnings.path(&same[0].tokens)));
            start += same.len();
        }
        Ok(groups)
    }

    /// The number in `[0, 1)` that decides the token at a place behind a request's own.
    fn uniform(&self, request: &Request, place: usize) -> f64 {
        self.stream.uniform(request.prompt, request.sample, (request.begun + place) as u32)
    }

    /// Takes a drawn token and notes whether that ends the completion, as far as the token itself says.
    fn take(&self, state: &mut State, limit: usize, chosen: Choice) {
        let done = &mut state.done;
        done.tokens.push(chosen.token);
        done.behavior_logprobs.push(chosen.logprob);
        done.entropies.push(chosen.entropy);
        done.entropy_sum += f64::from(chosen.entropy);
        if self.decoder.config().eos_token_ids.contains(&chosen.token) {
            done.finish = FinishReason::Stop;
        }
        state.over = done.finish == FinishReason::Stop || done.tokens.len() >= limit;
        state.unread = Some(chosen.token);
    }

    /// Takes the tokens that were drawn behind the newest one and behind guesses, as far as these are right.
    fn follow<'c>(
        &self,
        state: &mut State,
        limit: usize,
        guesses: &[u32],
        mut drawn: impl Iterator<Item = &'c Choice>,
    ) -> Result<(), EngineError> {
        let mut guesses = guesses.iter();
        // Its text may have ended it meanwhile.
        while !state.over
            && let Some(choice) = drawn.next()
        {
            self.take(state, limit, *choice);
            if guesses.next() != Some(&choice.token) {
                break;
            }
            self.read(state)?;
        }
        Ok(())
    }

    /// Adds the newest token to the text, which may end the completion by a stop text.
    fn read(&self, state: &mut State) -> Result<(), EngineError> {
        let Some(token) = state.unread.take() else { return Ok(()) };
        if state.done.finish != FinishReason::Stop {
            state.text.push(self.tokenizer, token)?;
        }
        if state.over {
            state.text.flush(self.tokenizer)?;
        }
        if state.text.cut(&self.spec.stop) {
            state.done.finish = FinishReason::Stop;
            state.over = true;
        }
        Ok(())
    }
}

/// What one run leaves to the next, of the same decoder with the same weights: a cache, and the beginnings that it holds.
#[derive(Debug)]
pub struct Kept<B: Backend>(Option<(KvCache<B>, Stock, Beginnings)>);

impl<B: Backend> Default for Kept<B> {
    fn default() -> Self {
        Self(None)
    }
}

/// What a phase comes to, or what ended it.
pub type Sampled = Result<(Vec<Completion>, Statistics), EngineError>;

/// Whether a phase leaves what it reads to a later one.
#[derive(Clone, Copy, Debug)]
pub enum Leaves {
    Nothing,
    /// In the memory that it takes itself.
    All,
    /// In memory for so many tokens at least. A later phase that could do with more than there is begins anew.
    AllOf(usize),
}

impl Leaves {
    fn keeps(self) -> bool {
        !matches!(self, Self::Nothing)
    }
}

/// An admitted completion. It has tokens from its start on.
pub struct Active {
    seat: Seat,
    state: State,
}

/// What there is of a completion.
struct State {
    done: Completion,
    text: Text,
    over: bool,
    /// The newest token, until it is part of the text.
    unread: Option<u32>,
    reach: Reach,
}

impl Active {
    fn new(seat: Seat) -> Self {
        let done = Completion::begun();
        Self { seat, state: State { done, text: Text::new(), over: false, unread: None, reach: Reach::default() } }
    }

    fn has_started(&self) -> bool {
        !self.state.done.tokens.is_empty()
    }

    /// What there is of it, once it has begun.
    pub fn under_way(&self) -> Option<UnderWay<'_>> {
        let Self { seat, state } = self;
        self.has_started().then(|| UnderWay {
            place: seat.request,
            tokens: &state.done.tokens,
            behavior_logprobs: &state.done.behavior_logprobs,
            text: state.text.as_str(),
        })
    }
}

/// One row of logits.
struct LogitsRow<B: Backend> {
    logits: Arc<B::Array>,
    row: u32,
}

impl<B: Backend> Clone for LogitsRow<B> {
    fn clone(&self) -> Self {
        Self { logits: Arc::clone(&self.logits), row: self.row }
    }
}

/// A sampling phase under way.
pub struct Phase<'a, B: Backend> {
    sampler: &'a Sampler<'a, B>,
    requests: &'a [Request],
    limits: Limits,
    schedule: Schedule<LogitsRow<B>>,
    cache: KvCache<B>,
    beginnings: Beginnings,
    leaves: Leaves,
    /// In the order of their admission.
    active: Vec<Active>,
    /// What guesses are made from, by the first request of a prompt.
    known: HashMap<usize, Known>,
    /// By request.
    finished: Vec<Option<Completion>>,
    done: usize,
    tokens: usize,
    statistics: Statistics,
}

impl<'a, B: Backend> Phase<'a, B> {
    /// A phase of these requests, with what an earlier one has left.
    pub fn new(
        sampler: &'a Sampler<'a, B>,
        limits: &Limits,
        requests: &'a [Request],
        kept: Kept<B>,
        leaves: Leaves,
    ) -> Result<Self, EngineError> {
        let (cache, mut beginnings) = match kept.0 {
            Some((cache, stock, mut beginnings)) => {
                beginnings.retain(stock.held());
                (Some((cache, stock)), beginnings)
            }
            None => (None, Beginnings::default()),
        };
        let groups = sampler.groups(requests, &mut beginnings)?;
        let kept_in = sampler.spec.cache;
        let there = cache.as_ref().map_or(0, |(cache, _)| cache.blocks());
        // What is there is no part of what a device has left.
        let affordable = (limits.cache_bytes / sampler.decoder.bytes_per_block(kept_in).max(1)).max(there);
        let alone = groups.iter().map(Group::blocks_alone).max().unwrap_or(0);
        if alone > affordable {
            return Err(EngineError::InvalidData {
                code: "cache_too_small",
                detail: format!(
                    "one completion may need keys and values of {} tokens with its prompt, and the {} MiB set aside for \
                     sampling hold {} tokens of this model; lower `sampling.max_new_tokens`",
                    alone * BLOCK,
                    limits.cache_bytes >> 20,
                    affordable * BLOCK
                ),
            });
        }
        let seats = (sampler.spec.batch_size as usize).max(1);
        let wanted = affordable.min(schedule::blocks_at_most(&groups, seats).max(alone));
        let (enough, blocks) = match leaves {
            Leaves::Nothing | Leaves::All => (alone, wanted),
            Leaves::AllOf(tokens) => (wanted, affordable.min(wanted.max(tokens.div_ceil(BLOCK)))),
        };
        let (cache, stock) = match cache.filter(|(cache, _)| cache.blocks() >= enough) {
            Some(kept) => kept,
            None => (sampler.decoder.cache(kept_in, blocks)?, Stock::new(blocks, leaves.keeps())),
        };
        Ok(Self {
            sampler,
            requests,
            limits: *limits,
            schedule: Schedule::new(groups, seats, stock),
            cache,
            beginnings,
            leaves,
            active: Vec::new(),
            known: HashMap::new(),
            finished: vec![None; requests.len()],
            done: 0,
            tokens: 0,
            statistics: Statistics::default(),
        })
    }

    /// Takes all requests to their ends; with what it leaves to a later phase.
    pub fn run(mut self, observe: impl FnMut(Observed<'_>) -> Result<(), EngineError>) -> (Sampled, Kept<B>) {
        let done = self.complete(observe);
        // What is stopped between passes has read what it has said, unless prompts are computed in part.
        let is_stopped = matches!(done, Err(EngineError::Stopped(_))) && self.active.iter().all(Active::has_started);
        let kept = if done.is_ok() || is_stopped {
            self.active.iter_mut().for_each(|active| active.state.over = true);
            self.retire();
            Kept(Some((self.cache, self.schedule.into_stock(), self.beginnings)))
        } else {
            Kept::default()
        };
        let completions = self.finished.into_iter().flatten().collect();
        (done.map(|()| (completions, self.statistics)), kept)
    }

    fn complete(
        &mut self,
        mut observe: impl FnMut(Observed<'_>) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        // Every step computes a row or draws a token, so that the loop ends.
        while self.done < self.requests.len() {
            let ended = self.step()?;
            let ended: Vec<_> = ended.iter().filter_map(|at| Some((*at, self.finished[*at].as_ref()?))).collect();
            let (done, tokens, active) = (self.done, self.tokens, &self.active[..]);
            observe(Observed { ended: &ended, done, tokens, active })?;
        }
        Ok(())
    }

    /// Fills the free seats, runs one pass and draws a token for every completion whose prompt is computed. Says which
    /// completions have ended.
    fn step(&mut self) -> Result<Vec<usize>, EngineError> {
        while let Some(seat) = self.schedule.admit() {
            self.active.push(Active::new(seat));
        }
        if self.active.is_empty() {
            return Err(EngineError::Internal(String::from("requests are left, but none can be admitted")));
        }
        let parts = self.schedule.prompt_parts(self.limits.prefill_tokens.max(1));
        self.run_pass(&parts)?;
        self.start()?;
        Ok(self.retire())
    }

    /// One pass of the decoder: the newest token of every started completion with guesses behind it, and parts of prompts.
    fn run_pass(&mut self, parts: &[Part]) -> Result<(), EngineError> {
        let guesses = if parts.is_empty() { self.guesses() } else { Vec::new() };
        let guessed = |at: usize| guesses.get(at).map_or(&[][..], Vec::as_slice);
        let (sampler, requests, schedule) = (self.sampler, self.requests, &self.schedule);
        let (mut rows, mut uniforms, mut states) = (Vec::new(), Vec::new(), Vec::new());
        for (at, Active { seat, state }) in self.active.iter_mut().filter(|active| active.has_started()).enumerate() {
            let (request, place) = (&requests[seat.request], state.done.tokens.len());
            let tokens = state.done.tokens.last().into_iter().chain(guessed(at));
            for (behind, token) in tokens.enumerate() {
                let position = (request.tokens.len() + place + behind - 1) as u32;
                rows.push(CachedRow { token: *token, position, blocks: seat.table() });
                uniforms.push(sampler.uniform(request, place + behind));
            }
            states.push(state);
        }
        debug_assert!(rows.iter().all(|row| schedule.is_exclusive(row.blocks[row.position as usize / BLOCK])));
        let continued = rows.len();
        let mut ends = Vec::new();
        for part in parts {
            let tokens = &requests[part.request].tokens;
            let row = |position: usize| CachedRow {
                token: tokens[position],
                position: position as u32,
                blocks: schedule.prompt_table(part),
            };
            rows.extend(part.positions.clone().map(row));
            ends.extend(part.is_last.then_some(rows.len() as u32 - 1));
        }
        if rows.is_empty() {
            // Every completion starts from a prompt that was computed before.
            return Ok(());
        }
        self.statistics.prompt_tokens += (rows.len() - continued) as u64;
        self.statistics.decode_steps += u64::from(continued > 0);
        self.statistics.decode_rows += continued as u64;
        let draws = Draws { spec: sampler.spec, uniforms: &uniforms, logits_bytes: self.limits.logits_bytes };
        // A device computes while the texts of the tokens before are made.
        let texts = || states.par_iter_mut().try_for_each(|state| sampler.read(state));
        let advanced = sampler.decoder.advance(&mut self.cache, &rows, draws, texts)?;
        let kept = self.end_logits(advanced.hidden.as_ref(), &ends)?;
        self.take_choices(&guesses, &advanced.choices)?;
        let mut kept = kept.into_iter();
        for part in parts {
            self.schedule.computed(part, if part.is_last { kept.next() } else { None });
        }
        Ok(())
    }

    /// What may come behind the newest tokens of the started completions, as far as a pass has room for it.
    fn guesses(&mut self) -> Vec<Vec<u32>> {
        let started = self.active.iter().filter(|active| active.has_started()).count();
        let mut room = self.limits.few_rows.saturating_sub(started);
        if room == 0 {
            return Vec::new();
        }
        let (requests, schedule, finished) = (self.requests, &self.schedule, &self.finished);
        let first = |seat: &Seat| schedule.requests(seat).start;
        self.known.retain(|prompt, _| self.active.iter().any(|active| first(&active.seat) == *prompt));
        let guess = |(at, Active { seat, state }): (usize, &mut Active)| {
            let others = schedule.requests(seat);
            let known = self.known.entry(others.start).or_insert_with(|| {
                let mut known = Known::new(&requests[seat.request].tokens);
                let ended = others.filter_map(|other| Some((other, finished[other].as_ref()?)));
                ended.for_each(|(other, completion)| known.learn(other, &completion.tokens));
                known
            });
            let tokens = &state.done.tokens;
            known.learn(seat.request, tokens);
            // The last token that it may have is not read.
            let most = room.div_ceil(started - at).min(seat.limit - tokens.len() - 1).min(state.reach.next());
            let guessed = known.guess(seat.request, most).to_vec();
            room -= guessed.len();
            guessed
        };
        self.active.iter_mut().filter(|active| active.has_started()).enumerate().map(guess).collect()
    }

    /// The logits of rows at which prompts end.
    fn end_logits(&self, hidden: Option<&B::Array>, ends: &[u32]) -> Result<Vec<LogitsRow<B>>, EngineError> {
        let decoder = self.sampler.decoder;
        let at_a_time = (self.limits.logits_bytes / (size_of::<f32>() * decoder.config().vocab_size)).max(1);
        let mut kept = Vec::with_capacity(ends.len());
        for (hidden, rows) in hidden.into_iter().flat_map(|h| ends.chunks(at_a_time).map(move |rows| (h, rows))) {
            let logits = Arc::new(decoder.row_logits(hidden, rows)?);
            kept.extend((0..rows.len() as u32).map(|row| LogitsRow { logits: Arc::clone(&logits), row }));
        }
        Ok(kept)
    }

    /// Gives every started completion its tokens.
    fn take_choices(&mut self, guesses: &[Vec<u32>], choices: &[Choice]) -> Result<(), EngineError> {
        let sampler = self.sampler;
        let started: Vec<&mut Active> = self.active.iter_mut().filter(|active| active.has_started()).collect();
        let mut choices = choices;
        let mut drawn = Vec::with_capacity(started.len());
        for at in 0..started.len() {
            let guesses = guesses.get(at).map_or(&[][..], Vec::as_slice);
            let (own, rest) = choices.split_at(1 + guesses.len());
            drawn.push((guesses, own));
            choices = rest;
        }
        let take = |(Active { seat, state }, (guesses, own)): (&mut Active, (&[u32], &[Choice]))| {
            let before = state.done.tokens.len();
            sampler.follow(state, seat.limit, guesses, own.iter())?;
            if state.over || !B::IS_ASYNCHRONOUS {
                sampler.read(state)?;
            }
            let taken = state.done.tokens.len() - before;
            let right = taken.saturating_sub(1);
            state.reach.learn(guesses.len(), right);
            Ok::<_, EngineError>([taken, guesses.len(), right])
        };
        let sum = |a: [usize; 3], b: [usize; 3]| Ok(std::array::from_fn(|at| a[at] + b[at]));
        let [taken, guessed, right] = started.into_par_iter().zip(drawn).map(take).try_reduce(|| [0; 3], sum)?;
        self.tokens += taken;
        self.statistics.guessed += guessed as u64;
        self.statistics.right += right as u64;
        Ok(())
    }

    /// Starts the completions whose prompts are computed, and draws their first tokens.
    fn start(&mut self) -> Result<(), EngineError> {
        let (sampler, requests) = (self.sampler, self.requests);
        let mut starting: Vec<(&mut Active, LogitsRow<B>)> = Vec::new();
        for active in self.active.iter_mut().filter(|active| !active.has_started()) {
            if let Some(Start { logits, copy }) = self.schedule.start(&mut active.seat) {
                if let Some((from, to)) = copy {
                    self.cache.copy_block(from, to)?;
                }
                starting.push((active, logits));
            }
        }
        self.tokens += starting.len();
        // Rows of the same logits, which stand next to each other, are drawn from at once.
        for same in starting.chunk_by_mut(|a, b| Arc::ptr_eq(&a.1.logits, &b.1.logits)) {
            let rows: Vec<u32> = same.iter().map(|(_, logits)| logits.row).collect();
            let uniform = |(active, _): &(&mut Active, _)| sampler.uniform(&requests[active.seat.request], 0);
            let uniforms: Vec<f64> = same.iter().map(uniform).collect();
            let choices = sampler.decoder.draw(&same[0].1.logits, &rows, sampler.spec, &uniforms)?;
            same.par_iter_mut().zip(choices).try_for_each(|((active, _), choice)| {
                sampler.take(&mut active.state, active.seat.limit, choice);
                sampler.read(&mut active.state)
            })?;
        }
        Ok(())
    }

    /// Puts down the completions that have ended and frees their places; says which.
    fn retire(&mut self) -> Vec<usize> {
        let mut ended = Vec::new();
        for Active { seat, state } in self.active.extract_if(.., |active| active.state.over) {
            let sequence = || [&*self.requests[seat.request].tokens, &state.done.tokens].concat();
            let path = if self.leaves.keeps() { self.beginnings.path(&sequence()) } else { Vec::new() };
            self.schedule.leave(&seat, &path);
            let completion = Completion { text: state.text.into_string(), ..state.done };
            self.finished[seat.request] = Some(completion);
            self.done += 1;
            ended.push(seat.request);
        }
        ended
    }
}
