/*
 * The interface of DPDK's rte_ring over the block-based queue (thalweg_bbq_*): bulk and burst, one and many, with what is left.
 *
 * Include it in place of <rte_ring.h>; it needs neither DPDK nor its memory. Compiled by GCC and Clang, as C11 and C++11.
 *
 * What is as there: names, arguments, answers; tables of pointers at any address; a ring of `count` has room for count - 1 pointers, or with RING_F_EXACT_SZ for `count`; bulk is all
 * or nothing; free_space and available are what is left after the call, as far as other threads let it be.
 *
 * What differs:
 *  - A ring counts on each side, for all or nothing. BBQ alone counts nothing: who needs bursts only is faster with thalweg_bbq_try_push_many.
 *  - The pointers of a bulk stand in their order, but at the end of a block those of other producers may come between.
 *  - RING_F_SP_ENQ, RING_F_SC_DEQ and the calls with sp and sc in their names spare the exchanges by which callers count, not those of the queue. The modes RTS and HTS, zero copy, peeking and elements of other sizes are missing.
 *  - rte_ring_create takes memory of the C library; `name` is copied and may be used twice; `socket_id` is not looked at.
 *  - rte_ring_free is called when no thread uses the ring any more.
 */

#ifndef THALWEG_RTE_RING_H
#define THALWEG_RTE_RING_H

#include "thalweg_queue.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define RTE_RING_NAMESIZE 32
#define RTE_RING_SZ_MASK 0x7fffffffU

/* One producer. */
#define RING_F_SP_ENQ 0x0001
/* One consumer. */
#define RING_F_SC_DEQ 0x0002
/* Room for as many as was said, which need not be a power of two. */
#define RING_F_EXACT_SZ 0x0004

/*
 * What the callers of a side count, ever: pointers they have claimed, and those they are done with. The first is theirs, the second the other side reads,
 * so each is on lines of its own. `seen` is an older value of the other side's `done`.
 */
struct thalweg_rte_side {
    size_t claimed;
    size_t seen;
    char between[128 - 2 * sizeof(size_t)];
    size_t done;
    char behind[128 - sizeof(size_t)];
};

struct rte_ring {
    char name[RTE_RING_NAMESIZE];
    int flags;
    unsigned int size;
    unsigned int capacity;
    thalweg_bbq_producer *producer;
    thalweg_bbq_consumer *consumer;
    char before_producers[128];
    /* Claims what consumers are done with, and the capacity besides. */
    struct thalweg_rte_side producers;
    /* Claims what producers are done with. */
    struct thalweg_rte_side consumers;
};

/* How much `side` can claim, with `ahead` besides what `other` was done with, behind `claimed`. It asks `other` if what was seen before is less than `most`. */
static inline size_t thalweg_rte_there(struct thalweg_rte_side *side, struct thalweg_rte_side *other, size_t ahead, size_t claimed, size_t most)
{
    /* Relaxed: an older value, by whichever caller, allows less. */
    ptrdiff_t there = (ptrdiff_t)(ahead + __atomic_load_n(&side->seen, __ATOMIC_RELAXED) - claimed);

    if (there < (ptrdiff_t)most) {
        /* Acquire, pairs with thalweg_rte_give: what made the room or the items comes before. */
        size_t done = __atomic_load_n(&other->done, __ATOMIC_ACQUIRE);
        __atomic_store_n(&side->seen, done, __ATOMIC_RELAXED);
        there = (ptrdiff_t)(ahead + done - claimed);
    }
    return there < 0 ? 0 : (size_t)there;
}

