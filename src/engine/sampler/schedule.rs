//! Which completion runs when, and in which blocks of the cache its keys and values lie. Numbers only, no model.
//!
//! Completions that continue the same prompt are a group. Its prompt is computed once; the blocks that it fills are
//! shared by all of its completions, and with prompts that begin alike ([`beginnings`](super::beginnings)). The block that
//! it fills in part is copied for each completion, which writes on in it, but for the last one, to which the prompt's own
//! blocks go over.
//!
//! A completion is admitted when there is a seat for it and free blocks for the longest that it can become, together
//! with its prompt if it is the first of its group. So whatever is admitted can run to its end without waiting for
//! anything else. Requests are admitted in their order; one that needs many blocks is not overtaken, or it might wait
//! for ever.

use std::ops::Range;

use super::beginnings::{Held, Number};
use super::blocks::BlockPool;
use crate::engine::kernels::attention::BLOCK;

/// Requests that continue the same prompt, whose logits are an `L`.
#[derive(Debug)]
pub struct Group<L> {
    requests: Range<usize>,
    /// Tokens of the prompt.
    prompt: usize,
    /// The most tokens that a completion may have, at least one.
    limit: usize,
    /// The numbers of the blocks that it may share with other prompts.
    beginning: Vec<Number>,
    /// The prompt's blocks, from the admission of the first completion to the start of the last.
    table: Vec<u32>,
    /// Tokens of the prompt that are in the cache.
    computed: usize,
    /// The logits after the prompt, from when it is computed to the start of the last completion.
    logits: Option<L>,
}

impl<L> Group<L> {
    /// A group whose completions have at most `limit` tokens, of a prompt that is not empty.
    pub fn new(requests: Range<usize>, prompt: usize, limit: usize, beginning: Vec<Number>) -> Self {
        Self { requests, prompt, limit: limit.max(1), beginning, table: Vec::new(), computed: 0, logits: None }
    }

    /// Blocks that its first completion needs to run when nothing else does.
    pub fn blocks_alone(&self) -> usize {
        self.prompt_blocks() + self.own_blocks(self.requests.len() == 1)
    }

    fn prompt_blocks(&self) -> usize {
        self.prompt.div_ceil(BLOCK)
    }

    /// Blocks that a completion needs besides those of its prompt; the last of the group takes these over.
    fn own_blocks(&self, last: bool) -> usize {
        // The last token of a completion is never read, so that it has no place in the cache.
        let cached = self.prompt + self.limit - 1;
        match (cached - self.prompt, last) {
            (0, _) => 0,
            (_, true) => cached.div_ceil(BLOCK) - self.prompt_blocks(),
            (_, false) => cached.div_ceil(BLOCK) - self.prompt / BLOCK,
        }
    }
}

/// Blocks that any `seats` completions at most have in use at the same time, with their prompts.
pub fn blocks_at_most<L>(groups: &[Group<L>], seats: usize) -> usize {
    let most = |mut needs: Vec<(usize, usize)>| {
        needs.sort_unstable_by(|a, b| b.cmp(a));
        let mut left = seats;
        let of = |(blocks, count): (usize, usize)| {
            let taken = count.min(left);
            left -= taken;
            blocks * taken
        };
        needs.into_iter().map(of).sum::<usize>()
    };
    let own = groups.iter().map(|group| (group.own_blocks(false), group.requests.len())).collect();
    let prompts = groups.iter().map(|group| (group.prompt_blocks(), 1)).collect();
    most(own) + most(prompts)
}

/// An admitted completion's place.
#[derive(Debug)]
pub struct Seat {
    pub request: usize,
    /// The most tokens that it may have.
    pub limit: usize,
    group: usize,
    /// Before its start the blocks that only it has, then all of its blocks in the order of its tokens.
    table: Vec<u32>,
}

impl Seat {
    /// The completion's blocks, once it has started.
    pub fn table(&self) -> &[u32] {
        &self.table
    }
}

/// What a completion starts from.
#[derive(Debug)]
pub struct Start<L> {
    /// The logits after the prompt.
    pub logits: L,
    /// A block to copy before anything more is written, from and to.
    pub copy: Option<(u32, u32)>,
}

/// Rows of a prompt to compute in one pass.
#[derive(Debug)]
pub struct Part {
    group: usize,
    /// The request whose tokens hold the prompt.
    pub request: usize,
    pub positions: Range<usize>,
    /// Whether the prompt ends with it.
    pub is_last: bool,
}

