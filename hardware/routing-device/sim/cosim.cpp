// Runs the device for whoever writes packets: `cosim [WAVES.vcd]`.
//
// In: a number of cycles (32 bits), and as many `In`. Out: as many `Out`; then the next number. It ends with its input. All numbers are
// little-endian, as the machine has them.
#include "Vrouting_device.h"
#include "verilated.h"
#if VM_TRACE
#include "verilated_vcd_c.h"
#endif
#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

struct In {
    uint8_t kind;  // 0 push, 1 fetch, 2 answer, 3 open; 255 nothing
    uint8_t accepted;
    uint16_t sqi, slot, pad;
    uint64_t target;
    uint64_t line[8];
};

struct Out {
    uint8_t taken, sent, busy, pad;
    uint16_t slot, held;
    uint64_t target;
    uint64_t line[8];
};

static void put(QData& port, const uint64_t* words) { port = words[0]; }
static void get(const QData& port, uint64_t* words) { words[0] = port; }

template <std::size_t N>
static void put(VlWide<N>& port, const uint64_t* words) {
    for (std::size_t i = 0; i < N; i++) port[i] = uint32_t(words[i / 2] >> (i % 2 * 32));
}
template <std::size_t N>
static void get(const VlWide<N>& port, uint64_t* words) {
    for (std::size_t i = 0; i < N; i++) words[i / 2] |= uint64_t(port[i]) << (i % 2 * 32);
}

int main(int argc, char** argv) {
    VerilatedContext context;
    context.randReset(2);  // what is not reset is anything
    context.randSeed(1);
    context.traceEverOn(true);
    Vrouting_device device{&context};
#if VM_TRACE
    VerilatedVcdC waves;
    if (argc > 1) {
        device.trace(&waves, 9);
        waves.open(argv[1]);
    }
    const bool tracing = argc > 1;
#else
    if (argc > 1) return std::fputs("cosim: built without --trace, so there are no waves\n", stderr), 2;
#endif
    uint64_t time = 0;
    // Half a cycle: the ports are looked at while the clock is low, and the registers change when it rises.
    const auto half = [&](int clk) {
        device.clk = clk;
        device.eval();
#if VM_TRACE
        if (tracing) waves.dump(time);
#endif
        time += 5;
    };
    device.packet = 0;
    device.rst = 1;
    for (int i = 0; i < 2; i++) half(0), half(1);
    device.rst = 0;

    std::vector<In> ins;
    std::vector<Out> outs;
    for (uint32_t cycles; std::fread(&cycles, sizeof cycles, 1, stdin) == 1;) {
        ins.resize(cycles);
        outs.assign(cycles, Out{});
        if (std::fread(ins.data(), sizeof(In), cycles, stdin) != cycles) return 1;
        for (uint32_t i = 0; i < cycles; i++) {
            const In& in = ins[i];
            device.packet = in.kind != 255;
            device.kind = in.kind & 3;
            device.accepted = in.accepted;
            device.sqi = in.sqi;
            device.slot = in.slot;
            device.target = in.target;
            put(device.line, in.line);
            half(0);
            Out& out = outs[i];
            out.taken = device.taken;
            out.held = device.held;
            out.busy = device.busy;
            out.sent = device.sent;
            if (device.sent) {
                out.slot = device.sent_slot;
                out.target = device.sent_target;
                get(device.sent_line, out.line);
            }
            half(1);
        }
        if (std::fwrite(outs.data(), sizeof(Out), cycles, stdout) != cycles || std::fflush(stdout)) return 1;
    }
#if VM_TRACE
    if (tracing) waves.close();
#endif
    return 0;
}