/* Claims `most`, or what there is if that is `least`, or nothing. `left` gets what remains. `single`: nobody else claims on this side. */
static inline unsigned int thalweg_rte_take(struct thalweg_rte_side *side, struct thalweg_rte_side *other, size_t ahead, int single, unsigned int least,
                                            unsigned int most, unsigned int *left)
{
    /* Acquire, pairs with the exchange: who claimed up to here had seen `other` done with it, and so does this caller. */
    size_t claimed = __atomic_load_n(&side->claimed, __ATOMIC_ACQUIRE), there;
    unsigned int taken;

    for (;;) {
        /* Who asks what remains wants to know it of now. */
        there = thalweg_rte_there(side, other, ahead, claimed, left != NULL ? (size_t)PTRDIFF_MAX : most);
        taken = there < most ? (unsigned int)there : most;
        if (taken < least || taken == 0) {
            taken = 0;
            break;
        }
        if (single) {
            __atomic_store_n(&side->claimed, claimed + taken, __ATOMIC_RELEASE);
            break;
        }
        if (__atomic_compare_exchange_n(&side->claimed, &claimed, claimed + taken, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            break;
    }
    if (left != NULL)
        *left = (unsigned int)(there - taken);
    return taken;
}

/* The caller is done with `count` of what it has claimed. */
static inline void thalweg_rte_give(struct thalweg_rte_side *side, int single, unsigned int count)
{
    if (single)
        __atomic_store_n(&side->done, side->done + count, __ATOMIC_RELEASE);
    else
        __atomic_fetch_add(&side->done, count, __ATOMIC_RELEASE);
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

static inline unsigned int thalweg_rte_enqueue(struct rte_ring *r, int single, void *const *objects, unsigned int least, unsigned int most,
                                               unsigned int *left)
{
    unsigned int count = thalweg_rte_take(&r->producers, &r->consumers, r->capacity, single, least, most, left);
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
        thalweg_rte_give(&r->producers, single, count);
    return count;
}

static inline unsigned int thalweg_rte_dequeue(struct rte_ring *r, int single, void **objects, unsigned int least, unsigned int most,
                                               unsigned int *left)
{
    unsigned int count = thalweg_rte_take(&r->consumers, &r->producers, 0, single, least, most, left);
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
        thalweg_rte_give(&r->consumers, single, count);
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

/* For one (`sp`, `sc`), for many (`mp`, `mc`), or as the ring was made for. */

/* All of `n`, or none: answers n or 0. `free_space`, which may be NULL, gets the room that is left. */
static inline unsigned int rte_ring_enqueue_bulk(struct rte_ring *r, void *const *obj_table, unsigned int n, unsigned int *free_space)
{
    return thalweg_rte_enqueue(r, (r->flags & RING_F_SP_ENQ) != 0, obj_table, n, n, free_space);
}

static inline unsigned int rte_ring_sp_enqueue_bulk(struct rte_ring *r, void *const *obj_table, unsigned int n, unsigned int *free_space)
{
    return thalweg_rte_enqueue(r, 1, obj_table, n, n, free_space);
}

static inline unsigned int rte_ring_mp_enqueue_bulk(struct rte_ring *r, void *const *obj_table, unsigned int n, unsigned int *free_space)
{
    return thalweg_rte_enqueue(r, 0, obj_table, n, n, free_space);
}

/* As many of `n` as there is room for: answers how many. */
static inline unsigned int rte_ring_enqueue_burst(struct rte_ring *r, void *const *obj_table, unsigned int n, unsigned int *free_space)
{
    return thalweg_rte_enqueue(r, (r->flags & RING_F_SP_ENQ) != 0, obj_table, 0, n, free_space);
}

static inline unsigned int rte_ring_sp_enqueue_burst(struct rte_ring *r, void *const *obj_table, unsigned int n, unsigned int *free_space)
{
    return thalweg_rte_enqueue(r, 1, obj_table, 0, n, free_space);
}

static inline unsigned int rte_ring_mp_enqueue_burst(struct rte_ring *r, void *const *obj_table, unsigned int n, unsigned int *free_space)
{
    return thalweg_rte_enqueue(r, 0, obj_table, 0, n, free_space);
}

/* One: 0, or -ENOBUFS if there is no room. */
static inline int rte_ring_enqueue(struct rte_ring *r, void *obj)
{
    return rte_ring_enqueue_bulk(r, &obj, 1, NULL) ? 0 : -ENOBUFS;
}

static inline int rte_ring_sp_enqueue(struct rte_ring *r, void *obj)
{
    return rte_ring_sp_enqueue_bulk(r, &obj, 1, NULL) ? 0 : -ENOBUFS;
}

static inline int rte_ring_mp_enqueue(struct rte_ring *r, void *obj)
{
    return rte_ring_mp_enqueue_bulk(r, &obj, 1, NULL) ? 0 : -ENOBUFS;
}

/* All of `n`, or none: answers n or 0. `available`, which may be NULL, gets how many are left. */
static inline unsigned int rte_ring_dequeue_bulk(struct rte_ring *r, void **obj_table, unsigned int n, unsigned int *available)
{
    return thalweg_rte_dequeue(r, (r->flags & RING_F_SC_DEQ) != 0, obj_table, n, n, available);
}

static inline unsigned int rte_ring_sc_dequeue_bulk(struct rte_ring *r, void **obj_table, unsigned int n, unsigned int *available)
{
    return thalweg_rte_dequeue(r, 1, obj_table, n, n, available);
}

static inline unsigned int rte_ring_mc_dequeue_bulk(struct rte_ring *r, void **obj_table, unsigned int n, unsigned int *available)
{
    return thalweg_rte_dequeue(r, 0, obj_table, n, n, available);
}

/* As many of `n` as there are: answers how many. */
static inline unsigned int rte_ring_dequeue_burst(struct rte_ring *r, void **obj_table, unsigned int n, unsigned int *available)
{
    return thalweg_rte_dequeue(r, (r->flags & RING_F_SC_DEQ) != 0, obj_table, 0, n, available);
}

static inline unsigned int rte_ring_sc_dequeue_burst(struct rte_ring *r, void **obj_table, unsigned int n, unsigned int *available)
{
    return thalweg_rte_dequeue(r, 1, obj_table, 0, n, available);
}

static inline unsigned int rte_ring_mc_dequeue_burst(struct rte_ring *r, void **obj_table, unsigned int n, unsigned int *available)
{
    return thalweg_rte_dequeue(r, 0, obj_table, 0, n, available);
}

/* One: 0, or -ENOENT if there is none. */
static inline int rte_ring_dequeue(struct rte_ring *r, void **obj_p)
{
    return rte_ring_dequeue_bulk(r, obj_p, 1, NULL) ? 0 : -ENOENT;
}

static inline int rte_ring_sc_dequeue(struct rte_ring *r, void **obj_p)
{
    return rte_ring_sc_dequeue_bulk(r, obj_p, 1, NULL) ? 0 : -ENOENT;
}

static inline int rte_ring_mc_dequeue(struct rte_ring *r, void **obj_p)
{
    return rte_ring_mc_dequeue_bulk(r, obj_p, 1, NULL) ? 0 : -ENOENT;
}

/* How many may be dequeued, lately. */
static inline unsigned int rte_ring_count(const struct rte_ring *r)
{
    ptrdiff_t items = (ptrdiff_t)(__atomic_load_n(&r->producers.done, __ATOMIC_ACQUIRE) - __atomic_load_n(&r->consumers.claimed, __ATOMIC_ACQUIRE));

    return items < 0 ? 0 : items < (ptrdiff_t)r->capacity ? (unsigned int)items : r->capacity;
}

/* How many may be enqueued, lately. */
static inline unsigned int rte_ring_free_count(const struct rte_ring *r)
{
    ptrdiff_t room = (ptrdiff_t)(r->capacity + __atomic_load_n(&r->consumers.done, __ATOMIC_ACQUIRE) - __atomic_load_n(&r->producers.claimed, __ATOMIC_ACQUIRE));

    return room < 0 ? 0 : room < (ptrdiff_t)r->capacity ? (unsigned int)room : r->capacity;
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
