// DPDK's rte_ring over 64-bit numbers, in bursts and one by one, in memory of its own: no environment of DPDK is needed.

#include <stdint.h>
#include <stdlib.h>

#include <rte_ring.h>

// `count` is a power of two; the ring holds one number less.
struct rte_ring *thalweg_dpdk_ring(unsigned count, int mode) {
    static const unsigned flags[] = {
        RING_F_SP_ENQ | RING_F_SC_DEQ,
        0,
        RING_F_MP_HTS_ENQ | RING_F_MC_HTS_DEQ,
        RING_F_MP_RTS_ENQ | RING_F_MC_RTS_DEQ,
    };
    ssize_t size = rte_ring_get_memsize(count);
    if (size < 0) return NULL;
    size_t lines = ((size_t)size + 127) / 128;
    struct rte_ring *ring = aligned_alloc(128, 128 * lines);
    if (ring != NULL && rte_ring_init(ring, "thalweg", count, flags[mode]) != 0) {
        free(ring);
        return NULL;
    }
    return ring;
}

unsigned thalweg_dpdk_push(struct rte_ring *ring, const uint64_t *values, unsigned count) {
    return rte_ring_enqueue_burst_elem(ring, values, sizeof *values, count, NULL);
}

unsigned thalweg_dpdk_pop(struct rte_ring *ring, uint64_t *into, unsigned count) {
    return rte_ring_dequeue_burst_elem(ring, into, sizeof *into, count, NULL);
}

// The same three words as `Received` on the other side, and the same check.
struct received {
    uint64_t count;
    uint64_t sum;
    uint64_t unordered;
};

// Pushes `first` to `last`, one by one. Gives up after so many attempts in vain. Returns how many it pushed.
size_t thalweg_dpdk_push_each(struct rte_ring *ring, uint64_t first, uint64_t last, uint32_t attempts) {
    uint64_t next = first;
    for (uint32_t left = attempts; next <= last;) {
        if (rte_ring_enqueue_elem(ring, &next, sizeof next) == 0) {
            ++next;
            left = attempts;
        } else if (--left == 0) {
            break;
        } else {
            rte_pause();
        }
    }
    return next - first;
}

// Pops up to `most` numbers, one by one. Gives up after so many attempts in vain.
void thalweg_dpdk_pop_each(struct rte_ring *ring, struct received *received, size_t most, uint32_t attempts) {
    struct received seen = *received;
    for (uint32_t left = attempts; most > 0;) {
        uint64_t value;
        if (rte_ring_dequeue_elem(ring, &value, sizeof value) == 0) {
            seen.count += 1;
            seen.sum += value;
            seen.unordered |= value ^ seen.count;
            left = attempts;
            --most;
        } else if (--left == 0) {
            break;
        } else {
            rte_pause();
        }
    }
    *received = seen;
}

void thalweg_dpdk_free(struct rte_ring *ring) { free(ring); }
