// The light chain in oneTBB, as a parallel_pipeline and as a flow graph, message by message or over batches.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/parallel_pipeline.h>

using Control = oneapi::tbb::flow_control;
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

// Message by message. One fits into the pointer that a token of a pipeline is, so nothing is allocated for it.
class Single {
  public:
    using Token = Message;

    Single(std::uint64_t messages, std::size_t, std::size_t, Check &check) : messages(messages), check(check) {}

    bool give(Token &token) {
        token = next;
        return next++ < messages;
    }

    static Token stage(Token value) { return value * 3 + 1; }

    void take(Token value) { check.add(value); }

  private:
    const std::uint64_t messages;
    std::uint64_t next = 0;
    Check &check;
};

struct Batch {
    std::vector<Message> values;
    std::size_t count;
};

// Batches, changed in place. They are taken in the order in which they are given, and at most `tokens` are between the two: so the
// batch that was given `tokens + 1` before is free again, also for one that is given and waits to be let in. What loops change is in
// locals: the values written might be anything else of their type.
class Batches {
  public:
    using Token = Batch *;

    Batches(std::uint64_t messages, std::size_t size, std::size_t tokens, Check &check)
        : messages(messages), batches(tokens + 1, Batch{std::vector<Message>(size), 0}), check(check) {}

    bool give(Token &token) {
        if (next == messages) return false;
        Batch &batch = batches[given++ % batches.size()];
        const std::uint64_t first = next;
        const std::size_t count = std::min<std::uint64_t>(batch.values.size(), messages - first);
        Message *values = batch.values.data();
        for (std::size_t i = 0; i < count; ++i) values[i] = first + i;
        batch.count = count;
        next = first + count;
        token = &batch;
        return true;
    }

    static Token stage(Token batch) {
        const std::size_t count = batch->count;
        Message *values = batch->values.data();
        for (std::size_t i = 0; i < count; ++i) values[i] = Single::stage(values[i]);
        return batch;
    }

    void take(Token batch) {
        const std::size_t count = batch->count;
        const Message *values = batch->values.data();
        Check seen = check;
        for (std::size_t i = 0; i < count; ++i) seen.add(values[i]);
        check = seen;
    }

  private:
    const std::uint64_t messages;
    std::uint64_t next = 0;
    std::vector<Batch> batches;
    std::size_t given = 0;
    Check &check;
};

template <class Work> static void pipeline(Work &work, std::size_t stages, std::size_t tokens) {
    using Token = typename Work::Token;
    using oneapi::tbb::make_filter;
    constexpr auto in_order = oneapi::tbb::filter_mode::serial_in_order;
    auto row = make_filter<void, Token>(in_order, [&](Control &control) {
        Token token{};
        if (!work.give(token)) control.stop();
        return token;
    });
    const auto stage = [](Token token) { return Work::stage(token); };
    for (std::size_t i = 0; i < stages; ++i) row = row & make_filter<Token, Token>(in_order, stage);
    oneapi::tbb::parallel_pipeline(
        tokens, row & make_filter<Token, void>(in_order, [&](Token token) { work.take(token); }));
}

// A serial node runs one message at a time, but another thread may begin the next one before this one is handed on: so messages overtake
// each other on an edge. The stages in between keep nothing from one to the next, so it is enough to restore the order before the sink.
template <class Work> static void flow_graph(Work &work, std::size_t stages, std::size_t tokens) {
    using Token = typename Work::Token;
    using namespace oneapi::tbb::flow;
    struct Numbered {
        std::size_t number;
        Token token;
    };
    graph graph;
    std::size_t next = 0;
    input_node<Numbered> source(graph, [&](Control &control) {
        Numbered message{next++, Token{}};
        if (!work.give(message.token)) control.stop();
        return message;
    });
    limiter_node<Numbered> limiter(graph, tokens);
    const auto stage = [](Numbered message) {
        message.token = Work::stage(message.token);
        return message;
    };
    std::deque<function_node<Numbered, Numbered>> row;
    for (std::size_t i = 0; i < stages; ++i) row.emplace_back(graph, serial, stage);
    sequencer_node<Numbered> in_order(graph, [](const Numbered &message) { return message.number; });
    function_node<Numbered, continue_msg> sink(graph, serial, [&](const Numbered &message) {
        work.take(message.token);
        return continue_msg();
    });
    make_edge(source, limiter);
    sender<Numbered> *last = &limiter;
    for (auto &node : row) {
        make_edge(*last, node);
        last = &node;
    }
    make_edge(*last, in_order);
    make_edge(in_order, sink);
    make_edge(sink, limiter.decrementer());
    source.activate();
    graph.wait_for_all();
}

template <class Work>
static void run(bool graph, std::uint64_t messages, std::size_t stages, std::size_t batch, std::size_t tokens, Check &check) {
    Work work(messages, batch, tokens, check);
    graph ? flow_graph(work, stages, tokens) : pipeline(work, stages, tokens);
}

// oneTBB's threads stay from run to run: they start in the warm-up.
extern "C" void thalweg_tbb_chain(bool graph, std::uint64_t messages, std::size_t stages, std::size_t batch, std::size_t tokens,
                                  Check *check) noexcept {
    batch == 1 ? run<Single>(graph, messages, stages, batch, tokens, *check)
               : run<Batches>(graph, messages, stages, batch, tokens, *check);
}
