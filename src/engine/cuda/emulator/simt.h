// The primitives of ../kernels/simt.cuh on the CPU. The threads of a block are fibers on one thread of the CPU, which
// run until they meet a primitive of the warp or the barrier of the block. The emulation is stricter than a GPU:
// divergence at a primitive is an error, shared memory is full of NaN when a block starts, and asynchronous copies
// arrive, as the schedule says (emu_set_schedule), either at once or only when they are waited for.
#pragma once

// Kernels take arguments that only the geometry of their launch uses.
#pragma GCC diagnostic ignored "-Wunused-parameter"

#include <cstddef>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace emu {

struct Index {
    uint32_t x, y, z;
};

// What the kernels know as threadIdx and so on, of the fiber that runs.
extern thread_local Index thread_index, block_index, block_size, grid_size;
extern thread_local unsigned char* shared_bytes;
extern thread_local uint64_t block_serial;

// One lane's part in a primitive of the warp.
struct alignas(16) Deposit {
    uint32_t words[8];
};

// Waits for the block, or for the warp; `primitive` names what all lanes must have come to.
void wait_for_block();
// Leaves a deposit and waits until every lane of the warp has; returns the deposits of the 32 lanes.
const Deposit* meet(const char* primitive, const Deposit& deposit);

void begin_copy(void* to, const void* from, bool valid);
void commit_copies();
void wait_for_copies(int pending);
[[noreturn]] void fail(const std::string& reason);

// An array of a block's static shared memory, poisoned by the first thread of a block that comes to it.
template <class T, int count> struct Shared {
    alignas(16) T values[count];
    uint64_t serial = 0;
    T* of_block() {
        if (serial != block_serial) {
            serial = block_serial;
            memset(static_cast<void*>(values), 0xff, sizeof values);
        }
        return values;
    }
};

using Body = std::function<void()>;
struct Kernel {
    const char* name;
    uint32_t threads;
    size_t parameters;
    std::function<Body(void**)> bind;
};

// Reads the arguments as the CUDA driver does: `arguments[i]` points to the value of the i-th parameter.
template <class... P, size_t... I>
Kernel kernel_of(const char* name, uint32_t threads, void (*f)(P...), std::index_sequence<I...>) {
    return {name, threads, sizeof...(P), [f](void** arguments) -> Body {
                return [=] { f(*static_cast<P*>(arguments[I])...); };
            }};
}

struct Registration {
    template <class... P> Registration(const char* name, uint32_t threads, void (*f)(P...)) {
        add(kernel_of(name, threads, f, std::index_sequence_for<P...>()));
    }
    static void add(Kernel kernel);
};

} // namespace emu

#define __global__
#define __device__
#define DEVICE inline
#define UNROLL
#define UNROLL_BY(times)

#define KERNEL(name, threads, parameters)                                                                              \
    static void name parameters;                                                                                       \
    static const emu::Registration registration_of_##name(#name, threads, name);                                       \
    static void name parameters
#define KERNEL_RESIDENT(name, threads, blocks, parameters) KERNEL(name, threads, parameters)

#define SHARED(type, name, count)                                                                                      \
    static thread_local emu::Shared<type, (count)> storage_of_##name;                                                  \
    type* name = storage_of_##name.of_block()

#define threadIdx emu::thread_index
#define blockIdx emu::block_index
#define blockDim emu::block_size
#define gridDim emu::grid_size

inline void __syncthreads() { emu::wait_for_block(); }
inline void __syncwarp() { emu::meet("syncwarp", emu::Deposit{}); }

template <class T> T* shared_memory() { return reinterpret_cast<T*>(emu::shared_bytes); }

struct alignas(2) bf16 {
    u16 bits;
};

