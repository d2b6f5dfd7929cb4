// The primitives that the kernels are written in. Under nvcc they are CUDA's own; under a plain C++ compiler they are
// emulated (../emulator/simt.h), so that the same kernel sources run, and are tested, without a GPU.
//
// Fragment layouts of ldmatrix and mma are those of the PTX ISA, section "Warp-level matrix instructions".
#pragma once

#include <cmath>
#include <cstdint>

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;

#ifdef __CUDACC__

#define DEVICE __device__ __forceinline__

// Defines a kernel under its own unmangled name; `threads` is the most a block may have.
#define KERNEL(name, threads, parameters) KERNEL_RESIDENT(name, threads, 1, parameters)

// The same for a kernel that wants room for `blocks` blocks on a multiprocessor at once.
#define KERNEL_RESIDENT(name, threads, blocks, parameters)                                                             \
    extern "C" __global__ void __launch_bounds__(threads, blocks) name parameters

// A small array shared by the block, beside the dynamic shared memory.
#define SHARED(type, name, count) __shared__ __align__(16) type name[count]

#define PRAGMA(text) _Pragma(#text)
#define UNROLL PRAGMA(unroll)
#define UNROLL_BY(times) PRAGMA(unroll times)

// The dynamic shared memory of the block, whose size is given at launch.
template <class T> DEVICE T* shared_memory() {
    extern __shared__ __align__(128) unsigned char dynamic_shared_memory[];
    return reinterpret_cast<T*>(dynamic_shared_memory);
}

struct alignas(2) bf16 {
    u16 bits;
};

DEVICE u32 float_bits(float x) { return __float_as_uint(x); }
DEVICE float bits_float(u32 bits) { return __uint_as_float(bits); }

// Two floats rounded to nearest even, `low` in the low half.
DEVICE u32 pack_bf16(float low, float high) {
    u32 packed;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
}

DEVICE bf16 to_bf16(float x) {
    bf16 rounded;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(rounded.bits) : "f"(x));
    return rounded;
}

DEVICE float shuffle_xor(float x, int mask) { return __shfl_xor_sync(~0u, x, mask); }
DEVICE double shuffle_xor(double x, int mask) { return __shfl_xor_sync(~0u, x, mask); }
DEVICE u32 shuffle_xor(u32 x, int mask) { return __shfl_xor_sync(~0u, x, mask); }
DEVICE u64 shuffle_xor(u64 x, int mask) { return __shfl_xor_sync(~0u, static_cast<unsigned long long>(x), mask); }
DEVICE float shuffle(float x, int lane) { return __shfl_sync(~0u, x, lane); }
DEVICE u32 shuffle(u32 x, int lane) { return __shfl_sync(~0u, x, lane); }
DEVICE u64 shuffle(u64 x, int lane) { return __shfl_sync(~0u, static_cast<unsigned long long>(x), lane); }
DEVICE u64 shuffle_up(u64 x, int by) { return __shfl_up_sync(~0u, static_cast<unsigned long long>(x), by); }

// Adds to a word of shared memory; only integers, whose sum has no order.
DEVICE u32 add_to_shared(u32* word, u32 x) { return atomicAdd(word, x); }

// 2^x with about 2 ulp of error; small results are flushed to zero.
DEVICE float exp2_fast(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// Zero for what is no number.
DEVICE u64 round_to_u64(float x) { return x >= 0 ? __float2ull_rn(x) : 0; }

DEVICE u32 shared_address(const void* p) { return static_cast<u32>(__cvta_generic_to_shared(p)); }

// Copies 16 bytes from global to shared memory behind the thread's back; without `valid`, writes zeros.
DEVICE void copy_async(void* shared, const void* global, bool valid = true) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)), "l"(global),
                 "r"(valid ? 16 : 0)
                 : "memory");
}
// Closes the group of the copies begun so far.
DEVICE void copy_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits until at most `pending` of the thread's last groups are under way.
template <int pending> DEVICE void copy_async_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

// Four 8x8 matrices of bf16 from shared memory; lane l gives the address of row l%8 of matrix l/8.
DEVICE void load_matrices(u32 (&m)[4], const bf16* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                 : "r"(shared_address(row))
                 : "memory");
}
DEVICE void load_matrices_transposed(u32 (&m)[4], const bf16* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                 : "r"(shared_address(row))
                 : "memory");
}

