// The light chain of three stages as a oneTBB parallel_pipeline, message by message or over batches.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <oneapi/tbb/parallel_pipeline.h>

using Mode = oneapi::tbb::filter_mode;
using Control = oneapi::tbb::flow_control;
using oneapi::tbb::make_filter;
using Message = std::uint64_t;

// The same four words as `Check` on the other side.
struct Check {
    std::uint64_t sum;
    std::uint64_t next;
    std::uint64_t step;
    std::uint64_t end;

    void add(Message value) {
        sum += value + ((value ^ next) << 1);
        next += step;
    }
};

struct Batch {
    std::vector<Message> values;
    std::size_t count;
};

static Message stage(Message value) { return value * 3 + 1; }

// A message fits into the pointer that a token is, so nothing is allocated for it.
static void one_by_one(std::uint64_t messages, std::size_t tokens, Check &check) {
    std::uint64_t next = 0;
    auto source = [&](Control &control) -> Message {
        if (next == messages) {
            control.stop();
            return 0;
        }
        return next++;
    };
    auto middle = [](Message value) -> Message { return stage(value); };
    auto sink = [&](Message value) { check.add(value); };
    oneapi::tbb::parallel_pipeline(tokens, make_filter<void, Message>(Mode::serial_in_order, source) &
                                               make_filter<Message, Message>(Mode::serial_in_order, middle) &
                                               make_filter<Message, void>(Mode::serial_in_order, sink));
}

// As all filters keep the order, the batch of a new token is that of the one that ended `tokens` before, and free again. What loops
// change is in locals: the values written might be anything else of their type.
static void in_batches(std::uint64_t messages, std::size_t size, std::size_t tokens, Check &check) {
    std::vector<Batch> batches(tokens, Batch{std::vector<Message>(size), 0});
    std::uint64_t next = 0;
    std::size_t token = 0;
    auto source = [&](Control &control) -> Batch * {
        if (next == messages) {
            control.stop();
            return nullptr;
        }
        Batch *batch = &batches[token++ % tokens];
        const std::uint64_t first = next;
        const std::size_t count = std::min<std::uint64_t>(size, messages - first);
        Message *values = batch->values.data();
        for (std::size_t i = 0; i < count; ++i) values[i] = first + i;
        batch->count = count;
        next = first + count;
        return batch;
    };
    auto middle = [](Batch *batch) -> Batch * {
        const std::size_t count = batch->count;
        Message *values = batch->values.data();
        for (std::size_t i = 0; i < count; ++i) values[i] = stage(values[i]);
        return batch;
    };
    auto sink = [&](Batch *batch) {
        const std::size_t count = batch->count;
        const Message *values = batch->values.data();
        Check seen = check;
        for (std::size_t i = 0; i < count; ++i) seen.add(values[i]);
        check = seen;
    };
    oneapi::tbb::parallel_pipeline(tokens, make_filter<void, Batch *>(Mode::serial_in_order, source) &
                                               make_filter<Batch *, Batch *>(Mode::serial_in_order, middle) &
                                               make_filter<Batch *, void>(Mode::serial_in_order, sink));
}

extern "C" void thalweg_tbb_pipe3(std::uint64_t messages, std::size_t batch, std::size_t tokens, Check *check) noexcept {
    if (batch == 1) {
        one_by_one(messages, tokens, *check);
    } else {
        in_batches(messages, batch, tokens, *check);
    }
}
