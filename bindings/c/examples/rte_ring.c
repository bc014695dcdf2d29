/*
 * DPDK's interface over the block-based queue: what one thread sees, then two producers and two consumers by bulk and burst.
 *
 *   cc -std=c11 -pthread -I include examples/rte_ring.c target/c/libthalweg_queue_c.a -ldl -lm
 */

#include "thalweg_rte_ring.h"

#include <pthread.h>
#include <stdio.h>

#define CHECK(what)                                                  \
    do {                                                             \
        if (!(what)) {                                               \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); \
            exit(1);                                                 \
        }                                                            \
    } while (0)

#define COUNT 5000
#define PRODUCERS 2

static void *number(uintptr_t n)
{
    return (void *)n;
}

static void one_thread(void)
{
    struct rte_ring *r = rte_ring_create("one", 8, 0, 0);
    void *in[8], *out[8];
    unsigned int n, left;
    uintptr_t each;

    CHECK(r != NULL && rte_ring_get_size(r) == 8 && rte_ring_get_capacity(r) == 7);
    for (each = 0; each < 8; each++)
        in[each] = number(each);
    for (n = 0; n < 100; n++) {
        CHECK(rte_ring_empty(r) && !rte_ring_full(r) && rte_ring_free_count(r) == 7);
        CHECK(rte_ring_dequeue(r, out) == -ENOENT);
        CHECK(rte_ring_enqueue_bulk(r, in, 5, &left) == 5 && left == 2);
        CHECK(rte_ring_enqueue_bulk(r, in, 3, &left) == 0 && left == 2 && rte_ring_count(r) == 5);
        CHECK(rte_ring_enqueue_burst(r, in + 5, 3, &left) == 2 && left == 0 && rte_ring_full(r));
        CHECK(rte_ring_enqueue(r, in[7]) == -ENOBUFS && rte_ring_enqueue_burst(r, in, 1, &left) == 0);
        CHECK(rte_ring_dequeue_bulk(r, out, 8, &left) == 0 && left == 7);
        CHECK(rte_ring_dequeue_bulk(r, out, 4, &left) == 4 && left == 3);
        CHECK(rte_ring_dequeue(r, out + 4) == 0 && rte_ring_dequeue_burst(r, out + 5, 3, &left) == 2 && left == 0);
        for (each = 0; each < 7; each++)
            CHECK(out[each] == number(each));
    }
    rte_ring_free(r);
    rte_ring_free(NULL);

    errno = 0;
    CHECK(rte_ring_create("seven", 7, 0, 0) == NULL && errno == EINVAL);
    r = rte_ring_create("exact", 7, 0, RING_F_EXACT_SZ | RING_F_SP_ENQ | RING_F_SC_DEQ);
    CHECK(r != NULL && rte_ring_get_size(r) == 8 && rte_ring_get_capacity(r) == 7);
    CHECK(rte_ring_sp_enqueue_bulk(r, in, 7, NULL) == 7 && rte_ring_sc_dequeue_burst(r, out, 8, NULL) == 7);
    rte_ring_free(r);
}

/* Tables of pointers at odd addresses, as in packed structs: bulk, burst and one. */
static void unaligned(void)
{
    struct rte_ring *r = rte_ring_create("unaligned", 128, 0, 0);
    char in[1 + 100 * sizeof(void *)], out[1 + 100 * sizeof(void *)];
    void **from = (void **)(void *)(in + 1), **to = (void **)(void *)(out + 1);
    unsigned int left;
    uintptr_t each;

    CHECK(r != NULL);
    for (each = 0; each < 100; each++) {
        void *item = number(each);
        memcpy(in + 1 + each * sizeof(item), &item, sizeof(item));
    }
    CHECK(rte_ring_enqueue_bulk(r, from, 100, &left) == 100 && left == 27);
    CHECK(rte_ring_enqueue_bulk(r, from, 28, &left) == 0 && rte_ring_enqueue_burst(r, from, 28, &left) == 27);
    CHECK(rte_ring_dequeue_bulk(r, to, 99, &left) == 99 && left == 28);
    CHECK(memcmp(in + 1, out + 1, 99 * sizeof(void *)) == 0);
    CHECK(rte_ring_dequeue(r, to) == 0 && memcmp(in + 1 + 99 * sizeof(void *), out + 1, sizeof(void *)) == 0);
    CHECK(rte_ring_dequeue_burst(r, to, 100, &left) == 27 && left == 0);
    CHECK(memcmp(in + 1, out + 1, 27 * sizeof(void *)) == 0);
    rte_ring_free(r);
}

static struct rte_ring *shared;
static unsigned char seen[PRODUCERS * COUNT];

/* By bulks of three, and one for the rest. */
static void *produce(void *argument)
{
    uintptr_t next = (uintptr_t)argument * COUNT, end = next + COUNT;
    void *bulk[3];

    while (next < end) {
        unsigned int n = next + 3 <= end ? 3 : 1, each;
        for (each = 0; each < n; each++)
            bulk[each] = number(next + each);
        if (rte_ring_mp_enqueue_bulk(shared, bulk, n, NULL) == n)
            next += n;
    }
    return NULL;
}

/* Half of all, by bulks of two or bursts of five. */
static void *consume(void *argument)
{
    int burst = argument != NULL;
    uintptr_t last[PRODUCERS] = {0};
    unsigned int done = 0;
    void *out[5];

    while (done < PRODUCERS * COUNT / 2) {
        unsigned int want = PRODUCERS * COUNT / 2 - done, each, n;
        if (burst)
            n = rte_ring_mc_dequeue_burst(shared, out, want < 5 ? want : 5, NULL);
        else
            n = rte_ring_mc_dequeue_bulk(shared, out, 2, NULL);
        for (each = 0; each < n; each++) {
            uintptr_t item = (uintptr_t)out[each];
            CHECK(item + 1 > last[item / COUNT]);
            last[item / COUNT] = item + 1;
            __atomic_fetch_add(&seen[item], 1, __ATOMIC_RELAXED);
        }
        done += n;
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[4];
    size_t each;

    one_thread();
    printf("rte_ring: bulk, burst and one, with what is left\n");
    unaligned();
    printf("rte_ring: tables at odd addresses\n");

    shared = rte_ring_create("shared", 64, 0, 0);
    CHECK(shared != NULL);
    for (each = 0; each < 2; each++) {
        CHECK(pthread_create(&threads[each], NULL, produce, (void *)each) == 0);
        CHECK(pthread_create(&threads[2 + each], NULL, consume, (void *)each) == 0);
    }
    for (each = 0; each < 4; each++)
        pthread_join(threads[each], NULL);
    for (each = 0; each < PRODUCERS * COUNT; each++)
        CHECK(seen[each] == 1);
    CHECK(rte_ring_empty(shared) && rte_ring_free_count(shared) == 63);
    rte_ring_free(shared);
    printf("rte_ring: %d items of two producers, each once\n", PRODUCERS * COUNT);
    return 0;
}
