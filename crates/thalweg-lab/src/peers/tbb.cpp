// The light chain of three stages as a oneTBB parallel_pipeline over batches of messages.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <oneapi/tbb/parallel_pipeline.h>

using Batch = std::vector<std::uint64_t>;
using Handle = std::shared_ptr<Batch>;

// The same four words as `Check` on the other side.
struct Check {
    std::uint64_t sum;
    std::uint64_t next;
    std::uint64_t step;
    std::uint64_t end;
};

extern "C" void thalweg_tbb_pipe3(std::uint64_t messages, std::size_t batch, std::size_t tokens, Check *check) noexcept {
    using tbb_mode = oneapi::tbb::filter_mode;
    std::uint64_t next = 0;
    auto source = [&](oneapi::tbb::flow_control &control) -> Handle {
        if (next == messages) {
            control.stop();
            return nullptr;
        }
        auto values = std::make_shared<Batch>();
        values->reserve(batch);
        for (std::size_t i = 0; i < batch && next < messages; ++i) values->push_back(next++);
        return values;
    };
    auto stage = [](Handle values) -> Handle {
        for (auto &value : *values) value = value * 3 + 1;
        return values;
    };
    auto sink = [&](Handle values) {
        for (auto value : *values) {
            check->sum += value + ((value ^ check->next) << 1);
            check->next += check->step;
        }
    };
    oneapi::tbb::parallel_pipeline(
        tokens,
        oneapi::tbb::make_filter<void, Handle>(tbb_mode::serial_in_order, source) &
            oneapi::tbb::make_filter<Handle, Handle>(tbb_mode::serial_in_order, stage) &
            oneapi::tbb::make_filter<Handle, void>(tbb_mode::serial_in_order, sink));
}
