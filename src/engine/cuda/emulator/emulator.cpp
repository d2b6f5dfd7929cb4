// Runs the CUDA kernels of ../kernels on the CPU, for tests on machines without a GPU. It is a test instrument: it aims
// at finding errors (see simt.h), not at speed.
//
// Threads of a block are fibers on one CPU thread. They run until each lane of a warp has come to the same primitive
// of the warp, and until each warp has come to the barrier of the block; anything else is reported as a deadlock.
// Blocks run side by side on the cores. Memory of the "device" is memory of the host between guard zones.
#include "../kernels/kernels.cu"

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include <sys/mman.h>

#if !(defined(__x86_64__) && defined(__linux__))
#include <ucontext.h>
#endif

namespace emu {

thread_local Index thread_index, block_index, block_size, grid_size;
thread_local unsigned char* shared_bytes;
thread_local uint64_t block_serial;

namespace {

constexpr size_t STACK = 64 * 1024;
constexpr size_t GUARD = 256;
constexpr unsigned char GUARD_BYTE = 0xfb; // also a NaN, as a float and as a bf16
constexpr uint32_t SHARED_LIMIT = 99 * 1024;

// ---- Switching between stacks -------------------------------------------------------------------------------------

#if defined(__x86_64__) && defined(__linux__)

// Saves the registers that a function must keep on the stack, and continues on the other stack.
extern "C" void anneal_emulator_switch(void** from, void* to);
asm(R"(
    .text
    .type anneal_emulator_switch, @function
anneal_emulator_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size anneal_emulator_switch, .-anneal_emulator_switch
)");

struct Context {
    void* stack_pointer = nullptr;
    void start(unsigned char* stack, void (*entry)()) {
        auto top = reinterpret_cast<void**>(stack + STACK);
        *--top = nullptr; // keeps the stack as aligned as after a call
        *--top = reinterpret_cast<void*>(entry);
        for (int saved = 0; saved < 6; saved++) *--top = nullptr;
        stack_pointer = top;
    }
    static void change(Context& from, Context& to) { anneal_emulator_switch(&from.stack_pointer, to.stack_pointer); }
};

#else

struct Context {
    ucontext_t context;
    void start(unsigned char* stack, void (*entry)()) {
        getcontext(&context);
        context.uc_stack.ss_sp = stack;
        context.uc_stack.ss_size = STACK;
        context.uc_link = nullptr;
        makecontext(&context, entry, 0);
    }
    static void change(Context& from, Context& to) { swapcontext(&from.context, &to.context); }
};

#endif

// ---- One multiprocessor: runs a block at a time -------------------------------------------------------------------

enum class State { Ready, AtWarp, AtBlock, Finished };

struct Copy {
    void* to;
    const void* from;
    bool valid;
    void perform() const {
        if (valid) memcpy(to, from, 16);
        else memset(to, 0, 16);
    }
};

struct Fiber {
    Context context;
    State state;
    const char* primitive;
    uint32_t meetings;                     // primitives of the warp this lane has been to
    std::vector<Copy> open;                // copies of the group that is not closed
    std::vector<std::vector<Copy>> groups; // closed groups not yet arrived
};

// Bits of the schedule: order of warps and lanes, and when asynchronous copies arrive.
std::atomic<uint32_t> schedule{0};
constexpr uint32_t REVERSED = 1, LATE_COPIES = 2, INTERLEAVED = 4;

struct Multiprocessor {
    std::vector<Fiber> fibers;
    unsigned char* stacks = nullptr;
    size_t stack_count = 0;
    Context scheduler;
    Fiber* running = nullptr;
    Deposit deposits[32][2][32]; // of each warp: meetings of even and odd number
    const Body* body = nullptr;
    std::string error;
    std::unique_ptr<unsigned char[]> shared{new unsigned char[SHARED_LIMIT + 2 * GUARD + 128]};
    uint64_t serial = 0;