/// The blocks of a cache: who has them, and what they hold.
#[derive(Debug)]
pub struct Stock {
    pool: BlockPool,
    held: Held,
    /// Whether what they hold stays when nobody has them any more, as long as there are others.
    keeps: bool,
}

impl Stock {
    pub fn new(blocks: usize, keeps: bool) -> Self {
        Self { pool: BlockPool::new(blocks), held: Held::new(blocks), keeps }
    }

    pub fn held(&self) -> &Held {
        &self.held
    }

    /// Blocks to be written, or none at all when fewer are free.
    fn take(&mut self, count: usize) -> Option<Vec<u32>> {
        let taken = self.pool.take(count)?;
        taken.iter().for_each(|block| self.held.forget(*block));
        Some(taken)
    }

    /// The blocks for a beginning of which some hold a part, which is then had once more, and for `own` behind it; with the
    /// number of those that hold it.
    fn take_behind(&mut self, beginning: &[Number], blocks: usize, own: usize) -> Option<(Vec<u32>, Vec<u32>, usize)> {
        let mut table = self.held.of(beginning);
        let begun = table.len();
        // Before others are taken, which these might be.
        self.pool.share(&table);
        let Some(mut rest) = self.take(blocks - begun + own) else {
            self.give_back(&table);
            return None;
        };
        let own = rest.split_off(blocks - begun);
        table.append(&mut rest);
        self.held.add(beginning, &table);
        Some((table, own, begun))
    }

    fn give_back(&mut self, blocks: &[u32]) {
        self.pool.give_back(blocks, |block| self.keeps && self.held.is_held(block));
    }
}

/// Groups in order, seats and blocks.
#[derive(Debug)]
pub struct Schedule<L> {
    groups: Vec<Group<L>>,
    stock: Stock,
    free_seats: usize,
    /// What is admitted next.
    next_group: usize,
    next_request: usize,
    /// The first group whose prompt is not computed yet.
    filling: usize,
}

impl<L: Clone> Schedule<L> {
    /// A schedule of groups whose ranges of requests follow on each other.
    pub fn new(groups: Vec<Group<L>>, seats: usize, stock: Stock) -> Self {
        let next_request = groups.first().map_or(0, |group| group.requests.start);
        Self { groups, stock, free_seats: seats, next_group: 0, next_request, filling: 0 }
    }

    /// The blocks, when all completions that were admitted have left: nobody has any then, nor do prompts whose completions were not
    /// all admitted.
    pub fn into_stock(mut self) -> Stock {
        self.groups.iter().for_each(|group| self.stock.give_back(&group.table));
        self.stock
    }

    /// Admits the next request, if there is one, a seat for it, and blocks.
    pub fn admit(&mut self) -> Option<Seat> {
        let group = self.groups.get_mut(self.next_group)?;
        if self.free_seats == 0 {
            return None;
        }
        let request = self.next_request;
        let is_last = request + 1 == group.requests.end;
        let own = group.own_blocks(is_last);
        let table = if request == group.requests.start {
            // What another prompt has of its beginning is computed before it, in this pass at the latest.
            let (prompt, own, begun) = self.stock.take_behind(&group.beginning, group.prompt_blocks(), own)?;
            (group.table, group.computed) = (prompt, begun * BLOCK);
            own
        } else {
            self.stock.take(own)?
        };
        let seat = Seat { request, limit: group.limit, group: self.next_group, table };
        self.free_seats -= 1;
        self.next_request += 1;
        self.next_group += usize::from(is_last);
        Some(seat)
    }

    /// The prompt rows of the next pass: at most `budget`, of admitted groups in their order.
    pub fn prompt_parts(&self, budget: usize) -> Vec<Part> {
        let mut left = budget;
        let mut parts = Vec::new();
        let admitted = |group: &Group<L>| group.requests.start < self.next_request;
        for (index, group) in self.groups.iter().enumerate().skip(self.filling).take_while(|(_, g)| admitted(g)) {
            let end = group.prompt.min(group.computed + left);
            if end == group.computed {
                break;
            }
            left -= end - group.computed;
            let positions = group.computed..end;
            parts.push(Part { group: index, request: group.requests.start, positions, is_last: end == group.prompt });
        }
        parts
    }

    /// The blocks in which a prompt lies.
    pub fn prompt_table(&self, part: &Part) -> &[u32] {
        &self.groups[part.group].table
    }

