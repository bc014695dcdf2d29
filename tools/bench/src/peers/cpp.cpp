// Queues in C++ behind one interface: Boost's, moodycamel's and oneTBB's. A call pushes or pops as many numbers as it can, one by one, so that
// what a call costs is no part of what an item costs.

#include <cstddef>
#include <cstdint>

#include <boost/lockfree/queue.hpp>
#include <boost/lockfree/spsc_queue.hpp>
#include <concurrentqueue/concurrentqueue.h>
#include <oneapi/tbb/concurrent_queue.h>
#include <readerwriterqueue/readerwriterqueue.h>

using Item = std::uint64_t;

// The same three words as `Received` on the other side, and the same check.
struct Received {
    std::uint64_t count;
    std::uint64_t sum;
    std::uint64_t unordered;

    void take(Item value) {
        count += 1;
        sum += value;
        unordered |= value ^ count;
    }
};

// What one thread pushes through.
class Producer {
  public:
    virtual ~Producer() = default;
    // Pushes `first` to `last`, one by one. Gives up after so many attempts in vain. Returns how many it pushed.
    virtual std::size_t push(Item first, Item last, unsigned attempts) = 0;
    // Pushes as many values as the queue takes at once. None if it has no call for that.
    virtual std::size_t push_slice(const Item *values, std::size_t count) = 0;
};

// What one thread pops through.
class Consumer {
  public:
    virtual ~Consumer() = default;
    // Pops up to `most` values, one by one. Gives up after so many attempts in vain.
    virtual void pop(Received &received, std::size_t most, unsigned attempts) = 0;
    // Pops as many values as the queue gives at once. None if it has no call for that.
    virtual std::size_t pop_slice(Item *values, std::size_t count) = 0;
};

class Queue {
  public:
    virtual ~Queue() = default;
    // `room` is what this producer may have in a queue whose producers share no room.
    virtual Producer *producer(std::size_t room) = 0;
    virtual Consumer *consumer() = 0;
};

// As `spin_loop` on the other side.
static inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");
#endif
}

// Tries so often, with a pause in between.
template <class Attempt> static inline bool within(unsigned attempts, Attempt attempt) {
    while (!attempt()) {
        if (--attempts == 0) return false;
        relax();
    }
    return true;
}

// The loops, written once, over an end that pushes one value, and slices if it can.
template <class End> class Pushes final : public Producer {
  public:
    template <class Q> Pushes(Q &queue, std::size_t room) : end(queue, room) {}

    std::size_t push(Item first, Item last, unsigned attempts) override {
        Item next = first;
        while (next <= last && within(attempts, [&] { return end.push(next); })) ++next;
        return next - first;
    }

    std::size_t push_slice(const Item *values, std::size_t count) override { return end.push_slice(values, count); }

  private:
    End end;
};

template <class End> class Pops final : public Consumer {
  public:
    template <class Q> explicit Pops(Q &queue) : end(queue) {}

    void pop(Received &received, std::size_t most, unsigned attempts) override {
        Received seen = received;
        Item value = 0;
        for (; most > 0 && within(attempts, [&] { return end.pop(value); }); --most) seen.take(value);
        received = seen;
    }

    std::size_t pop_slice(Item *values, std::size_t count) override { return end.pop_slice(values, count); }

  private:
    End end;
};

// An end of a queue that has the same for all threads.
template <class Q> struct Direct {
    Q &queue;

    explicit Direct(Q &queue, std::size_t = 0) : queue(queue) {}
    bool push(Item value) { return queue.push(value); }
    bool pop(Item &value) { return queue.pop(value); }
    std::size_t push_slice(const Item *, std::size_t) { return 0; }
    std::size_t pop_slice(Item *, std::size_t) { return 0; }
};

template <class Q, class Push = Direct<Q>, class Pop = Direct<Q>> class Of final : public Queue {
  public:
    template <class... Args> explicit Of(Args... args) : queue(args...) {}
    Producer *producer(std::size_t room) override { return new Pushes<Push>(queue, room); }
    Consumer *consumer() override { return new Pops<Pop>(queue); }

  private:
    Q queue;
};

// Its capacity is given to the compiler, which makes it more than twice as fast.
template <std::size_t CAPACITY>
using BoostSpscOf = boost::lockfree::spsc_queue<Item, boost::lockfree::capacity<CAPACITY>>;

