// DPDK's rte_ring over bursts of 64-bit numbers, in memory of its own: no environment of DPDK is needed.

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

void thalweg_dpdk_free(struct rte_ring *ring) { free(ring); }