    /// Notes that a part is in the cache, with the logits after it if its prompt ends there.
    pub fn computed(&mut self, part: &Part, logits: Option<L>) {
        let group = &mut self.groups[part.group];
        group.computed = part.positions.end;
        group.logits = logits;
        self.filling = part.group + usize::from(part.is_last);
    }

    /// Starts an admitted completion once its prompt is computed. The completions of a group start in their order.
    pub fn start(&mut self, seat: &mut Seat) -> Option<Start<L>> {
        let group = &mut self.groups[seat.group];
        if seat.request + 1 == group.requests.end {
            let logits = group.logits.take()?;
            let own = std::mem::replace(&mut seat.table, std::mem::take(&mut group.table));
            seat.table.extend(own);
            return Some(Start { logits, copy: None });
        }
        let logits = group.logits.clone()?;
        let (full, rest) = group.table.split_at(group.prompt / BLOCK);
        self.stock.pool.share(full);
        let copy = rest.first().copied().zip(seat.table.first().copied());
        seat.table.splice(0..0, full.iter().copied());
        Some(Start { logits, copy })
    }

    /// Takes back the seat and the blocks of a completion that has ended, of which the first hold `path`.
    pub fn leave(&mut self, seat: &Seat, path: &[Number]) {
        self.stock.held.add(path, &seat.table);
        self.stock.give_back(&seat.table);
        self.free_seats += 1;
    }

    /// The requests that continue the prompt of a completion.
    pub fn requests(&self, seat: &Seat) -> Range<usize> {
        self.groups[seat.group].requests.clone()
    }

