/*
 * The interface of DPDK's rte_ring over the block-based queue (thalweg_bbq_*): bulk and burst, one and many, with what is left.
 *
 * Include it in place of <rte_ring.h>; it needs neither DPDK nor its memory. Compiled by GCC and Clang, as C11 and C++11.
 *
 * What is as there: names, arguments, answers; tables of pointers at any address; a ring of `count` has room for count - 1 pointers, or with RING_F_EXACT_SZ for `count`; bulk is all
 * or nothing; free_space and available are what is left after the call, as far as other threads let it be.
 *
 * What differs:
 *  - A ring counts room and items in a word each, for all or nothing. BBQ alone has no such word: who needs bursts only is faster with
 *    thalweg_bbq_try_push_many.
 *  - The pointers of a bulk stand in their order, but at the end of a block those of other producers may come between.
 *  - RING_F_SP_ENQ and RING_F_SC_DEQ are accepted and change nothing. The modes RTS and HTS, zero copy, peeking and elements of other sizes are missing.
 *  - rte_ring_create takes memory of the C library; `name` is copied and may be used twice; `socket_id` is not looked at.
 *  - rte_ring_free is called when no thread uses the ring any more.
 */

#ifndef THALWEG_RTE_RING_H
#define THALWEG_RTE_RING_H

#include "thalweg_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RTE_RING_NAMESIZE 32
#define RTE_RING_SZ_MASK 0x7fffffffU

/* One producer: accepted. */
#define RING_F_SP_ENQ 0x0001
/* One consumer: accepted. */
#define RING_F_SC_DEQ 0x0002
/* Room for as many as was said, which need not be a power of two. */
#define RING_F_EXACT_SZ 0x0004

struct rte_ring {
    char name[RTE_RING_NAMESIZE];
    int flags;
    unsigned int size;
    unsigned int capacity;
    thalweg_bbq_producer *producer;
    thalweg_bbq_consumer *consumer;
    /* So many may be pushed: taken by producers before, given by consumers after. On lines of their own. */
    char before_room[128];
    unsigned int room;
    /* So many may be popped: taken by consumers before, given by producers after. */
    char before_items[124];
    unsigned int items;
    char after_items[124];
};

