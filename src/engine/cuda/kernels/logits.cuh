// What is read from logits, their gradient, and the drawing of tokens. A block of 1024 threads takes a row of float32
// logits [n, vocab]; thread t has the tokens t, t + 1024, ..., whatever the alignment of the row, so that a row's
// result depends on its values alone. Rows are read several times: by the second time they are in the L2 cache.
//
// Order-free integers make what is summed by many threads reproducible: counts, and masses of probability in fixed
// point.
#pragma once
#include "simt.cuh"

constexpr u32 THREADS = 1024;

constexpr u32 BATCH = 8; // tokens a thread reads at once

#define FOR_TOKENS(token, vocab)                                                                                       \
    UNROLL_BY(8) for (u32 token = threadIdx.x; token < (vocab); token += THREADS)

// Calls f(first token, values) for batches of the tokens start, start + STRIDE, ...; a batch's are STRIDE apart, and
// values beyond the end are -infinity, which no softmax notices. The loads of a batch are under way together.
template <u32 STRIDE, class F> DEVICE void for_batches(const float* row, u32 start, u32 end, F f) {
    for (u32 first = start; first < end; first += BATCH * STRIDE) {
        Eight x;
        UNROLL for (u32 k = 0; k < BATCH; k++) {
            x[k] = first + k * STRIDE < end ? row[first + k * STRIDE] : -INFINITY;
        }
        f(first, x);
    }
}
template <class F> DEVICE void for_batches(const float* row, u32 vocab, F f) {
    for_batches<THREADS>(row, threadIdx.x, vocab, f);
}

// sum of e^(t (x - max)), and of the same weighted by x - max, in one pass: the sums follow the maximum.
struct Softmax {
    float max = -INFINITY, sum = 0, weighted = 0;

    template <bool WEIGHTED = false> DEVICE void add(const Eight& x, float t) {
        float most = max;
        UNROLL for (u32 k = 0; k < BATCH; k++) most = greatest(most, x[k]);
        if (most > max) {
            float keep = expf(t * (max - most));
            if (WEIGHTED && sum > 0) weighted = keep * (weighted + sum * (max - most));
            sum *= keep;
            max = most;
        }
        if (max == -INFINITY) return;
        UNROLL for (u32 k = 0; k < BATCH; k++) {
            float weight = expf(t * (x[k] - max));
            sum += weight;
            if (WEIGHTED) weighted += weight > 0 ? weight * (x[k] - max) : 0.0f;
        }
    }
    // Joins the threads of the block.
    template <bool WEIGHTED = false> DEVICE void reduce(float t) {
        float mine = max;
        max = reduce_block<Max>(max);
        float keep = mine > -INFINITY ? expf(t * (mine - max)) : 0.0f;
        if (WEIGHTED) weighted = reduce_block<Sum>(keep > 0 ? keep * (weighted + sum * (mine - max)) : 0.0f);
        sum = reduce_block<Sum>(sum * keep);
    }
    // ln sum e^(t x)
    DEVICE double log_sum(float t) const { return double(t) * double(max) + log(double(sum)); }
};

// logprobs[i] = log softmax at the target, entropies[i] = the entropy of the row, in nats
// launch: grid (n), 1024 threads, shared 0
KERNEL_RESIDENT(read_rows, 1024, 2,
       (float* logprobs, float* entropies, const float* logits, const u32* targets, u32 n, u32 vocab)) {
    const float* row = logits + u64(blockIdx.x) * vocab;
    Softmax softmax;
    for_batches(row, vocab, [&](u32, const Eight& x) { softmax.add<true>(x, 1.0f); });
    softmax.reduce<true>(1.0f);
    if (threadIdx.x != 0) return;
    float log_sum = logf(softmax.sum);
    logprobs[blockIdx.x] = row[targets[blockIdx.x]] - softmax.max - log_sum;
    entropies[blockIdx.x] = log_sum - softmax.weighted / softmax.sum;
}