    /// Whether a completion may write a block.
    pub fn is_exclusive(&self, block: u32) -> bool {
        self.stock.pool.is_exclusive(block)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::engine::sampler::beginnings::Beginnings;

    /// What a place of the cache holds: the tokens of a sequence up to there.
    type Cell = Option<Vec<u32>>;

    /// A cache that remembers who wrote what, and completions that end as they are told to.
    struct Simulation {
        schedule: Schedule<usize>,
        /// By request, from the prompt's first token to the completion's last.
        sequences: Vec<Vec<u32>>,
        beginnings: Beginnings,
        cells: Vec<[Cell; BLOCK]>,
        /// Completions under way, with the number of their tokens.
        active: Vec<(Seat, usize)>,
        prompt_rows: usize,
    }

    impl Simulation {
        fn write(&mut self, table: &[u32], request: usize, position: usize) {
            let block = table[position / BLOCK];
            let cell = Some(self.sequences[request][..=position].to_vec());
            let place = &mut self.cells[block as usize][position % BLOCK];
            // A prompt's beginning may have others who wait for it.
            assert!(self.schedule.is_exclusive(block) || place.is_none(), "what others read is written");
            *place = cell;
        }

        /// That a sequence finds its own tokens up to `end`.
        fn check_read(&self, table: &[u32], request: usize, end: usize) {
            for at in 0..end {
                let read = self.cells[table[at / BLOCK] as usize][at % BLOCK].as_deref();
                assert_eq!(read, Some(&self.sequences[request][..=at]));
            }
        }

        /// Blocks hold nothing from when they are handed out.
        fn admit(&mut self) {
            while let Some(seat) = self.schedule.admit() {
                let group = &self.schedule.groups[seat.group];
                let is_first = seat.request == group.requests.start;
                let begun = group.computed / BLOCK;
                let taken = group.table.iter().skip(begun).filter(|_| is_first).chain(&seat.table);
                taken.for_each(|block| self.cells[*block as usize] = EMPTY);
                self.active.push((seat, 0));
            }
        }

        fn step(&mut self, budget: usize) {
            self.admit();
            assert!(!self.active.is_empty(), "nothing runs, but requests are left");
            let parts = self.schedule.prompt_parts(budget);
            assert!(parts.iter().map(|part| part.positions.len()).sum::<usize>() <= budget);
            for part in parts {
                let table = self.schedule.prompt_table(&part).to_vec();
                self.prompt_rows += part.positions.len();
                part.positions.clone().for_each(|at| self.write(&table, part.request, at));
                self.check_read(&table, part.request, part.positions.end);
                self.schedule.computed(&part, part.is_last.then_some(part.group));
            }
            let mut active = std::mem::take(&mut self.active);
            for (seat, tokens) in active.iter_mut().filter(|(_, tokens)| *tokens > 0) {
                let newest = self.schedule.groups[seat.group].prompt + *tokens - 1;
                self.write(seat.table(), seat.request, newest);
                self.check_read(seat.table(), seat.request, newest + 1);
                *tokens += 1;
            }
            for (seat, tokens) in active.iter_mut().filter(|(_, tokens)| *tokens == 0) {
                let Some(start) = self.schedule.start(seat) else { continue };
                assert_eq!(start.logits, seat.group);
                if let Some((from, to)) = start.copy {
                    assert!(self.schedule.is_exclusive(to));
                    self.cells[to as usize] = self.cells[from as usize].clone();
                }
                *tokens = 1;
            }
            active.retain(|(seat, tokens)| {
                let sequence = &self.sequences[seat.request];
                let over = self.schedule.groups[seat.group].prompt + *tokens == sequence.len();
                if over {
                    let path = self.beginnings.path(sequence);
                    self.schedule.leave(seat, if self.schedule.stock.keeps { &path } else { &[] });
                }
                !over
            });
            self.active = active;
            self.check_users();
        }

        /// Every block has as many users as there are tables that name it.
        fn check_users(&self) {
            let mut users = vec![0; self.cells.len()];
            let tables = self.schedule.groups.iter().map(|group| &group.table);
            for block in tables.chain(self.active.iter().map(|(seat, _)| &seat.table)).flatten() {
                users[*block as usize] += 1;
            }
            assert_eq!(self.schedule.stock.pool.users(), users);
        }

        /// Runs all groups to their ends; the prompt rows that were computed.
        fn run(&mut self, seats: usize, budget: usize) -> usize {
            let most_steps: usize = self.sequences.iter().map(Vec::len).sum();
            let mut steps = 0;
            self.prompt_rows = 0;
            while self.schedule.next_group < self.schedule.groups.len() || !self.active.is_empty() {
                self.step(budget);
                steps += 1;
                assert!(steps <= most_steps, "a step neither computes nor draws");
            }
            assert_eq!(self.schedule.stock.pool.free(), self.cells.len());
            assert_eq!(self.schedule.free_seats, seats);
            self.prompt_rows
        }

        /// Sequences that go on where these have ended, behind `answer` tokens, for `limit` more at most.
        fn go_on(self, seats: usize, answer: usize, limit: usize) -> Self {
            let Self { schedule, mut sequences, mut beginnings, cells, .. } = self;
            let mut groups = Vec::new();
            for (request, sequence) in sequences.iter_mut().enumerate() {
                let token = |at: usize| (9_000_000 + 1000 * request + at) as u32;
                sequence.extend((0..answer).map(token));
                groups.push(Group::new(request..request + 1, sequence.len(), limit, beginnings.path(sequence)));
                sequence.extend((answer..answer + limit).map(token));
            }
            let schedule = Schedule::new(groups, seats, schedule.into_stock());
            Self { schedule, sequences, beginnings, cells, active: Vec::new(), prompt_rows: 0 }
        }
    }

    const EMPTY: [Cell; BLOCK] = [const { None }; BLOCK];

    /// Groups of (completions, tokens of the prompt, limit), how much of its limit each completion uses, and how many tokens of
    /// each prompt are those of all.
    fn simulation(
        sizes: &[(usize, usize, usize)],
        shares: &[f64],
        alike: usize,
        (seats, spare): (usize, usize),
        keeps: bool,
    ) -> Simulation {
        let (mut groups, mut sequences): (Vec<Group<usize>>, Vec<Vec<u32>>) = Default::default();
        let mut beginnings = Beginnings::default();
        for (group, (completions, prompt, limit)) in sizes.iter().enumerate() {
            let token = |at: usize| if at < alike { at as u32 } else { 1000 + group as u32 };
            let prompt: Vec<u32> = (0..*prompt).map(token).collect();
            let requests = sequences.len()..sequences.len() + completions;
            groups.push(Group::new(requests.clone(), prompt.len(), *limit, beginnings.path(&prompt)));
            for request in requests {
                let length = 1 + (shares[request % shares.len()] * (*limit as f64 - 1.0)) as usize;
                let own = (0..length).map(|at| (100_000 + 1000 * request + at) as u32);
                sequences.push(prompt.iter().copied().chain(own).collect());
            }
        }
        let alone = groups.iter().map(Group::blocks_alone).max().unwrap_or(0);
        let blocks = (alone + spare).min(blocks_at_most(&groups, seats).max(alone));
        Simulation {
            schedule: Schedule::new(groups, seats, Stock::new(blocks, keeps)),
            sequences,
            beginnings,
            cells: vec![EMPTY; blocks],
            active: Vec::new(),
            prompt_rows: 0,
        }
    }

    /// The prompt rows that are computed.
    fn simulate(
        sizes: &[(usize, usize, usize)],
        shares: &[f64],
        alike: usize,
        (seats, spare, budget): (usize, usize, usize),
    ) -> usize {
        simulation(sizes, shares, alike, (seats, spare), false).run(seats, budget)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        /// Each completion reads its prompt and its own tokens and nothing else, no block is written that others read,
        /// prompts are computed once, and in the end every block is free; and so if they go on where they have ended, which
        /// is not computed again where there is room for it.
        #[test]
        fn completions_never_meet_in_a_block_and_leave_none_behind(
            sizes in prop::collection::vec((1..7_usize, 1..60_usize, 8..40_usize), 1..8),
            shares in prop::collection::vec(0.0..=0.5_f64, 1..20),
            alike in 0..70_usize,
            (seats, spare, budget) in (1..9_usize, 0..40_usize, 1..80_usize),
            (answer, limit) in (1..3_usize, 1..3_usize),
        ) {
            let rows = simulate(&sizes, &shares, alike, (seats, spare, budget));
            let all: usize = sizes.iter().map(|(_, prompt, _)| prompt).sum();
            let fits = if alike < BLOCK { rows == all } else { rows <= all };
            prop_assert!(fits);
            let mut first = simulation(&sizes, &shares, alike, (seats, spare), true);
            // What all would take at once, prompts being shared.
            let whole = blocks_at_most(&first.schedule.groups, usize::MAX);
            prop_assert!(first.run(seats, budget) <= all);
            let (requests, blocks) = (first.sequences.len(), first.cells.len());
            let all: usize = first.sequences.iter().map(|sequence| sequence.len() + answer).sum();
            let mut second = first.go_on(seats, answer, limit);
            prop_assert!(second.schedule.groups.iter().all(|group| group.blocks_alone() <= blocks));
            let rows = second.run(seats, budget);
            let most = if blocks < whole { all } else { requests * (BLOCK + answer) };
            prop_assert!(rows <= most);
        }
    }

    #[test]
    fn what_goes_on_is_not_computed_again() {
        // 45 + 11, 33 + 11 and 7 + 11 tokens, of which 3, 2 and 1 blocks are whole before the last.
        let mut first = simulation(&[(2, 45, 21), (1, 33, 21), (3, 7, 21)], &[0.5], 0, (6, 999), true);
        assert_eq!(first.run(6, 512), 45 + 33 + 7);
        assert_eq!(first.go_on(6, 5, 3).run(6, 512), 2 * (8 + 5) + (12 + 5) + 3 * (2 + 5));
    }

    #[test]
    fn prompts_that_begin_alike_compute_that_once() {
        // 40 of 45 tokens are those of all, which are two whole blocks.
        let rows = |seats| simulate(&[(2, 45, 4), (1, 45, 4), (3, 40, 4), (1, 33, 4)], &[1.0], 40, (seats, 99, 30));
        assert_eq!(rows(7), 45 + 13 + 8 + 1);
        // Where one is over before the next begins, too, whose blocks are free.
        assert_eq!(rows(1), 45 + 13 + 8 + 1);
    }

    #[test]
    fn prompts_that_end_with_a_block_and_completions_of_one_token_need_no_more_than_they_use() {
        let alone =
            |completions, prompt, limit| Group::<usize>::new(0..completions, prompt, limit, Vec::new()).blocks_alone();
        assert_eq!([alone(1, 16, 1), alone(1, 16, 2), alone(1, 15, 2), alone(1, 15, 3)], [1, 2, 1, 2]);
        assert_eq!([alone(2, 16, 1), alone(2, 16, 2), alone(2, 15, 2), alone(2, 15, 3)], [1, 2, 2, 3]);
        for prompt in 15..18 {
            for limit in [1, 2, 16, 17, 18] {
                simulate(&[(3, prompt, limit), (1, prompt, limit)], &[1.0], 0, (2, 0, 7));
            }
        }
    }

    #[test]
    fn a_free_seat_is_taken_at_once_while_there_are_blocks() {
        let group = |requests| Group::<usize>::new(requests, 20, 4, Vec::new());
        let mut schedule = Schedule::new(vec![group(0..3), group(3..4)], 2, Stock::new(100, false));
        let first = schedule.admit().unwrap();
        assert_eq!((first.request, schedule.admit().unwrap().request), (0, 1));
        assert!(schedule.admit().is_none());
        schedule.leave(&first, &[]);
        assert_eq!(schedule.admit().unwrap().request, 2);
    }
}