inline u32 float_bits(float x) {
    u32 bits;
    memcpy(&bits, &x, 4);
    return bits;
}
inline float bits_float(u32 bits) {
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

inline bf16 to_bf16(float x) {
    u32 bits = float_bits(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return {0x7fff};
    return {static_cast<u16>((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16)};
}
inline u32 pack_bf16(float low, float high) { return to_bf16(low).bits | static_cast<u32>(to_bf16(high).bits) << 16; }

namespace emu {
template <class N> N from_lane(const char* primitive, N x, int lane) {
    Deposit deposit{};
    memcpy(deposit.words, &x, sizeof x);
    const Deposit* all = meet(primitive, deposit);
    memcpy(&x, all[lane & 31].words, sizeof x);
    return x;
}
inline int lane() { return static_cast<int>(thread_index.x % 32); }
} // namespace emu

template <class N> N shuffle_xor(N x, int mask) { return emu::from_lane("shuffle_xor", x, emu::lane() ^ mask); }
template <class N> N shuffle(N x, int lane) { return emu::from_lane("shuffle", x, lane); }
template <class N> N shuffle_up(N x, int by) {
    return emu::from_lane("shuffle_up", x, emu::lane() < by ? emu::lane() : emu::lane() - by);
}

inline u32 add_to_shared(u32* word, u32 x) {
    u32 before = *word;
    *word += x;
    return before;
}

inline float exp2_fast(float x) { return exp2f(x); }
inline u64 round_to_u64(float x) { return x >= 0 ? static_cast<u64>(llrintf(x)) : 0; }

inline void copy_async(void* shared, const void* global, bool valid = true) { emu::begin_copy(shared, global, valid); }
inline void copy_async_commit() { emu::commit_copies(); }
template <int pending> void copy_async_wait() { emu::wait_for_copies(pending); }

namespace emu {
// Every lane deposits the row whose address it gives, so what a lane sees is what it had the right to read.
inline const Deposit* meet_with_row(const char* primitive, const bf16* row) {
    if (reinterpret_cast<uintptr_t>(row) % 16 != 0) fail("ldmatrix: the address of a row is not aligned to 16 bytes");
    Deposit deposit{};
    memcpy(deposit.words, row, 16);
    return meet(primitive, deposit);
}
inline u16 element(const Deposit* rows, int row, int column) {
    return static_cast<u16>(rows[row].words[column / 2] >> (column % 2 * 16));
}
} // namespace emu

inline void load_matrices(u32 (&m)[4], const bf16* row) {
    const emu::Deposit* rows = emu::meet_with_row("ldmatrix", row);
    int lane = emu::lane();
    for (int i = 0; i < 4; i++) m[i] = rows[8 * i + lane / 4].words[lane % 4];
}
inline void load_matrices_transposed(u32 (&m)[4], const bf16* row) {
    const emu::Deposit* rows = emu::meet_with_row("ldmatrix.trans", row);
    int column = emu::lane() / 4, first = emu::lane() % 4 * 2;
    for (int i = 0; i < 4; i++) {
        m[i] = emu::element(rows, 8 * i + first, column) |
               static_cast<u32>(emu::element(rows, 8 * i + first + 1, column)) << 16;
    }
}

inline void multiply_add(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    const emu::Deposit* all = emu::meet("mma", {{a[0], a[1], a[2], a[3], b0, b1, 0, 0}});
    int group = emu::lane() / 4, pair = emu::lane() % 4;
    for (int half = 0; half < 2; half++) { // rows group and group + 8
        for (int k = 0; k < 16; k += 2) {
            // columns k, k+1 of the row lie in one word: of lane (group, k/2%4), register half + 2*(k/8)
            u32 of_a = all[4 * group + k / 2 % 4].words[half + 2 * (k / 8)];
            float a0 = bits_float(of_a << 16), a1 = bits_float(of_a & 0xffff0000u);
            for (int column = 0; column < 2; column++) {
                u32 of_b = all[4 * (2 * pair + column) + k / 2 % 4].words[4 + k / 8];
                c[2 * half + column] += a0 * bits_float(of_b << 16);
                c[2 * half + column] += a1 * bits_float(of_b & 0xffff0000u);
            }
        }
    }
}
