/*
 * A server and two forwarders, as in the thesis' Figure 2.11, without a card: forward SIZE PACKETS. Prints the nanoseconds a packet.
 *
 * The server fills packets of 64 bytes as a port would, gives bursts of 32 of them to the forwarders in turn, each by a ring of its own, and takes what they
 * have turned round from one ring of both. A forwarder exchanges the two addresses of each packet. Who finds nothing to do yields.
 *
 * Compiled with THALWEG the rings are thalweg_rte_ring.h's, without it DPDK's.
 */

#ifdef THALWEG
#include "thalweg_rte_ring.h"
#else
#include <rte_ring.h>
#endif

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FORWARDERS 2
#define BURST 32
#define ADDRESS 6

struct packet {
    unsigned char to[ADDRESS];
    unsigned char from[ADDRESS];
    uint32_t number;
    unsigned char rest[48];
};

static struct rte_ring *given[FORWARDERS], *turned;
static int over;

static struct rte_ring *ring(const char *name, unsigned int size, unsigned int flags)
{
#ifdef THALWEG
    struct rte_ring *r = rte_ring_create(name, size, 0, flags);
#else
    ssize_t bytes = rte_ring_get_memsize(size);
    struct rte_ring *r = bytes > 0 ? (struct rte_ring *)aligned_alloc(128, ((size_t)bytes + 127) / 128 * 128) : NULL;
    if (r != NULL && rte_ring_init(r, name, size, flags) != 0)
        r = NULL;
#endif
    if (r == NULL) {
        fprintf(stderr, "no ring of %u: the size is a power of two\n", size);
        exit(1);
    }
    return r;
}

static void *forward(void *argument)
{
    struct rte_ring *mine = (struct rte_ring *)argument;
    void *burst[BURST];

    while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
        unsigned int n = rte_ring_sc_dequeue_burst(mine, burst, BURST, NULL), each, done;
        for (each = 0; each < n; each++) {
            struct packet *p = (struct packet *)burst[each];
            unsigned char old[ADDRESS];
            memcpy(old, p->to, ADDRESS);
            memcpy(p->to, p->from, ADDRESS);
            memcpy(p->from, old, ADDRESS);
        }
        for (done = 0; done < n; done += each) {
            each = rte_ring_mp_enqueue_burst(turned, burst + done, n - done, NULL);
            if (each == 0)
                sched_yield();
        }
        if (n == 0)
            sched_yield();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static const unsigned char here[ADDRESS] = {2, 0, 0, 0, 0, 1}, there[ADDRESS] = {2, 0, 0, 0, 0, 2};
    unsigned int size = argc == 3 ? (unsigned int)atoi(argv[1]) : 0, each, n, turn = 0, left;
    uint32_t packets = argc == 3 ? (uint32_t)atoi(argv[2]) : 0, sent = 0, back = 0;
    uint64_t sum = 0;
    pthread_t threads[FORWARDERS];
    struct packet *memory;
    void **unused, *burst[BURST];
    struct timespec start, end;

    if (size == 0 || size > 65536 || packets == 0) {
        fprintf(stderr, "forward SIZE PACKETS, a power of two up to 65536, and how many\n");
        return 2;
    }
    /* As many as all rings hold, so that rings are what limits. */
    left = size * (FORWARDERS + 1);
    memory = (struct packet *)aligned_alloc(64, left * sizeof(*memory));
    unused = (void **)malloc(left * sizeof(*unused));
    for (each = 0; each < left; each++)
        unused[each] = memory + each;
    turned = ring("turned", size, RING_F_SC_DEQ);
    for (each = 0; each < FORWARDERS; each++) {
        given[each] = ring(each == 0 ? "given 0" : "given 1", size, RING_F_SP_ENQ | RING_F_SC_DEQ);
        pthread_create(&threads[each], NULL, forward, given[each]);
    }

    clock_gettime(CLOCK_MONOTONIC, &start);
    while (back < packets) {
        unsigned int fill = packets - sent, taken;
        fill = fill < BURST ? fill : BURST;
        fill = fill < left ? fill : left;
        for (each = 0; each < fill; each++) {
            struct packet *p = (struct packet *)unused[left - 1 - each];
            memcpy(p->to, here, ADDRESS);
            memcpy(p->from, there, ADDRESS);
            p->number = sent + each;
            burst[each] = p;
        }
        /* What is refused stays unused, and is filled again. */
        n = fill > 0 ? rte_ring_sp_enqueue_burst(given[turn], burst, fill, NULL) : 0;
        turn = (turn + 1) % FORWARDERS;
        for (each = n; each < fill; each++)
            unused[left - fill + each - n] = burst[each];
        left -= n;
        sent += n;

        taken = rte_ring_sc_dequeue_burst(turned, burst, BURST, NULL);
        for (each = 0; each < taken; each++) {
            struct packet *p = (struct packet *)burst[each];
            if (memcmp(p->to, there, ADDRESS) != 0 || memcmp(p->from, here, ADDRESS) != 0) {
                fprintf(stderr, "packet %u was not turned round\n", p->number);
                return 1;
            }
            sum += p->number;
            unused[left++] = p;
        }
        back += taken;
        if (n == 0 && taken == 0)
            sched_yield();
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    __atomic_store_n(&over, 1, __ATOMIC_RELAXED);
    for (each = 0; each < FORWARDERS; each++)
        pthread_join(threads[each], NULL);
    if (sum != (uint64_t)packets * (packets - 1) / 2) {
        fprintf(stderr, "not each packet came back once\n");
        return 1;
    }
    printf("%.2f\n", ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) / packets);
    return 0;
}