template <class Q> struct BoostSlices : Direct<Q> {
    using Direct<Q>::Direct;
    std::size_t push_slice(const Item *values, std::size_t count) { return this->queue.push(values, count); }
    std::size_t pop_slice(Item *values, std::size_t count) { return this->queue.pop(values, count); }
};

template <std::size_t CAPACITY>
using BoostSpsc = Of<BoostSpscOf<CAPACITY>, BoostSlices<BoostSpscOf<CAPACITY>>, BoostSlices<BoostSpscOf<CAPACITY>>>;

using BoostQueue = Of<boost::lockfree::queue<Item, boost::lockfree::fixed_sized<true>>>;

struct ReaderWriterQueue : moodycamel::ReaderWriterQueue<Item> {
    using moodycamel::ReaderWriterQueue<Item>::ReaderWriterQueue;
    // Never allocates.
    bool push(Item value) { return try_enqueue(value); }
    bool pop(Item &value) { return try_dequeue(value); }
};

struct TbbQueue : oneapi::tbb::concurrent_bounded_queue<Item> {
    explicit TbbQueue(std::size_t capacity) { set_capacity(static_cast<std::ptrdiff_t>(capacity)); }
    bool push(Item value) { return try_push(value); }
    bool pop(Item &value) { return try_pop(value); }
};

// moodycamel's queue for many keeps a ring of blocks for each producer with a token, and a block that is in a ring stays there: one
// producer could take all of a common pool, and leave none to the others for ever. So each gets its own share before the clock starts, by
// filling it once. `try_enqueue` takes no more then.
using Moodycamel = moodycamel::ConcurrentQueue<Item>;

struct MoodycamelProducer {
    Moodycamel &queue;
    moodycamel::ProducerToken token;

    MoodycamelProducer(Moodycamel &queue, std::size_t room) : queue(queue), token(queue) {
        for (std::size_t i = 0; i < room; ++i) queue.enqueue(token, 0);
        Item value = 0;
        while (queue.try_dequeue_from_producer(token, value)) {
        }
    }
    bool push(Item value) { return queue.try_enqueue(token, value); }
    std::size_t push_slice(const Item *values, std::size_t count) {
        return queue.try_enqueue_bulk(token, values, count) ? count : 0;
    }
};

struct MoodycamelConsumer {
    Moodycamel &queue;
    moodycamel::ConsumerToken token;

    explicit MoodycamelConsumer(Moodycamel &queue) : queue(queue), token(queue) {}
    bool pop(Item &value) { return queue.try_dequeue(token, value); }
    std::size_t pop_slice(Item *values, std::size_t count) { return queue.try_dequeue_bulk(token, values, count); }
};

// The kinds are numbered as on the other side. Null for what is none, and for a capacity that is not compiled in.
extern "C" Queue *thalweg_cpp_queue(int kind, std::size_t capacity) noexcept {
    switch (kind) {
    case 0:
        if (capacity == 4096) return new BoostSpsc<4096>();
        if (capacity == 32768) return new BoostSpsc<32768>();
        return nullptr;
    case 1:
        return new BoostQueue(capacity);
    case 2:
        return new Of<ReaderWriterQueue>(capacity);
    case 3:
        return new Of<Moodycamel, MoodycamelProducer, MoodycamelConsumer>(capacity);
    case 4:
        return new Of<TbbQueue>(capacity);
    default:
        return nullptr;
    }
}

extern "C" void thalweg_cpp_queue_free(Queue *queue) noexcept { delete queue; }

extern "C" Producer *thalweg_cpp_producer(Queue *queue, std::size_t room) noexcept { return queue->producer(room); }

extern "C" std::size_t thalweg_cpp_push(Producer *end, Item first, Item last, unsigned attempts) noexcept {
    return end->push(first, last, attempts);
}

extern "C" std::size_t thalweg_cpp_push_slice(Producer *end, const Item *values, std::size_t count) noexcept {
    return end->push_slice(values, count);
}

extern "C" void thalweg_cpp_producer_free(Producer *end) noexcept { delete end; }

extern "C" Consumer *thalweg_cpp_consumer(Queue *queue) noexcept { return queue->consumer(); }

extern "C" void thalweg_cpp_pop(Consumer *end, Received *received, std::size_t most, unsigned attempts) noexcept {
    end->pop(*received, most, attempts);
}

extern "C" std::size_t thalweg_cpp_pop_slice(Consumer *end, Item *values, std::size_t count) noexcept {
    return end->pop_slice(values, count);
}

extern "C" void thalweg_cpp_consumer_free(Consumer *end) noexcept { delete end; }