/* Takes `most` of what `word` counts, or what there is if `least` of it is there, or nothing. `left` gets what remains. */
static inline unsigned int thalweg_rte_take(unsigned int *word, unsigned int least, unsigned int most, unsigned int *left)
{
    unsigned int there = __atomic_load_n(word, __ATOMIC_RELAXED);
    unsigned int taken;

    do {
        taken = there < most ? there : most;
        if (taken < least || taken == 0) {
            taken = 0;
            break;
        }
        /* Acquire, pairs with thalweg_rte_give: what made the room or the items comes before. */
    } while (!__atomic_compare_exchange_n(word, &there, there - taken, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
    if (left != NULL)
        *left = there - taken;
    return taken;
}

static inline void thalweg_rte_give(unsigned int *word, unsigned int count)
{
    __atomic_fetch_add(word, count, __ATOMIC_RELEASE);
}

/* So many pointers at a time go through an array where those of the caller are unaligned, which the queue refuses. */
#define THALWEG_RTE_CHUNK 32

/* Whether pointers can be read and written where `objects` says. */
static inline int thalweg_rte_aligned(const void *objects)
{
    return (uintptr_t)objects % sizeof(void *) == 0;
}

/* Ends the program if a call was refused for good, as for a table that is NULL: the loop around it would never end. */
static inline void thalweg_rte_refused(thalweg_status status)
{
    if (status == THALWEG_STATUS_INVALID)
        abort();
}

static inline void thalweg_rte_push(struct rte_ring *r, void *const *objects, unsigned int count)
{
    size_t done = 0;

    /* There is room for them: what is refused meanwhile waits for a pop that is half-way. */
    while (done < count) {
        size_t pushed = 0;
        thalweg_rte_refused(thalweg_bbq_try_push_many(r->producer, objects + done, count - done, &pushed));
        done += pushed;
    }
}

static inline void thalweg_rte_pop(struct rte_ring *r, void **objects, unsigned int count)
{
    size_t done = 0;

    /* As many were pushed before: what is refused meanwhile waits for a push that is half-way. */
    while (done < count) {
        size_t popped = 0;
        thalweg_rte_refused(thalweg_bbq_try_pop_many(r->consumer, objects + done, count - done, &popped));
        done += popped;
    }
}

static inline unsigned int thalweg_rte_enqueue(struct rte_ring *r, void *const *objects, unsigned int least, unsigned int most, unsigned int *left)
{
    unsigned int count = thalweg_rte_take(&r->room, least, most, left);
    unsigned int done, n;

    if (thalweg_rte_aligned(objects)) {
        thalweg_rte_push(r, objects, count);
    } else {
        for (done = 0; done < count; done += n) {
            void *chunk[THALWEG_RTE_CHUNK];
            n = count - done < THALWEG_RTE_CHUNK ? count - done : THALWEG_RTE_CHUNK;
            memcpy(chunk, (const char *)objects + done * sizeof(void *), n * sizeof(void *));
            thalweg_rte_push(r, chunk, n);
        }
    }
    if (count > 0)
        thalweg_rte_give(&r->items, count);
    return count;
}

static inline unsigned int thalweg_rte_dequeue(struct rte_ring *r, void **objects, unsigned int least, unsigned int most, unsigned int *left)
{
    unsigned int count = thalweg_rte_take(&r->items, least, most, left);
    unsigned int done, n;

    if (thalweg_rte_aligned(objects)) {
        thalweg_rte_pop(r, objects, count);
    } else {
        for (done = 0; done < count; done += n) {
            void *chunk[THALWEG_RTE_CHUNK];
            n = count - done < THALWEG_RTE_CHUNK ? count - done : THALWEG_RTE_CHUNK;
            thalweg_rte_pop(r, chunk, n);
            memcpy((char *)objects + done * sizeof(void *), chunk, n * sizeof(void *));
        }
    }
    if (count > 0)
        thalweg_rte_give(&r->room, count);
    return count;
}

/* A ring, or NULL, and errno says why: EINVAL for a count that is no power of two, 0, or too large; ENOMEM; ENAMETOOLONG. */
static inline struct rte_ring *rte_ring_create(const char *name, unsigned int count, int socket_id, unsigned int flags)
{
    struct rte_ring *r;
    unsigned int capacity = flags & RING_F_EXACT_SZ ? count : count - 1;
    size_t blocks, entries;

    (void)socket_id;
    if (count == 0 || count > RTE_RING_SZ_MASK || (!(flags & RING_F_EXACT_SZ) && (count & (count - 1)) != 0)) {
        errno = EINVAL;
        return NULL;
    }
    if (strlen(name) >= RTE_RING_NAMESIZE) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    r = (struct rte_ring *)calloc(1, sizeof(*r));
    if (r == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    /* All blocks but one, and one entry more, can be filled wherever the queue begins. */
    blocks = thalweg_bbq_blocks(capacity > 0 ? capacity : 1);
    entries = capacity > 1 ? (capacity - 1 + blocks - 2) / (blocks - 1) : 1;
    if (thalweg_bbq_new(blocks, entries, THALWEG_WAIT_SPIN, &r->producer, &r->consumer, NULL, 0) != THALWEG_STATUS_OK) {
        free(r);
        errno = ENOMEM;
        return NULL;
    }
    strcpy(r->name, name);
    r->flags = (int)flags;
    r->size = 1;
    while (r->size <= capacity)
        r->size *= 2;
    r->capacity = capacity;
    r->room = capacity;
    return r;
}

/* Frees the ring, and forgets what is in it. Nothing for NULL. */
static inline void rte_ring_free(struct rte_ring *r)
{
    if (r == NULL)
        return;
    thalweg_bbq_producer_free(r->producer);
    thalweg_bbq_consumer_free(r->consumer);
    free(r);
}

/* All of `n`, or none: answers n or 0. `free_space`, which may be NULL, gets the room that is left. */
static inline unsigned int rte_ring_enqueue_bulk(struct rte_ring *r, void *const *obj_table, unsigned int n, unsigned int *free_space)
{
    return thalweg_rte_enqueue(r, obj_table, n, n, free_space);
}

/* As many of `n` as there is room for: answers how many. */
static inline unsigned int rte_ring_enqueue_burst(struct rte_ring *r, void *const *obj_table, unsigned int n, unsigned int *free_space)
{
    return thalweg_rte_enqueue(r, obj_table, 0, n, free_space);
}

/* One: 0, or -ENOBUFS if there is no room. */
static inline int rte_ring_enqueue(struct rte_ring *r, void *obj)
{
    return rte_ring_enqueue_bulk(r, &obj, 1, NULL) ? 0 : -ENOBUFS;
}

/* All of `n`, or none: answers n or 0. `available`, which may be NULL, gets how many are left. */
static inline unsigned int rte_ring_dequeue_bulk(struct rte_ring *r, void **obj_table, unsigned int n, unsigned int *available)
{
    return thalweg_rte_dequeue(r, obj_table, n, n, available);
}

/* As many of `n` as there are: answers how many. */
static inline unsigned int rte_ring_dequeue_burst(struct rte_ring *r, void **obj_table, unsigned int n, unsigned int *available)
{
    return thalweg_rte_dequeue(r, obj_table, 0, n, available);
}

/* One: 0, or -ENOENT if there is none. */
static inline int rte_ring_dequeue(struct rte_ring *r, void **obj_p)
{
    return rte_ring_dequeue_bulk(r, obj_p, 1, NULL) ? 0 : -ENOENT;
}

/* For one (`sp`, `sc`) and for many (`mp`, `mc`): the same here. */
static inline unsigned int rte_ring_sp_enqueue_bulk(struct rte_ring *r, void *const *obj_table, unsigned int n, unsigned int *free_space)
{
    return rte_ring_enqueue_bulk(r, obj_table, n, free_space);
}

static inline unsigned int rte_ring_mp_enqueue_bulk(struct rte_ring *r, void *const *obj_table, unsigned int n, unsigned int *free_space)
{
    return rte_ring_enqueue_bulk(r, obj_table, n, free_space);
}

static inline unsigned int rte_ring_sp_enqueue_burst(struct rte_ring *r, void *const *obj_table, unsigned int n, unsigned int *free_space)
{
    return rte_ring_enqueue_burst(r, obj_table, n, free_space);
}

static inline unsigned int rte_ring_mp_enqueue_burst(struct rte_ring *r, void *const *obj_table, unsigned int n, unsigned int *free_space)
{
    return rte_ring_enqueue_burst(r, obj_table, n, free_space);
}

static inline int rte_ring_sp_enqueue(struct rte_ring *r, void *obj)
{
    return rte_ring_enqueue(r, obj);
}

static inline int rte_ring_mp_enqueue(struct rte_ring *r, void *obj)
{
    return rte_ring_enqueue(r, obj);
}

static inline unsigned int rte_ring_sc_dequeue_bulk(struct rte_ring *r, void **obj_table, unsigned int n, unsigned int *available)
{
    return rte_ring_dequeue_bulk(r, obj_table, n, available);
}

static inline unsigned int rte_ring_mc_dequeue_bulk(struct rte_ring *r, void **obj_table, unsigned int n, unsigned int *available)
{
    return rte_ring_dequeue_bulk(r, obj_table, n, available);
}

static inline unsigned int rte_ring_sc_dequeue_burst(struct rte_ring *r, void **obj_table, unsigned int n, unsigned int *available)
{
    return rte_ring_dequeue_burst(r, obj_table, n, available);
}

static inline unsigned int rte_ring_mc_dequeue_burst(struct rte_ring *r, void **obj_table, unsigned int n, unsigned int *available)
{
    return rte_ring_dequeue_burst(r, obj_table, n, available);
}

static inline int rte_ring_sc_dequeue(struct rte_ring *r, void **obj_p)
{
    return rte_ring_dequeue(r, obj_p);
}

static inline int rte_ring_mc_dequeue(struct rte_ring *r, void **obj_p)
{
    return rte_ring_dequeue(r, obj_p);
}

/* How many may be dequeued, lately. */
static inline unsigned int rte_ring_count(const struct rte_ring *r)
{
    return __atomic_load_n(&r->items, __ATOMIC_ACQUIRE);
}

/* How many may be enqueued, lately. */
static inline unsigned int rte_ring_free_count(const struct rte_ring *r)
{
    return __atomic_load_n(&r->room, __ATOMIC_ACQUIRE);
}

static inline int rte_ring_full(const struct rte_ring *r)
{
    return rte_ring_free_count(r) == 0;
}

static inline int rte_ring_empty(const struct rte_ring *r)
{
    return rte_ring_count(r) == 0;
}

/* The power of two above the capacity. */
static inline unsigned int rte_ring_get_size(const struct rte_ring *r)
{
    return r->size;
}

/* How many pointers there is room for. */
static inline unsigned int rte_ring_get_capacity(const struct rte_ring *r)
{
    return r->capacity;
}

#endif