// c += a b for a 16x16 (row-major), b 16x8 (column-major), c 16x8.
DEVICE void multiply_add(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

#else
#include "../emulator/simt.h"
#endif

// ---------------------------------------------------------------------------------------------------------------------
// What follows is written in the primitives above.

DEVICE float to_float(float x) { return x; }
DEVICE float to_float(bf16 x) { return bits_float(static_cast<u32>(x.bits) << 16); }

template <class T> DEVICE T from_float(float x);
template <> DEVICE float from_float<float>(float x) { return x; }
template <> DEVICE bf16 from_float<bf16>(float x) { return to_bf16(x); }

template <class N> DEVICE N least(N a, N b) { return a < b ? a : b; }
template <class N> DEVICE N greatest(N a, N b) { return a > b ? a : b; }
DEVICE float greatest(float a, float b) { return fmaxf(a, b); }
DEVICE u32 ceil_div(u32 a, u32 b) { return (a + b - 1) / b; }

// N consecutive values in registers. Loads and stores move 16 bytes at a time (8 for four bf16).
template <int N> struct Values {
    float v[N];
    DEVICE float& operator[](int i) { return v[i]; }
    DEVICE float operator[](int i) const { return v[i]; }
};
using Four = Values<4>;
using Eight = Values<8>;

struct alignas(16) Quad {
    float v[4];
};
struct alignas(16) Words {
    u32 w[4];
};
struct alignas(8) HalfWords {
    u32 w[2];
};

DEVICE float low_bf16(u32 packed) { return bits_float(packed << 16); }
DEVICE float high_bf16(u32 packed) { return bits_float(packed & 0xffff0000u); }

DEVICE Four load4(const float* p) {
    Quad q = *reinterpret_cast<const Quad*>(p);
    return {{q.v[0], q.v[1], q.v[2], q.v[3]}};
}
DEVICE Four load4(const bf16* p) {
    HalfWords h = *reinterpret_cast<const HalfWords*>(p);
    return {{low_bf16(h.w[0]), high_bf16(h.w[0]), low_bf16(h.w[1]), high_bf16(h.w[1])}};
}
DEVICE void store4(float* p, const Four& x) { *reinterpret_cast<Quad*>(p) = Quad{{x[0], x[1], x[2], x[3]}}; }
DEVICE void store4(bf16* p, const Four& x) {
    *reinterpret_cast<HalfWords*>(p) = HalfWords{{pack_bf16(x[0], x[1]), pack_bf16(x[2], x[3])}};
}

DEVICE Eight load8(const float* p) {
    Four a = load4(p), b = load4(p + 4);
    return {{a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]}};
}
DEVICE Eight load8(const bf16* p) {
    Words w = *reinterpret_cast<const Words*>(p);
    Eight x;
    UNROLL for (int i = 0; i < 4; i++) {
        x[2 * i] = low_bf16(w.w[i]);
        x[2 * i + 1] = high_bf16(w.w[i]);
    }
    return x;
}
DEVICE void store8(float* p, const Eight& x) {
    store4(p, {{x[0], x[1], x[2], x[3]}});
    store4(p + 4, {{x[4], x[5], x[6], x[7]}});
}
DEVICE void store8(bf16* p, const Eight& x) {
    Words w;
    UNROLL for (int i = 0; i < 4; i++) w.w[i] = pack_bf16(x[2 * i], x[2 * i + 1]);
    *reinterpret_cast<Words*>(p) = w;
}

// Operations of a reduction.
struct Sum {
    template <class N> static DEVICE N of(N a, N b) { return a + b; }
};
struct Max {
    template <class N> static DEVICE N of(N a, N b) { return greatest(a, b); }
};

template <class Op, class N> DEVICE N reduce_warp(N x) {
    UNROLL for (int mask = 16; mask > 0; mask >>= 1) x = Op::of(x, shuffle_xor(x, mask));
    return x;
}

// Reduces over all the threads of a block; every thread gets the result, in a fixed order of the operations.
template <class Op, class N> DEVICE N reduce_block(N x) {
    SHARED(N, of_warps, 32);
    x = reduce_warp<Op>(x);
    __syncthreads(); // of_warps may still be read for the reduction before
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = x;
    __syncthreads();
    if (blockDim.x == 1024) return reduce_warp<Op>(of_warps[threadIdx.x % 32]);
    N all = of_warps[0];
    for (u32 warp = 1; warp < blockDim.x / 32; warp++) all = Op::of(all, of_warps[warp]);
    return all;
}

// The sum over the threads before this one, in the order of the threads; `total` becomes the sum over all.
DEVICE u64 exclusive_scan_block(u64 x, u64& total) {
    SHARED(u64, of_warps, 32);
    u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    u64 upto = x;
    for (int by = 1; by < 32; by *= 2) {
        u64 lower = shuffle_up(upto, by);
        if (lane >= u32(by)) upto += lower;
    }
    __syncthreads(); // of_warps may still be read for the scan before
    if (lane == 31) of_warps[warp] = upto;
    __syncthreads();
    u64 before = upto - x;
    total = 0;
    for (u32 other = 0; other < blockDim.x / 32; other++) {
        if (other < warp) before += of_warps[other];
        total += of_warps[other];
    }
    return before;
}

// The same kernel for matrices of float and of bf16, from a template in T.
namespace of_f32 {
using T = float;
}
namespace of_bf16 {
using T = bf16;
}
#define KERNELS(name, threads, parameters, ...) KERNELS_RESIDENT(name, threads, 1, parameters, __VA_ARGS__)
#define KERNELS_RESIDENT(name, threads, blocks, parameters, ...)                                                       \
    namespace of_f32 {                                                                                                 \
    KERNEL_RESIDENT(name##_f32, threads, blocks, parameters) { name<T> __VA_ARGS__; }                                  \
    }                                                                                                                  \
    namespace of_bf16 {                                                                                                \
    KERNEL_RESIDENT(name##_bf16, threads, blocks, parameters) { name<T> __VA_ARGS__; }                                 \
    }