    ~Multiprocessor() {
        if (stacks) munmap(stacks, stack_count * STACK);
    }
    void yield() { Context::change(running->context, scheduler); }
    std::string run(const Body& kernel, uint32_t threads, uint32_t dynamic_shared);
    bool run_warp(uint32_t warp);
    void describe_divergence(uint32_t warp);
};

thread_local Multiprocessor multiprocessor;

void fiber_main() {
    Multiprocessor& m = multiprocessor;
    (*m.body)();
    m.running->state = State::Finished;
    m.yield();
    abort(); // a finished fiber is never resumed
}

const char* name_of(State state) {
    switch (state) {
    case State::Ready: return "running";
    case State::AtWarp: return "at a primitive of the warp";
    case State::AtBlock: return "at __syncthreads";
    case State::Finished: return "finished";
    }
    return "";
}

void Multiprocessor::describe_divergence(uint32_t warp) {
    error = "the lanes of warp " + std::to_string(warp) + " diverge:";
    for (uint32_t lane = 0; lane < 32; lane++) {
        const Fiber& f = fibers[32 * warp + lane];
        error += " " + std::to_string(lane) + " is " + (f.state == State::AtWarp ? f.primitive : name_of(f.state)) +
                 (lane < 31 ? "," : "");
    }
}

// Runs the ready lanes of a warp until they wait or finish; true if the warp can go on.
bool Multiprocessor::run_warp(uint32_t warp) {
    Fiber* lanes = &fibers[32 * warp];
    for (uint32_t i = 0; i < 32; i++) {
        uint32_t lane = schedule & REVERSED ? 31 - i : i;
        if (lanes[lane].state != State::Ready) continue;
        running = &lanes[lane];
        thread_index = {32 * warp + lane, 0, 0};
        Context::change(scheduler, running->context);
        if (!error.empty()) return false;
    }
    for (uint32_t lane = 1; lane < 32; lane++) {
        bool same = lanes[lane].state == lanes[0].state;
        // compared by content: the same name may be several objects
        if (same && lanes[0].state == State::AtWarp) same = !strcmp(lanes[lane].primitive, lanes[0].primitive);
        if (!same) {
            describe_divergence(warp);
            return false;
        }
    }
    if (lanes[0].state != State::AtWarp) return false;
    for (uint32_t lane = 0; lane < 32; lane++) lanes[lane].state = State::Ready;
    return true;
}

std::string Multiprocessor::run(const Body& kernel, uint32_t threads, uint32_t dynamic_shared) {
    if (stack_count < threads) {
        if (stacks) munmap(stacks, stack_count * STACK);
        void* memory = mmap(nullptr, threads * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        stacks = memory == MAP_FAILED ? nullptr : static_cast<unsigned char*>(memory);
        stack_count = stacks ? threads : 0;
        if (!stacks) return "no memory for the stacks of the threads";
    }
    if (fibers.size() < threads) fibers.resize(threads);
    auto base = reinterpret_cast<uintptr_t>(shared.get()) + GUARD;
    shared_bytes = reinterpret_cast<unsigned char*>((base + 127) / 128 * 128);
    memset(shared_bytes, 0xff, dynamic_shared);
    memset(shared_bytes - GUARD, GUARD_BYTE, GUARD);
    memset(shared_bytes + dynamic_shared, GUARD_BYTE, GUARD);
    block_serial = ++serial;
    body = &kernel;
    error.clear();
    for (uint32_t i = 0; i < threads; i++) {
        Fiber& f = fibers[i];
        f.context.start(stacks + i * STACK, fiber_main);
        f.state = State::Ready;
        f.meetings = 0;
        f.open.clear();
        f.groups.clear();
        memset(stacks + i * STACK, GUARD_BYTE, 16);
    }
    uint32_t warps = threads / 32;
    for (bool finished = false; !finished;) {
        for (bool again = true; again;) {
            again = false;
            for (uint32_t i = 0; i < warps; i++) {
                uint32_t warp = schedule & REVERSED ? warps - 1 - i : i;
                if (fibers[32 * warp].state != State::Ready) continue;
                while (run_warp(warp)) {
                    if (schedule & INTERLEAVED) {
                        again = true;
                        break;
                    }
                }
                if (!error.empty()) return error;
            }
        }
        // Every warp is at the barrier or finished.
        uint32_t done = 0;
        for (uint32_t warp = 0; warp < warps; warp++) done += fibers[32 * warp].state == State::Finished;
        if (done != 0 && done != warps) return "deadlock: some warps have finished, others wait at __syncthreads";
        finished = done == warps;
        if (!finished) {
            for (uint32_t i = 0; i < threads; i++) fibers[i].state = State::Ready;
        }
    }
    for (uint32_t i = 0; i < threads; i++) {
        if (stacks[i * STACK] != GUARD_BYTE) return "the stack of a thread has overflowed";
        if (!fibers[i].open.empty() || !fibers[i].groups.empty()) return "an asynchronous copy was never waited for";
    }
    for (size_t i = 0; i < GUARD; i++) {
        bool whole = (shared_bytes - GUARD)[i] == GUARD_BYTE && shared_bytes[dynamic_shared + i] == GUARD_BYTE;
        if (!whole) return "a write beyond the shared memory";
    }
    return "";
}

// ---- The cores ----------------------------------------------------------------------------------------------------

struct Launch {
    const Body* body;
    Index grid;
    uint32_t threads, shared;
    uint64_t blocks;
    std::atomic<uint64_t> next{0};
    std::mutex mutex;
    std::string error;

    void work() {
        grid_size = grid;
        block_size = {threads, 1, 1};
        for (uint64_t i; (i = next++) < blocks;) {
            block_index = {static_cast<uint32_t>(i % grid.x), static_cast<uint32_t>(i / grid.x % grid.y),
                           static_cast<uint32_t>(i / grid.x / grid.y)};
            Index at = block_index;
            std::string failure = multiprocessor.run(*body, threads, shared);
            if (failure.empty()) continue;
            next = blocks;
            std::lock_guard<std::mutex> lock(mutex);
            if (error.empty()) {
                error = "block (" + std::to_string(at.x) + ", " + std::to_string(at.y) + ", " +
                        std::to_string(at.z) + "): " + failure;
            }
        }
    }
};

// Threads that live as long as the process. Never destroyed: they may still wait when the process ends.
struct Cores {
    std::mutex mutex;
    std::condition_variable begin, end;
    Launch* launch = nullptr;
    uint64_t generation = 0;
    unsigned busy = 0, count;

    Cores() {
        unsigned cores = std::thread::hardware_concurrency();
        if (const char* asked = getenv("ANNEAL_EMULATOR_THREADS")) cores = static_cast<unsigned>(atoi(asked));
        count = cores > 1 ? cores - 1 : 0; // the thread that launches works too
        for (unsigned i = 0; i < count; i++) std::thread([this] { serve(); }).detach();
    }
    void serve() {
        uint64_t seen = 0;
        std::unique_lock<std::mutex> lock(mutex);
        for (;;) {
            begin.wait(lock, [&] { return generation != seen; });
            seen = generation;
            Launch* mine = launch;
            lock.unlock();
            mine->work();
            lock.lock();
            if (--busy == 0) end.notify_one();
        }
    }
    void run(Launch& work) {
        if (work.blocks == 1 || count == 0) return work.work();
        {
            std::lock_guard<std::mutex> lock(mutex);
            launch = &work;
            busy = count;
            generation++;
        }
        begin.notify_all();
        work.work();
        std::unique_lock<std::mutex> lock(mutex);
        end.wait(lock, [&] { return busy == 0; });
    }
};

std::map<std::string, Kernel>& kernels() {
    static auto* all = new std::map<std::string, Kernel>;
    return *all;
}

std::mutex& launches() {
    static auto* one_at_a_time = new std::mutex;
    return *one_at_a_time;
}

struct Allocations {
    std::mutex mutex;
    std::map<void*, size_t> sizes;
};
Allocations& allocations() {
    static auto* all = new Allocations;
    return *all;
}

const char* keep(const std::string& text) {
    static thread_local std::string kept;
    kept = text;
    return kept.c_str();
}

bool intact(void* p, size_t bytes) {
    auto start = static_cast<unsigned char*>(p);
    for (size_t i = 0; i < GUARD; i++) {
        if ((start - GUARD)[i] != GUARD_BYTE || start[bytes + i] != GUARD_BYTE) return false;
    }
    return true;
}

} // namespace

// ---- What simt.h declares -----------------------------------------------------------------------------------------

void Registration::add(Kernel kernel) { kernels()[kernel.name] = kernel; }

void fail(const std::string& reason) {
    multiprocessor.error = "thread " + std::to_string(thread_index.x) + ": " + reason;
    for (;;) multiprocessor.yield();
}

void wait_for_block() {
    multiprocessor.running->state = State::AtBlock;
    multiprocessor.yield();
}

const Deposit* meet(const char* primitive, const Deposit& deposit) {
    Multiprocessor& m = multiprocessor;
    uint32_t warp = thread_index.x / 32, lane = thread_index.x % 32;
    // A lane is at most one meeting ahead of the lanes that still read the deposits of this one.
    Deposit* deposits = m.deposits[warp][m.running->meetings++ % 2];
    deposits[lane] = deposit;
    m.running->state = State::AtWarp;
    m.running->primitive = primitive;
    m.yield();
    return deposits;
}

void begin_copy(void* to, const void* from, bool valid) {
    if (reinterpret_cast<uintptr_t>(to) % 16 != 0 || (valid && reinterpret_cast<uintptr_t>(from) % 16 != 0)) {
        fail("cp.async: an address is not aligned to 16 bytes");
    }
    Copy copy{to, from, valid};
    if (!(schedule & LATE_COPIES)) copy.perform();
    multiprocessor.running->open.push_back(copy);
}

void commit_copies() {
    Fiber& f = *multiprocessor.running;
    f.groups.push_back(std::move(f.open));
    f.open.clear();
}

void wait_for_copies(int pending) {
    auto& groups = multiprocessor.running->groups;
    while (groups.size() > static_cast<size_t>(pending)) {
        if (schedule & LATE_COPIES) {
            for (const Copy& copy : groups.front()) copy.perform();
        }
        groups.erase(groups.begin());
    }
}

} // namespace emu

// ---- What the tests call ------------------------------------------------------------------------------------------

// Launches a kernel and waits for it. `args[i]` points to the value of the i-th argument, as for cuLaunchKernel.
// Returns null, or what went wrong (valid until the next call on this thread).
extern "C" const char* emu_launch(const char* name, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t threads,
                                  uint32_t shared_bytes, void** args) {
    auto found = emu::kernels().find(name);
    if (found == emu::kernels().end()) return emu::keep(std::string("there is no kernel ") + name);
    const emu::Kernel& kernel = found->second;
    auto refuse = [&](const std::string& reason) { return emu::keep(std::string(name) + ": " + reason); };
    if (gx == 0 || gy == 0 || gz == 0 || gx > 0x7fffffffu || gy > 65535 || gz > 65535) {
        return refuse("a grid of " + std::to_string(gx) + " x " + std::to_string(gy) + " x " + std::to_string(gz));
    }
    if (threads == 0 || threads % 32 != 0 || threads > kernel.threads) {
        return refuse(std::to_string(threads) + " threads in a block; at most " + std::to_string(kernel.threads) +
                      ", and whole warps");
    }
    if (shared_bytes > emu::SHARED_LIMIT) return refuse(std::to_string(shared_bytes) + " bytes of shared memory");
    std::lock_guard<std::mutex> lock(emu::launches());
    static auto* cores = new emu::Cores;
    emu::Body body = kernel.bind(args);
    emu::Launch launch;
    launch.body = &body;
    launch.grid = {gx, gy, gz};
    launch.threads = threads;
    launch.shared = shared_bytes;
    launch.blocks = static_cast<uint64_t>(gx) * gy * gz;
    cores->run(launch);
    return launch.error.empty() ? nullptr : refuse(launch.error);
}

// The number of parameters of a kernel, or -1 if there is none of that name.
extern "C" int emu_parameters(const char* name) {
    auto found = emu::kernels().find(name);
    return found == emu::kernels().end() ? -1 : static_cast<int>(found->second.parameters);
}

// Bit 0: warps and lanes run in reverse. Bit 1: asynchronous copies arrive only when they are waited for. Bit 2: warps
// take turns at every primitive. A kernel without races gives the same under every schedule.
extern "C" void emu_set_schedule(uint32_t bits) { emu::schedule = bits; }

// Memory aligned to 256 bytes, full of NaN, between guard zones; null if there is none.
extern "C" void* emu_allocate(size_t bytes) {
    size_t total = (bytes + 2 * emu::GUARD + 255) / 256 * 256;
    auto memory = static_cast<unsigned char*>(aligned_alloc(256, total));
    if (!memory) return nullptr;
    unsigned char* start = memory + emu::GUARD;
    memset(memory, emu::GUARD_BYTE, total);
    memset(start, 0xff, bytes);
    auto& all = emu::allocations();
    std::lock_guard<std::mutex> lock(all.mutex);
    all.sizes[start] = bytes;
    return start;
}

// Frees memory of emu_allocate; returns null, or an error if the guard zones were written to.
extern "C" const char* emu_free(void* p) {
    if (!p) return nullptr;
    auto& all = emu::allocations();
    std::lock_guard<std::mutex> lock(all.mutex);
    auto found = all.sizes.find(p);
    if (found == all.sizes.end()) return emu::keep("emu_free of what was not allocated");
    size_t bytes = found->second;
    bool whole = emu::intact(p, bytes);
    all.sizes.erase(found);
    free(static_cast<unsigned char*>(p) - emu::GUARD);
    return whole ? nullptr : emu::keep("a write beyond an allocation of " + std::to_string(bytes) + " bytes");
}

// Checks the guard zones of every allocation; returns null or an error.
extern "C" const char* emu_check() {
    auto& all = emu::allocations();
    std::lock_guard<std::mutex> lock(all.mutex);
    for (auto& allocation : all.sizes) {
        if (!emu::intact(allocation.first, allocation.second)) {
            return emu::keep("a write beyond an allocation of " + std::to_string(allocation.second) + " bytes");
        }
    }
    return nullptr;
}