// out = g * (onehot(target) - softmax(logits)) for g = of_logprobs
template <class T>
DEVICE void logits_gradient(T* out, const float* logits, const u32* targets, const float* of_logprobs, u32 vocab) {
    const float* row = logits + u64(blockIdx.x) * vocab;
    T* to = out + u64(blockIdx.x) * vocab;
    float g = of_logprobs[blockIdx.x];
    if (g == 0) {
        FOR_TOKENS(i, vocab) to[i] = from_float<T>(0.0f);
        return;
    }
    Softmax softmax;
    for_batches(row, vocab, [&](u32, const Eight& x) { softmax.add(x, 1.0f); });
    softmax.reduce(1.0f);
    u32 target = targets[blockIdx.x];
    float inverse = 1.0f / softmax.sum;
    for_batches(row, vocab, [&](u32 first, const Eight& x) {
        UNROLL for (u32 k = 0; k < BATCH; k++) {
            u32 i = first + k * THREADS;
            float p = expf(x[k] - softmax.max) * inverse;
            if (i < vocab) to[i] = from_float<T>(g * ((i == target ? 1.0f : 0.0f) - p));
        }
    });
}

// ---- The greatest values of a row ---------------------------------------------------------------------------------

// Keys in the order of the floats; -0 and 0 are equal.
DEVICE u32 ordered_key(float x) {
    u32 bits = float_bits(x + 0.0f);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
DEVICE float of_ordered_key(u32 key) { return bits_float(key & 0x80000000u ? key & 0x7fffffffu : ~key); }

// The prefix of a row in descending order, of equal values the earlier tokens first.
struct Prefix {
    u32 key = 0, last = ~0u;
    DEVICE bool keeps(float x, u32 token) const {
        u32 k = ordered_key(x);
        return k > key || (k == key && token <= last);
    }
};

// The token of the `rank`-th (from 1) of those with this key.
DEVICE u32 token_of_equal(const float* row, u32 vocab, u32 key, u32 rank) {
    SHARED(u32, found, 1);
    if (threadIdx.x == 0) found[0] = vocab - 1;
    u64 seen = 0, here = 0;
    for (u32 base = 0; base < vocab && seen < rank; base += THREADS) {
        u32 token = base + threadIdx.x;
        u64 equal = token < vocab && ordered_key(row[token]) == key;
        u64 before = exclusive_scan_block(equal, here) + seen;
        if (equal && before + 1 == rank) found[0] = token;
        seen += here;
    }
    __syncthreads();
    return found[0];
}

// The k greatest of a row, 0 < k <= vocab: a radix select from the highest bits of the keys down.
DEVICE Prefix greatest_k(const float* row, u32 vocab, u32 k) {
    constexpr u32 BINS = 2048;
    SHARED(u32, counts, BINS);
    SHARED(u32, chosen, 3); // bin, how many of it are kept, how many it has
    u32 key = 0, known = 0; // the bits of the key that are settled
    for (int shift : {21, 10, 0}) {
        for (u32 bin = threadIdx.x; bin < BINS; bin += THREADS) counts[bin] = 0;
        __syncthreads();
        u32 bits = shift == 0 ? 1023 : 2047;
        for_batches(row, vocab, [&](u32 first, const Eight& x) {
            UNROLL for (u32 i = 0; i < BATCH; i++) {
                u32 mine = ordered_key(x[i]);
                bool counted = first + i * THREADS < vocab && (mine & known) == key;
                if (counted) add_to_shared(&counts[mine >> shift & bits], 1);
            }
        });
        __syncthreads();
        // From the highest bin down, a thread has two.
        u32 high = BINS - 1 - 2 * threadIdx.x, in_high = counts[high], in_low = counts[high - 1];
        u64 total;
        u32 before = u32(exclusive_scan_block(in_high + in_low, total));
        if (before < k && before + in_high >= k) {
            chosen[0] = high;
            chosen[1] = k - before;
            chosen[2] = in_high;
        } else if (before + in_high < k && before + in_high + in_low >= k) {
            chosen[0] = high - 1;
            chosen[1] = k - before - in_high;
            chosen[2] = in_low;
        }
        __syncthreads();
        key |= chosen[0] << shift;
        known |= bits << shift;
        k = chosen[1];
    }
    Prefix prefix;
    prefix.key = key;
    if (k < chosen[2]) prefix.last = token_of_equal(row, vocab, key, k);
    return prefix;
}

// ---- Student and teacher ------------------------------------------------------------------------------------------

// Both distributions at an inverse temperature t: KL(p || q) for p of the student and q of the teacher, over the kept
// tokens, both renormalised over them.
struct Pair {
    const float *student, *teacher;
    u32 vocab;
    float t;
    bool truncated;
    Prefix prefix;
    Softmax p, q;      // over the kept tokens
    double difference; // ln sum e^(t student) - ln sum e^(t teacher), over the kept tokens

    // Leaves what a pass over the whole vocabulary gives: the student's softmax at temperature 1, and the difference.
    DEVICE void read(u32 top_k, Softmax& whole, double& whole_difference) {
        truncated = top_k != 0 && top_k < vocab;
        for_batches(student, vocab, [&](u32, const Eight& x) {
            whole.add(x, 1.0f);
            p.add(x, t);
        });
        for_batches(teacher, vocab, [&](u32, const Eight& z) { q.add(z, t); });
        whole.reduce(1.0f);
        join();
        whole_difference = difference;
        if (!truncated) return;
        prefix = greatest_k(student, vocab, top_k);
        p = Softmax();
        q = Softmax();
        for_batches(student, vocab, [&](u32 first, Eight x) {
            Eight z;
            UNROLL for (u32 k = 0; k < BATCH; k++) {
                u32 i = first + k * THREADS;
                bool kept = i < vocab && prefix.keeps(x[k], i);
                z[k] = kept ? teacher[i] : -INFINITY;
                x[k] = kept ? x[k] : -INFINITY;
            }
            p.add(x, t);
            q.add(z, t);
        });
        join();
    }
    DEVICE void join() {
        p.reduce(t);
        q.reduce(t);
        difference = p.log_sum(t) - q.log_sum(t);
    }
    DEVICE bool keeps(u32 i) const { return !truncated || prefix.keeps(student[i], i); }
    DEVICE float probability(u32 i) const { return expf(t * (student[i] - p.max)) / p.sum; }
    // ln(p / q); the logits cancel in double, so that it is right near 0 too
    DEVICE float log_ratio(u32 i) const {
        return float(double(t) * (double(student[i]) - double(teacher[i])) - difference);
    }
    // sum of p ln(p/q) as the sum of p ln(p/q) - p + q, whose terms are not negative: nothing cancels near 0
    DEVICE double divergence() const {
        double sum = 0;
        FOR_TOKENS(i, vocab) {
            if (!keeps(i)) continue;
            float share = probability(i), r = log_ratio(i);
            if (share > 0 && fabsf(r) < 0.25f) { // r - 1 + e^-r by its series
                float tail = 1.0f / 24 - r * (1.0f / 120 - r * (1.0f / 720 - r * (1.0f / 5040)));
                sum += double(share * (r * r * (0.5f - r * (1.0f / 6 - r * tail))));
            } else {
                float other = expf(t * (teacher[i] - q.max)) / q.sum;
                sum += share > 0 ? double(share) * (double(r) - 1.0) + double(other) : double(other);
            }
        }
        return reduce_block<Sum>(sum);
    }
};

// launch: grid (n), 1024 threads, shared 0
KERNEL(read_pairs, 1024,
       (float* logprobs, float* log_ratio, float* divergence, const float* student, const float* teacher,
        const u32* targets, u32 n, u32 vocab, float inverse_temperature, u32 top_k)) {
    Pair pair;
    pair.student = student + u64(blockIdx.x) * vocab;
    pair.teacher = teacher + u64(blockIdx.x) * vocab;
    pair.vocab = vocab;
    pair.t = inverse_temperature;
    Softmax whole;
    double difference;
    pair.read(top_k, whole, difference);
    double kl = pair.divergence();
    if (threadIdx.x != 0) return;
    u32 target = targets[blockIdx.x];
    float of_student = pair.student[target], of_teacher = pair.teacher[target];
    logprobs[blockIdx.x] = of_student - whole.max - logf(whole.sum);
    log_ratio[blockIdx.x] =
        float(double(inverse_temperature) * (double(of_teacher) - double(of_student)) + difference);
    divergence[blockIdx.x] = float(kl);
}

// The same gradient, and of_divergence * t * p * (ln(p / q) - KL) on the kept tokens: with p renormalised over the kept
// tokens, this is the derivative of KL(p || q) by the student's logits.
template <class T>
DEVICE void logits_gradient_pairs(T* out, const float* logits, const float* teacher, const u32* targets,
                                  const float* of_logprobs, const float* of_divergence, u32 vocab,
                                  float inverse_temperature, u32 top_k) {
    Pair pair;
    pair.student = logits + u64(blockIdx.x) * vocab;
    pair.teacher = teacher + u64(blockIdx.x) * vocab;
    pair.vocab = vocab;
    pair.t = inverse_temperature;
    T* to = out + u64(blockIdx.x) * vocab;
    float g = of_logprobs[blockIdx.x], d = of_divergence[blockIdx.x];
    if (g == 0 && d == 0) {
        FOR_TOKENS(i, vocab) to[i] = from_float<T>(0.0f);
        return;
    }
    Softmax whole;
    double difference;
    pair.read(top_k, whole, difference);
    float kl = d == 0 ? 0.0f : float(pair.divergence());
    u32 target = targets[blockIdx.x];
    float inverse = 1.0f / whole.sum;
    FOR_TOKENS(i, vocab) {
        float sum = g * ((i == target ? 1.0f : 0.0f) - expf(pair.student[i] - whole.max) * inverse);
        if (d != 0 && pair.keeps(i)) {
            float share = pair.probability(i);
            if (share > 0) sum += d * pair.t * share * (pair.log_ratio(i) - kl);
        }
        to[i] = from_float<T>(sum);
    }
}

// ---- Drawing --------------------------------------------------------------------------------------------------------

// Masses of probability relative to the most likely token, in units of 2^-44: those of 2^18 tokens fit 64 bits, and
// their sums are exact in any order.
constexpr float MASS_ONE = 17592186044416.0f;
constexpr u32 CANDIDATES = 8192; // keys that the dynamic shared memory holds
constexpr float REACH = 16.0f;   // a candidate is not e^16 times less likely than the first

// Of one row: values relative to its maximum, at the inverse temperature.
struct Masses {
    float max, inverse_temperature;
    DEVICE float scaled(float x) const { return (x - max) * inverse_temperature; }
    DEVICE u64 of(float x) const { return round_to_u64(expf(scaled(x)) * MASS_ONE); }
};

// How many tokens, and their mass.
struct Tally {
    u64 count, mass;
    DEVICE Tally operator+(const Tally& other) const { return {count + other.count, mass + other.mass}; }
};
DEVICE Tally shuffle_xor(const Tally& x, int mask) {
    return {shuffle_xor(x.count, mask), shuffle_xor(x.mass, mask)};
}

// The shorter of two prefixes of the descending order: the first `most` tokens, and the fewest whose mass is `enough`.
// `kept` becomes its mass. The threshold is built bit by bit: each bit stays if the values from there on suffice.
DEVICE Prefix truncate(const float* row, u32 vocab, const Masses& masses, const u32* candidates, u32 candidate_count,
                       u64 candidate_mass, u32 most, u64 enough, u64& kept) {
    // All values from some threshold on are among the candidates; they settle it where they suffice.
    bool few = candidate_count <= CANDIDATES && (candidate_count >= most || candidate_mass >= enough);
    u32 items = few ? candidate_count : vocab;
    auto key_of = [&](u32 i) { return few ? candidates[i] : ordered_key(row[i]); };
    auto from = [&](u32 threshold) {
        Tally mine = {0, 0};
        UNROLL_BY(4) for (u32 i = threadIdx.x; i < items; i += THREADS) {
            u32 key = key_of(i);
            if (key >= threshold) mine = mine + Tally{1, masses.of(of_ordered_key(key))};
        }
        return reduce_block<Sum>(mine);
    };
    // Where the candidates settle it, the bits that are common to all within their reach (and a little more) are known.
    u32 greatest_key = ordered_key(masses.max);
    u32 least_key = ordered_key(masses.max - (REACH + 1.0f) / masses.inverse_temperature);
    u32 key = 0;
    int bit = 31;
    while (few && bit >= 0 && (greatest_key >> bit) == (least_key >> bit)) {
        key |= greatest_key & 1u << bit;
        bit--;
    }
    for (; bit >= 0; bit--) {
        u32 trial = key | 1u << bit;
        Tally there = from(trial);
        if (there.count >= most || there.mass >= enough) key = trial;
    }
    Tally there = from(key), above = {0, 0};
    if (key != ~0u) above = from(key + 1);
    // Of the tokens at the threshold, as many as are still missing.
    u64 each = masses.of(of_ordered_key(key)), ties = there.count - above.count, rank = ties;
    if (there.count >= most) rank = least(rank, most - above.count);
    if (there.mass >= enough && each > 0) rank = least(rank, (enough - above.mass + each - 1) / each);
    kept = above.mass + rank * each;
    Prefix prefix;
    prefix.key = key;
    if (rank < ties) prefix.last = token_of_equal(row, vocab, key, u32(rank));
    return prefix;
}

// Draw i reads row row_of[i]. Temperature 0 takes the first maximum; otherwise the token is the one at which the
// running sum of the kept masses, in the order of the vocabulary, exceeds uniform * their sum.
// launch: grid (n), 1024 threads, shared 32768
KERNEL(draw, 1024,
       (u32* tokens, float* logprobs, float* entropies, const float* logits, const u32* row_of, const double* uniforms,
        u32 n, u32 vocab, float temperature, u32 top_k, float top_p)) {
    SHARED(u64, of_warps, 32);
    SHARED(u32, candidate_count, 1);
    SHARED(u32, drawn, 1);
    u32* candidates = shared_memory<u32>();
    const float* row = logits + u64(row_of[blockIdx.x]) * vocab;
    u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;

    // The first maximum: the greatest key, of equal ones the one whose complement of the token is greatest.
    u64 top = 0;
    for_batches(row, vocab, [&](u32 first, const Eight& x) {
        UNROLL for (u32 k = 0; k < BATCH; k++) { // one beyond the row never wins: ~token is less
            top = greatest(top, u64(ordered_key(x[k])) << 32 | (~(first + k * THREADS) & 0xffffffffu));
        }
    });
    top = reduce_block<Max>(top);
    u32 first = ~u32(top);
    float max = row[first];
    Masses masses = {max, temperature > 0 ? 1.0f / temperature : 1.0f};
    bool truncated = temperature > 0 && ((top_k != 0 && top_k < vocab) || top_p < 1.0f);

    // One pass for the entropy, the masses of each warp's stretch of the vocabulary, and the candidates: the tokens
    // that are not e^16 times less likely than the first.
    if (threadIdx.x == 0) {
        candidate_count[0] = 0;
        drawn[0] = first;
    }
    __syncthreads();
    u32 stretch = ceil_div(vocab, THREADS) * 32, begin = least(vocab, warp * stretch);
    u32 end = least(vocab, begin + stretch);
    float sum = 0, weighted = 0;
    u64 mass = 0, candidate_mass = 0;
    for_batches<32>(row, begin + lane, end, [&](u32, const Eight& x) {
        UNROLL for (u32 k = 0; k < BATCH; k++) {
            float weight = expf(x[k] - max);
            sum += weight;
            weighted += weight > 0 ? weight * (x[k] - max) : 0.0f;
            if (!(temperature > 0)) continue;
            u64 mine = masses.of(x[k]);
            mass += mine;
            if (truncated && masses.scaled(x[k]) >= -REACH) {
                u32 place = add_to_shared(candidate_count, 1);
                if (place < CANDIDATES) candidates[place] = ordered_key(x[k]);
                candidate_mass += mine;
            }
        }
    });
    sum = reduce_block<Sum>(sum);
    weighted = reduce_block<Sum>(weighted);
    double log_sum = log(double(sum));
    if (threadIdx.x == 0) entropies[blockIdx.x] = float(log_sum - double(weighted) / double(sum));
    if (!(temperature > 0)) {
        if (threadIdx.x == 0) {
            tokens[blockIdx.x] = first;
            logprobs[blockIdx.x] = float(-log_sum);
        }
        return;
    }

    u64 kept = reduce_block<Sum>(mass);
    Prefix prefix;
    if (truncated) {
        u64 enough = ~0ull;
        if (top_p < 1.0f) enough = greatest(u64(1), least(kept, u64(ceil(double(top_p) * double(kept)))));
        u32 most = top_k != 0 && top_k < vocab ? top_k : ~0u;
        candidate_mass = reduce_block<Sum>(candidate_mass);
        prefix = truncate(row, vocab, masses, candidates, candidate_count[0], candidate_mass, most, enough, kept);
        mass = 0;
        for_batches<32>(row, begin + lane, end, [&](u32 first, const Eight& x) {
            UNROLL for (u32 k = 0; k < BATCH; k++) {
                if (prefix.keeps(x[k], first + 32 * k)) mass += masses.of(x[k]);
            }
        });
    }

    // The warp in whose stretch the sum passes the goal, then the thread, then the token.
    u64 goal = least(u64(uniforms[blockIdx.x] * double(kept)), kept - 1);
    mass = reduce_warp<Sum>(mass);
    __syncthreads();
    if (lane == 0) of_warps[warp] = mass;
    __syncthreads();
    u64 before = 0;
    u32 at = 0;
    while (at < 31 && before + of_warps[at] <= goal) before += of_warps[at++];
    u32 each = ceil_div(stretch, THREADS);
    begin = least(vocab, at * stretch);
    end = least(vocab, begin + stretch);
    u32 from = least(end, begin + threadIdx.x * each), to = least(end, from + each);
    auto kept_mass = [&](u32 i) { return !truncated || prefix.keeps(row[i], i) ? masses.of(row[i]) : 0; };
    u64 mine = 0, whole;
    for (u32 i = from; i < to; i++) mine += kept_mass(i);
    before += exclusive_scan_block(mine, whole);
    if (before <= goal && goal < before + mine) {
        u32 i = from;
        while (i + 1 < to && before + kept_mass(i) <= goal) before += kept_mass(i++);
        drawn[0] = i;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        tokens[blockIdx.x] = drawn[0];
        logprobs[blockIdx.x] =
            float(double(masses.scaled(row[drawn[0]])) - log(double(kept) / double(MASS_ONE)));
    }
}

// ---- Exports ----------------------------------------------------------------------------------------------------

// launch: grid (n), 1024 threads, shared 0
KERNELS(logits_gradient, 1024,
        (T* out, const float* logits, const u32* targets, const float* of_logprobs, u32 n, u32 vocab),
        (out, logits, targets, of_logprobs, vocab))

// launch: grid (n), 1024 threads, shared 0
KERNELS(logits_gradient_pairs, 1024,
        (T* out, const float* logits, const float* teacher, const u32* targets, const float* of_logprobs,
         const float* of_divergence, u32 n, u32 vocab, float inverse_temperature, u32 top_k),
        (out, logits, teacher, targets, of_logprobs, of_divergence, vocab, inverse_temperature, top_k))
