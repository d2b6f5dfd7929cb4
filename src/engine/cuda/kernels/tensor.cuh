// Matrices of bf16 in shared memory, and their products on tensor cores.
//
// The product is mma.m16n8k16. Of its left factor (16 x 16), lane l holds four pairs, of rows l/4 and l/4 + 8; of its
// result (16 x 8), a pair in each of these two rows, at columns 2 (l%4). Two results side by side are therefore,
// rounded to bf16, the left factor of a further product: no data moves between lanes (FlashAttention-2, arXiv
// 2307.08691).
#pragma once
#include "attention.cuh"

constexpr float LOG2_E = 1.4426950408889634f;

DEVICE u32 lane_id() { return threadIdx.x % 32; }

// Rows of WIDTH values in shared memory, cut in chunks of 16 bytes. A chunk is found at its number xor a function of
// the row, so that the eight rows that ldmatrix reads at once lie in different banks.
template <int WIDTH> struct Sheet {
    static_assert(WIDTH % 32 == 0, "a chunk stays within its group of four or eight");
    static constexpr u32 CHUNKS = WIDTH / 8;
    bf16* values;

    DEVICE bf16* chunk(u32 row, u32 number) const {
        u32 turn = WIDTH % 64 == 0 ? row % 8 : row / 2 % 4;
        return values + row * WIDTH + (number ^ turn) * 8;
    }
    // Rows row .. row + 15, columns 16 step .. 16 step + 15, as the left factor.
    DEVICE void left(u32 (&a)[4], u32 row, u32 step) const {
        load_matrices(a, chunk(row + lane_id() % 16, 2 * step + lane_id() / 16));
    }
    // The transpose of the same, as two right factors: b[0], b[1] for rows row .. row + 7, b[2], b[3] for the next
    // eight.
    DEVICE void right_transpose(u32 (&b)[4], u32 row, u32 step) const {
        load_matrices(b, chunk(row + lane_id() % 8 + lane_id() / 16 * 8, 2 * step + lane_id() / 8 % 2));
    }
    // The same as it is, as two right factors: b[0], b[1] for the first eight columns, b[2], b[3] for the next eight.
    DEVICE void right(u32 (&b)[4], u32 row, u32 step) const {
        load_matrices_transposed(b, chunk(row + lane_id() % 16, 2 * step + lane_id() / 16));
    }
    // Begins to copy COUNT rows from global memory with THREADS threads; rows that are not valid become zeros.
    template <u32 COUNT, u32 THREADS> DEVICE void copy(const bf16* from, u64 stride, u32 valid) const {
        u32 item = threadIdx.x % THREADS;
        if (THREADS % CHUNKS == 0) { // a thread stays in its column
            u32 row = item / CHUNKS, number = item % CHUNKS;
            const bf16* at = from + (row * u32(stride) + number * 8);
            UNROLL for (u32 done = 0; done < COUNT; done += THREADS / CHUNKS) {
                bool is_valid = row + done < valid;
                copy_async(chunk(row + done, number), is_valid ? at : from, is_valid);
                at += THREADS / CHUNKS * stride;
            }
        } else {
            UNROLL_BY(1) for (; item < COUNT * CHUNKS; item += THREADS) {
                u32 row = item / CHUNKS, number = item % CHUNKS;
                bool is_valid = row < valid;
                copy_async(chunk(row, number), from + (is_valid ? row * stride + number * 8 : 0), is_valid);
            }
        }
    }
};

// c[0], c[1] += a * b: sixteen columns
DEVICE void multiply_add_pair(float (&c0)[4], float (&c1)[4], const u32 (&a)[4], const u32 (&b)[4]) {
    multiply_add(c0, a, b[0], b[1]);
    multiply_add(c1, a, b[2], b[3]);
}

// Two results side by side as a left factor.
DEVICE void as_left(u32 (&a)[4], const float (&c0)[4], const float (&c1)[4]) {
    a[0] = pack_bf16(c0[0], c0[1]);
    a[1] = pack_bf16(c0[2], c0[3]);
    a[2] = pack_bf16(c1[0], c1[1]);
    a[3] = pack_bf16(c1[2], c1[3]);
}

// A warp's result of 16 rows, times a factor for each of a lane's two rows, to global memory. `through` is shared
// memory of the warp's own for 16 rows: from there they go in stores of 16 bytes.
template <int WIDTH>
DEVICE void store_rows(bf16* to, u64 stride, u32 valid, const Sheet<WIDTH>& through, const float (&c)[WIDTH / 8][4],
                       float factor0, float factor1) {
    u32 lane = lane_id(), row = lane / 4, column = lane % 4 * 2;
    UNROLL for (u32 tile = 0; tile < WIDTH / 8; tile++) {
        u32 upper = pack_bf16(c[tile][0] * factor0, c[tile][1] * factor0);
        u32 lower = pack_bf16(c[tile][2] * factor1, c[tile][3] * factor1);
        *reinterpret_cast<u32*>(through.chunk(row, tile) + column) = upper;
        *reinterpret_cast<u32*>(through.chunk(row + 8, tile) + column) = lower;
    }
    __syncwarp();
    UNROLL for (u32 turn = 0; turn < Sheet<WIDTH>::CHUNKS / 2; turn++) {
        u32 item = 32 * turn + lane;
        u32 at = item / Sheet<WIDTH>::CHUNKS, number = item % Sheet<WIDTH>::CHUNKS;
        if (at >= valid) continue;
        *reinterpret_cast<Words*>(to + at * stride + number * 8) =
            *reinterpret_cast<const Words*>(through.chunk(at, number));
    }
}

// Over the four lanes that share a row of a result.
template <class Op> DEVICE float reduce_quad(float x) {
    x = Op::of(x, shuffle_xor(x, 1));
    return Op::of(x, shuffle_xor(x, 2));
}
